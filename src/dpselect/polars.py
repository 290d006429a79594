"""`import dpselect.polars` gives every polars DataFrame and LazyFrame `frame.dps(...)`, its rows as a Dataset."""

from __future__ import annotations

from dpselect.errors import install_hint

try:
    import polars
except ImportError:
    raise ImportError(f"dpselect.polars needs polars\nhint: {install_hint('polars')}") from None

from dpselect.frames import OfFrame

__all__ = ["OfFrame"]

polars.api.register_dataframe_namespace("dps")(OfFrame)
polars.api.register_lazyframe_namespace("dps")(OfFrame)
