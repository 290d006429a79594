"""Inspection: an owner's report on a source, its columns and its rows. It is not private, and no question uses it."""
