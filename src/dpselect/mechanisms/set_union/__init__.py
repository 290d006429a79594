"""Set union: all items that enough users share. One mechanism a file."""
