"""Events of invented users, and the command, as the quick tests have them."""

from tests.end_to_end.conftest import *  # noqa: F403 - its fixtures
