"""`import dpselect.polars` gives every polars DataFrame and LazyFrame the verbs of a Dataset, as `frame.dps`."""

from __future__ import annotations

try:
    import polars
except ImportError:
    raise ImportError("dpselect.polars needs polars\nhint: pip install 'dpselect[polars]'") from None

from dpselect.namespace import Namespace

__all__ = ["Namespace"]

polars.api.register_dataframe_namespace("dps")(Namespace)
polars.api.register_lazyframe_namespace("dps")(Namespace)
