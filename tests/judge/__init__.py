"""The judge of every release that the tests make: its price recomputed by numerics of its own.

Nothing here is shared with what planned the answers, so a slip in one of the two shows.
"""
