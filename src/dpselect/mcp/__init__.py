"""Questions as tools of an agent: the Model Context Protocol, on standard input and output or over HTTP."""
