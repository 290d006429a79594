"""What `dpselect doctor` says of a Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.end_to_end.test_cli_doctor import Doctor, doctor

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["doctor"]


def test_spark_answers(doctor: Doctor, spark: SparkSession) -> None:
    assert doctor("--engine", f"spark:{spark.sparkContext.master}")[1]["engine"][0] == "ok"
    status, found = doctor("--engine", "spark:spark://eve@127.0.0.1:1")
    assert (status, found["engine"][0]) == (2, "fails")  # a process has one Spark
    assert "eve" not in str(found)
