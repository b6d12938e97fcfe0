"""The code of docs/how-to/integrations.md, run as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "integrations.md"


def run(heading: str, **names: Any) -> dict[str, Any]:
    """Run the code under a heading with these names; return all names after it."""
    section = PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    exec(compile(code, f"{PAGE.name}, {heading}", "exec"), names)
    return names
