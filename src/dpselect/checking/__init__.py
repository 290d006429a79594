"""Checks a release: does its promise follow from what it says, and did a ledger pay for it?

It recomputes with numerics of its own: nothing here is shared with what planned the answer.
"""
