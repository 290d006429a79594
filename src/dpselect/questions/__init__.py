"""Questions as values: what somebody wants to know, without data and without a price."""
