"""Preparing with DuckDB: from the rows of a source to the files of a folder of prepared data (docs/prepared.md)."""
