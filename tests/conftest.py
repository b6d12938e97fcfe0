"""Shared by all tests: nothing of a test may reach the user's own files."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
