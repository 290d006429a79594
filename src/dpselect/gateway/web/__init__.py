"""The gateway over HTTP: addresses, JSON, problems, and their description."""
