"""Texts: how rows of text become items, a word, two words in a row, three, one level after the other."""
