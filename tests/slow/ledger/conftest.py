"""Places for ledgers, as the quick tests have them."""

from tests.ledger.conftest import *  # noqa: F403 - its fixtures
