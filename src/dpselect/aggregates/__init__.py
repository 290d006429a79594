"""What leaves an engine: counts of users by item or value, users' sets, groups of weights."""
