"""Accounting: pure functions over privacy values. It never sees data."""
