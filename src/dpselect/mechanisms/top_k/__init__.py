"""Mechanisms for the top k: peeling, limited domain, discovery and noisy counts."""
