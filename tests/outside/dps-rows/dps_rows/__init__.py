"""Records in a list, and tables of an open SQLite connection, for dpselect."""
