"""Syncs that may be there, each with a reason."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tb_hookview.dryrun.recording.recorder import NotedSync
from tb_hookview.errors import UsageError

_MARK = "  # "


class Allowance(NamedTuple):
    """An entry: text that a sync's description contains, and why it may be there."""

    text: str
    reason: str


def given(texts: Iterable[str]) -> list[Allowance]:
    """Return the entries of a call, which need no reasons."""
    if isinstance(texts, str):
        raise UsageError("allow is a list of texts, such as allow=['loss.item()']")
    return [Allowance(text, "allowed by the caller") for text in texts]


def read(path: Path) -> list[Allowance]:
    """Read a file: in each line a text, two spaces, a number sign and the reason.

    Raises:
        UsageError: it cannot be read, or an entry has no reason.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as a list of allowed syncs ({error})") from None
    entries = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        text, mark, reason = line.rpartition(_MARK)
        if not mark or not text.strip() or not reason.strip():
            raise UsageError(
                f"{path}:{number}: no reason; write the text, two spaces, # and the reason"
            )
        entries.append(Allowance(text.strip(), reason.strip()))
    return entries


def described(sync: NotedSync) -> str:
    """Return what the text of an entry is looked for in."""
    line, forward = sync.line, sync.forward_line
    parts = [sync.operator, sync.within, sync.cause, sync.node or "", sync.via or ""]
    if sync.module is not None:
        parts += [sync.module.path, sync.module.class_name]
    for place in (line, forward):
        if place is not None:
            parts += [f"{place} {place.function}", place.code]
    return "\n".join(parts)


class Allowances:
    """Which entries were of use."""

    def __init__(self, entries: Iterable[Allowance]) -> None:
        self._entries = list(entries)
        self._used: set[Allowance] = set()

    def reason_for(self, sync: NotedSync) -> str | None:
        """Return why a sync may be there; None if it may not."""
        text = described(sync)
        for entry in self._entries:
            if entry.text in text:
                self._used.add(entry)
                return entry.reason
        return None

    @property
    def unused(self) -> list[str]:
        """Texts of the entries that no sync matched."""
        return [entry.text for entry in self._entries if entry not in self._used]
