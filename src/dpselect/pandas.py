"""`import dpselect.pandas` gives every pandas DataFrame `frame.dps(...)`, its rows as a Dataset."""

from __future__ import annotations

try:
    import pandas
except ImportError:
    raise ImportError("dpselect.pandas needs pandas\nhint: pip install 'dpselect[pandas]'") from None

from dpselect.frames import OfFrame

__all__ = ["OfFrame"]

pandas.api.extensions.register_dataframe_accessor("dps")(OfFrame)
