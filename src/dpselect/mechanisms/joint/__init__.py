"""A whole top k in one draw: joint exponential mechanism and relatives."""
