from __future__ import annotations

from support.caching import cache, folder, written

__all__ = ["cache", "folder", "written"]
