"""Spark: every question as SQL over a frame or a table."""
