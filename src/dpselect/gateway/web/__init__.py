"""HTTP: which address does what, for whom, and within which limits."""
