"""Shared by all tests: compilations are kept inside the repository folder, not in the home of whoever runs them."""

import os
from pathlib import Path

os.environ.setdefault("L2E_CACHE_DIR", str(Path(__file__).parent.parent / ".pytest_cache" / "xla"))
