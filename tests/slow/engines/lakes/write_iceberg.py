"""Writes iceberg.zip: tables of Spark 3.5.8 and Iceberg 1.9.2 with their deletes, and Spark's own counts of them.

Run by hand, with pyspark==3.5.8 and Java 17, as `python write_iceberg.py JAR FOLDER`: JAR is iceberg-spark-runtime-
3.5_2.12-1.9.2.jar, which the package snowpark-connect-deps-iceberg 1.0.1 of PyPI has, and FOLDER an empty folder.
"""

import json
import sys
import zipfile
from pathlib import Path

from pyspark.sql import SparkSession

MERGE_ON_READ = ", ".join(f"'write.{verb}.mode' = 'merge-on-read'" for verb in ("delete", "update", "merge"))
COLUMNS = ("thing", "day", "price", "number", "moment", "local", "code", "ratio", "extra")
# One text that is no UTF-8, one that is empty, and the ends of what each type holds.
AWKWARD = """
    SELECT 'u1', CAST(X'FFFE' AS string), date'0001-01-01', 9999999.99, 2147483647, timestamp'9999-12-31 23:59:59Z',
        timestamp_ntz'0001-01-01 00:00:00', X'00FF', CAST('NaN' AS float)
    UNION ALL SELECT 'u2', '', date'9999-12-31', -9999999.99, -2147483648, timestamp'1500-01-01 00:00:00Z',
        timestamp_ntz'9999-12-31 23:59:59.999999', X'', CAST(-0.0 AS float)
    UNION ALL SELECT 'u3', 'a', NULL, NULL, NULL, NULL, NULL, NULL, CAST('Infinity' AS float)
    UNION ALL SELECT NULL, 'a', date'2026-10-01', 1, 1, NULL, NULL, NULL, 1
"""


def write(spark: SparkSession, table: str, version: int) -> dict[str, dict[str, int]]:
    """Write a table in several commits; how many users each value of each column has, by Spark."""
    spark.sql(
        f"""CREATE TABLE {table} (user string, item string, day date, price decimal(9, 2), number int,
            moment timestamp, local timestamp_ntz, code binary, ratio float) USING iceberg PARTITIONED BY (day)
            TBLPROPERTIES ('format-version' = '{version}', {MERGE_ON_READ})"""
    )
    spark.sql(
        f"""INSERT INTO {table} SELECT concat('u', id), element_at(array('a', 'b', 'c'), CAST(id % 3 + 1 AS int)),
            date_add(date'2026-10-01', CAST(id % 2 AS int)), CAST(id % 7 AS decimal(9, 2)), CAST(id AS int),
            timestamp_seconds(id * 86400), CAST(date_add(date'2026-01-01', CAST(id % 5 AS int)) AS timestamp_ntz),
            CAST(CAST(id % 4 AS string) AS binary), CAST(id % 8 / 8 AS float) FROM range(300)"""
    )
    spark.sql(f"DELETE FROM {table} WHERE number % 10 = 3")
    spark.sql(f"UPDATE {table} SET item = 'd' WHERE number % 10 = 4")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN item TO thing")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN item string FIRST")  # the name of another column, in the files before
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN item TO extra")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN number TYPE bigint")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN ratio TYPE double")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN price TYPE decimal(12, 2)")
    spark.sql(f"ALTER TABLE {table} DROP PARTITION FIELD day")
    spark.sql(f"INSERT INTO {table} SELECT 'e', * FROM ({AWKWARD})")
    spark.sql(f"INSERT INTO {table} VALUES ('e', 'u1', 'z', NULL, NULL, 5000000000, NULL, NULL, NULL, NULL)")
    spark.sql(f"DELETE FROM {table} WHERE number % 10 = 5")
    counts = {}
    for name in COLUMNS:
        is_bytes = name in ("thing", "code", "extra")
        text = f"lower(hex(CAST({name} AS binary)))" if is_bytes else f"CAST({name} AS string)"
        found = spark.sql(f"SELECT {text}, count(DISTINCT user) FROM {table} WHERE {name} IS NOT NULL GROUP BY 1")
        counts[name] = {value: users for value, users in found.collect() if users}
    return counts


def main(jar: str, folder: str) -> None:
    """Write the tables and the answers."""
    options = {
        "spark.jars": jar,
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": folder,
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local[1]")
    for name, value in options.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    answers = {f"v{version}": write(spark, f"lake.shop.v{version}", version) for version in (2, 3)}
    with zipfile.ZipFile(Path(__file__).with_name("iceberg.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(Path(folder, "shop").rglob("*")):
            if path.is_file() and not path.name.endswith(".crc"):
                archive.write(path, path.relative_to(Path(folder, "shop")))
        archive.writestr("answers.json", json.dumps(answers, indent=1, sort_keys=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
