"""What the owner declares in a file of TOML: data sets, people, and how the server runs."""
