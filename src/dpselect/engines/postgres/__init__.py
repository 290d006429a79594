"""PostgreSQL: every question in the server, in one snapshot."""
