"""One filter language for every engine: read by our own grammar, checked against the columns' types, written anew.

words -> grammar -> a tree of names, constants and operations -> values with types, written for one engine.
Every operation gives a value or null for every row, in bounded time and memory: docs/filters.md has the table.
"""
