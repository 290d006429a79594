"""Questions as the tools of an agent: the protocol, what the tools say, and what an agent can do with them."""
