"""The warehouses whose SQL we write, by name. Compiled and checked (tests/engines/test_golden.py), not run."""

from __future__ import annotations

from dpselect.engines.warehouse.bigquery import BIGQUERY
from dpselect.engines.warehouse.clickhouse import CLICKHOUSE
from dpselect.engines.warehouse.flavour import Flavour
from dpselect.engines.warehouse.snowflake import SNOWFLAKE
from dpselect.engines.warehouse.trino import TRINO

FLAVOURS: dict[str, Flavour] = {one.dialect.name: one for one in (BIGQUERY, SNOWFLAKE, TRINO, CLICKHOUSE)}
