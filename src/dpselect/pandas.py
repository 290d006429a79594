"""`import dpselect.pandas` gives every pandas DataFrame the verbs of a Dataset, as `frame.dps`."""

from __future__ import annotations

try:
    import pandas
except ImportError:
    raise ImportError("dpselect.pandas needs pandas\nhint: pip install 'dpselect[pandas]'") from None

from dpselect.namespace import Namespace

__all__ = ["Namespace"]

pandas.api.extensions.register_dataframe_accessor("dps")(Namespace)
