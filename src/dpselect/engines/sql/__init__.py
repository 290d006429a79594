"""The one writer of SQL: every question, written once; what databases spell differently stands in a dialect."""
