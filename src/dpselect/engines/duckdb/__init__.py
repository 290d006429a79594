"""DuckDB: files, frames, tables and connections."""

from dpselect._ground.processes import unsignalled

with unsignalled():
    import duckdb  # noqa: F401 # here, so that whichever module of ours comes first finds it loaded
