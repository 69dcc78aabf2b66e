"""The programs of these tests take longer to compile than to run."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def quickly(quick_compilation: None) -> None:
    """Few optimisations, in every module of this folder."""
