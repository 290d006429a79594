"""Prepared data: a file that holds some columns of a source in a form that is quick to ask (docs/prepared.md)."""
