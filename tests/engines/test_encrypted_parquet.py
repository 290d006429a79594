"""Encrypted Parquet is called so before anything is paid; what is not encrypted in a file is read."""

from __future__ import annotations

import base64
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpselect as dps
from dpselect.engines.sources.encrypted_parquet import encrypted_columns
from dpselect.errors import SourceError
from tests.engines.test_types import top

encryption = pytest.importorskip("pyarrow.parquet.encryption")

ROWS = pa.table({"user": [1, 2, 3], "item": ["a", "a", "b"], "name": ["x", "y", "z"]})


class _Keys(encryption.KmsClient):  # type: ignore[misc,name-defined]
    """A keeper of keys that hides nothing."""

    def __init__(self, _connection: object) -> None:
        encryption.KmsClient.__init__(self)

    def wrap_key(self, key: bytes, _name: str) -> bytes:
        return base64.b64encode(key)

    def unwrap_key(self, wrapped: bytes, _name: str) -> bytes:
        return base64.b64decode(wrapped)


def write(path: Path, *columns: str, plain_footer: bool) -> Path:
    """The rows with these columns encrypted."""
    how = encryption.EncryptionConfiguration(
        footer_key="footer", column_keys={"key": list(columns)}, plaintext_footer=plain_footer, double_wrapping=False
    )
    factory = encryption.CryptoFactory(_Keys)
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), how)
    with pq.ParquetWriter(path, ROWS.schema, encryption_properties=properties) as writer:
        writer.write_table(ROWS)
    return path


def test_a_file_whose_footer_is_encrypted_is_called_so(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.parquet", "name", plain_footer=False)
    budget = dps.Budget(epsilon=1, delta="1e-6")
    with pytest.raises(SourceError, match=r"be Parquet files that are not encrypted, got .*rows\.parquet"):
        dps.Dataset(path, user="user", item="item", budget=budget).top_k(1, epsilon=1, delta="1e-6")
    assert budget.left == 1


@pytest.mark.parametrize("column", ["user", "item"])
def test_an_encrypted_column_is_called_so_before_it_is_paid_for(tmp_path: Path, column: str) -> None:
    pq.write_table(ROWS, tmp_path / "plain.parquet")
    write(tmp_path / "rows.parquet", column, plain_footer=True)
    budget = dps.Budget(epsilon=1, delta="1e-6")
    for path in (tmp_path, tmp_path / "rows.parquet"):
        with pytest.raises(
            SourceError, match=rf"not encrypted, got .*rows\.parquet\nhint: column '{column}' has a key"
        ):
            dps.Dataset(path, user="user", item="item", budget=budget).top_k(1, epsilon=1, delta="1e-6")
    assert budget.left == 1


def test_columns_beside_an_encrypted_one_are_read(tmp_path: Path) -> None:
    assert top(write(tmp_path / "rows.parquet", "name", plain_footer=True)) == [("a", 2), ("b", 1)]


@pytest.mark.parametrize("width", [1, 2, 3, 10, 40])
def test_which_columns_are_encrypted(tmp_path: Path, width: int) -> None:
    """The signature is drawn: whatever its bytes are, none of many files is taken for a plain one, or for another."""
    for place in range(20):
        path = write(tmp_path / f"{place}.parquet", *ROWS.column_names[: place % 3 + 1], plain_footer=True)
        assert encrypted_columns(str(path)) == set(ROWS.column_names[: place % 3 + 1])
    wide = pa.table({f"c{n}": [n] for n in range(width)})
    for statistics in (True, False):
        pq.write_table(wide, tmp_path / "wide.parquet", write_statistics=statistics, store_schema=statistics)
        assert not encrypted_columns(str(tmp_path / "wide.parquet"))


def test_what_is_no_parquet_file_has_no_encrypted_columns(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    for content in (b"", b"PAR1", b"x" * 99, b"\xff" * 60 + b"\xff\xff\xff\x7fPAR1", b"\x19" * 60 + b"\x3c\0\0\0PAR1"):
        path.write_bytes(content)
        assert encrypted_columns(str(path)) == ()
    assert encrypted_columns(str(tmp_path / "nowhere.parquet")) == ()
