"""The example of a file of settings, with every key."""

from importlib.resources import files


def example() -> str:
    """Its text; it reads without mistakes, and nobody knows the tokens of its digests."""
    return (files("dpselect.gateway.settings") / "example.toml").read_text("utf-8")
