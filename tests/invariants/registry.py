"""The list of invariants, and what is said of those that a trace breaks."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import IntEnum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from invariants.case import Case

Check = Callable[[Case], None]
HERE = Path(__file__).parent
NO_TOPICS = {"case", "conftest", "registry"}


class Of(IntEnum):
    """What an invariant holds of; each includes those that follow."""

    TRACES = 0
    """Any trace: drawn, damaged, a part of another one."""
    FILES = 1
    """Any file, whatever is wrong with it."""
    RECORDINGS = 2
    """Files as a profiler wrote them."""


class Invariant(NamedTuple):
    """Something that holds of every trace, as a function that raises where it does not."""

    name: str
    """`topic.function`."""
    check: Check
    of: Of
    slow: bool
    """Whether only small traces are asked."""


_REGISTERED: list[Invariant] = []


def invariant(of: Of = Of.TRACES, *, slow: bool = False) -> Callable[[Check], Check]:
    """Register a function of a `Case` that raises where its invariant does not hold."""

    def register(check: Check) -> Check:
        topic = check.__module__.rpartition(".")[2]
        _REGISTERED.append(Invariant(f"{topic}.{check.__name__}", check, of, slow))
        return check

    return register


@cache
def invariants() -> tuple[Invariant, ...]:
    """All of them, from every topic's file."""
    files = {path.stem for path in HERE.glob("*.py") if not path.stem.startswith("test_")}
    for topic in sorted(files - NO_TOPICS):
        import_module(f"invariants.{topic}")
    return tuple(_REGISTERED)


def asked(case: Case, of: Of, only: Collection[str] = ()) -> Iterator[Invariant]:
    """The invariants that apply to a trace.

    Args:
        case: the trace.
        of: what it is.
        only: names of those to ask; all by default.
    """
    for each in invariants():
        if each.of > of or (only and each.name not in only) or (each.slow and not case.small):
            continue
        if each.of == Of.TRACES and of == Of.FILES and not case.is_readable:
            continue  # damaged beyond reading: an error, and no trace
        yield each


class Broken(NamedTuple):
    """An invariant that does not hold, and what it raised."""

    name: str
    error: Exception

    @property
    def reason(self) -> str:
        """What is wrong, in one line."""
        first = (str(self.error) or "no reason given").splitlines()[0]
        kind = type(self.error).__name__
        return first if kind == "AssertionError" else f"{kind}: {first}"

    @property
    def details(self) -> str:
        """Where it was raised, and the whole message."""
        here = self.error.__traceback__
        assert here is not None  # its first frame is `_answer`
        return "".join(traceback.format_exception(None, self.error, here.tb_next))


def broken(case: Case, of: Of, only: Collection[str] = ()) -> list[Broken]:
    """Ask a trace all that applies to it, and return what does not hold of it."""
    answers = [_answer(each, case) for each in asked(case, of, only)]
    return [answer for answer in answers if answer is not None]


def _answer(invariant: Invariant, case: Case) -> Broken | None:
    try:
        invariant.check(case)
    except Exception as error:  # noqa: BLE001 - whatever one raises, the others are asked
        return Broken(invariant.name, error)
    return None


def explained(case: Case, found: Sequence[Broken]) -> str:
    """What is wrong with a trace: a line for each reason, then each with its traceback.

    The first line says how to ask its invariant alone.
    """
    by_reason: dict[str, list[Broken]] = {}
    for each in found:
        by_reason.setdefault(each.reason, []).append(each)
    lines, details = [], []
    for reason, (first, *others) in by_reason.items():
        more = f" and {len(others)} more" if others else ""
        lines.append(f"{case.name}: {first.name}{more}: {reason}")
        details.append(f"\n{first.name}\n{first.details}")
    lines[0] += f" (alone: pytest tests/invariants -k '{case.name}' --invariant {found[0].name})"
    return "\n".join([*lines, *details])
