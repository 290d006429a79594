"""The gateway: many analysts ask over HTTP, one promise pays, and pages show what came back.

`dpselect.gateway:app` is the plain ASGI application of the settings that DPSELECT_GATEWAY names, for any server.
"""

from __future__ import annotations


def __getattr__(name: str) -> object:
    """Return the application, made when a server asks for it."""
    if name != "app":
        raise AttributeError(f"module 'dpselect.gateway' has no attribute {name!r}")
    import os
    from pathlib import Path

    from dpselect.errors import ParameterError
    from dpselect.gateway.settings.reading import read
    from dpselect.gateway.web.app import application

    path = os.environ.get("DPSELECT_GATEWAY")
    if not path:
        raise ParameterError("DPSELECT_GATEWAY", "name the file of settings", "nothing")
    globals()[name] = application_of_settings = application(read(path), file=Path(path))
    return application_of_settings
