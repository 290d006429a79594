"""The gateway: many analysts ask over HTTP, one promise pays, and pages show what came back.

`dpselect.gateway:app` is the plain ASGI application of the configuration that DPSELECT_GATEWAY names, for any server.
"""
