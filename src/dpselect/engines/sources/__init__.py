"""Files and frames as an engine reads them, by its Python side."""
