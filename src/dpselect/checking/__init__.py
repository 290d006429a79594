"""Checks a release: is it what its question is planned as, does it have that form, and did a ledger pay for it?"""
