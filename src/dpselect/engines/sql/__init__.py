"""The questions in SQL that engines share, each in its own dialect."""
