"""Schemas of sources: which type each used column has, who declared it, and how its values are read as that type."""
