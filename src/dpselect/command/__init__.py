"""The command `dpselect`: one module per subcommand, with its options and its action. Nothing imports from here."""
