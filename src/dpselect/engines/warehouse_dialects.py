"""The warehouses whose SQL we write, by name. Compiled and checked (tests/engines/test_golden.py), not run."""

from __future__ import annotations

from dpselect.engines.warehouse_bigquery import BIGQUERY
from dpselect.engines.warehouse_clickhouse import CLICKHOUSE
from dpselect.engines.warehouse_flavour import Flavour
from dpselect.engines.warehouse_snowflake import SNOWFLAKE
from dpselect.engines.warehouse_trino import TRINO

FLAVOURS: dict[str, Flavour] = {one.dialect.name: one for one in (BIGQUERY, SNOWFLAKE, TRINO, CLICKHOUSE)}
