"""DuckDB: files, frames, tables and connections."""
