"""`import dpselect.pandas` gives every pandas DataFrame `frame.dps(...)`, its rows as a Dataset."""

from __future__ import annotations

from dpselect.errors import install_hint

try:
    import pandas
except ImportError:
    raise ImportError(f"dpselect.pandas needs pandas\nhint: {install_hint('pandas')}") from None

from dpselect.frames import OfFrame

__all__ = ["OfFrame"]

pandas.api.extensions.register_dataframe_accessor("dps")(OfFrame)
