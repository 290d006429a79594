"""A top k: its plan, the selections that answer it, and what changes by groups, scores and measures."""
