"""Set union: all items that enough users share. One family of mechanisms a file; what they share is in port.py."""
