"""Check a release without its data: replan its question, compare every field, and find its payment in a ledger."""
