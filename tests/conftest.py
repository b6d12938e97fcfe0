"""Shared by all tests: nothing of a test may reach the user's own files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hypothesis import settings

# How long an example took says how busy the machine is, and nothing of whether the code is right.
settings.register_profile("tb_hookview", deadline=None)
settings.load_profile("tb_hookview")
# What a test reads is read there and then; tests of the cache name a folder of their own.
os.environ["HOOKVIEW_CACHE"] = "off"
sys.path.insert(0, str(Path(__file__).parent))
