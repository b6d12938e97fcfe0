"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], body: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table; the first `left` columns are texts, the others numbers."""
    ruler = ["---" if column < left else "---:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ruler, *body])


def text(content: str) -> str:
    """A text as it may stand in a cell."""
    return content.replace("|", "\\|").replace("\n", " ")


def failure(reason: str) -> str:
    """A cell for what could not be measured."""
    return f"fails: {text(reason)[:90]}"
