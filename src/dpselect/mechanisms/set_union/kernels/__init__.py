"""Loops over every user, in plain Python for small data and compiled for large: the same code, the same answer."""
