"""Asks a peer, and puts its answers next to ours."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

_PROGRAM = Path(__file__).with_name("peer_figures.py")
NEAR = 1.0
"""Microseconds by which times may differ and be the same: doubles since 1970 step by a quarter."""


def ask(python: Path, peer: str, *paths: Path) -> dict[str, Any]:
    """Figures of one peer (`peer_figures.py` names them) of a trace, or of several.

    Raises:
        SystemExit: the peer's process ended without an answer.
    """
    command = [str(python), "-I", str(_PROGRAM), peer, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"agreement.py: {peer} on {paths[0].name}: {done.stderr.strip()[-300:]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def same(left: Any, right: Any, near: float = NEAR) -> bool:
    """Whether two figures, or two lists or dicts of them, are equal to `near`."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k], near) for k in left)
    if isinstance(left, Sequence) and isinstance(right, Sequence) and not isinstance(left, str):
        return len(left) == len(right) and all(
            same(a, b, near) for a, b in zip(left, right, strict=True)
        )
    if isinstance(left, int | float) and isinstance(right, int | float):
        return abs(left - right) <= near
    return bool(left == right)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown."""
    ruler = ["---"] * len(head)
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ruler, *rows])


def shown(value: Any) -> str:
    """A figure, or several one behind the other."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " / ".join(shown(each) for each in value)
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.4g}"
    return "" if value is None else str(value)
