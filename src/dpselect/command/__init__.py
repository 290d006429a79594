"""The command `dpselect`: one file a subcommand, with its options and its action. Nothing imports from here."""
