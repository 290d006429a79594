"""A set union: its price, its bound, how it is run, and from how many users on an item is found."""
