"""A row of the table of CUDA kernels that make the host wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tb_hookview.dryrun.operators.arguments import Arguments
from tb_hookview.dryrun.operators.reason import Reason

Reasons = Callable[[Arguments], Iterable[Reason]]
Version = tuple[int, int]


@dataclass(frozen=True)
class Row:
    """Operators whose CUDA kernel makes the host wait on one condition.

    Kernels only: composite code of the installed torch runs as it is, and shows its own syncs.
    """

    operators: tuple[str, ...]
    """With an overload's name, or without for all of them."""
    condition: str
    """When it syncs, and how often, in words."""
    source: str
    """The file of torch that was read, below aten/src/ATen/native unless it says otherwise."""
    reasons: Reasons
    symbols: tuple[str, ...] = ()
    """Names of functions of torch's libraries of which at least one calls what waits."""
    first: Version = (2, 8)
    """First version of torch that it is true of, among those that were read."""
    last: Version | None = None
    """Last such version; None: also the newest one known."""
    evidence: str = "source"
    """What else says so: "binary" (calls in libtorch_cuda.so), "recording", "issue"."""

    def holds_for(self, version: Version) -> bool:
        """Whether it is about a version of torch."""
        return self.first <= version and (self.last is None or version <= self.last)


def always(*reasons: Reason, also_empty: bool = False) -> Reasons:
    """Return reasons that hold in each call, but for an empty first tensor."""

    def of_call(arguments: Arguments) -> tuple[Reason, ...]:
        return () if arguments.is_empty and not also_empty else reasons

    return of_call


def when(condition: Callable[[Arguments], bool], *reasons: Reason) -> Reasons:
    """Return reasons that hold in calls that meet a condition."""

    def of_call(arguments: Arguments) -> tuple[Reason, ...]:
        return reasons if condition(arguments) else ()

    return of_call


def by_operator(rows: Iterable[Row], version: Version) -> dict[str, list[Row]]:
    """Return rows by operator, `aten::name` or `aten::name.overload`, for a version of torch."""
    found: dict[str, list[Row]] = {}
    for row, name in _named(rows, version):
        found.setdefault(name, []).append(row)
    return found


def _named(rows: Iterable[Row], version: Version) -> Iterator[tuple[Row, str]]:
    for row in rows:
        if row.holds_for(version):
            for name in row.operators:
                yield row, name if "::" in name else f"aten::{name}"
