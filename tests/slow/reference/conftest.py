"""What the quick tests of questions have."""

from tests.reference.conftest import *  # noqa: F403 - its fixtures
