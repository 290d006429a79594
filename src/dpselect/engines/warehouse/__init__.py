"""BigQuery, ClickHouse, Snowflake and Trino, through a function of the caller that runs a query."""
