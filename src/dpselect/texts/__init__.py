"""Texts: rows of text become items: words first, then n-grams, one length after the other."""
