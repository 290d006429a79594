"""A question: its parameters checked once, its price, how it is run, what it may return."""
