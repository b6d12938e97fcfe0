"""The types of a rule and of its occurrences in a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct, field

from tb_hookview.arrays.types import (
    Bool,
    DeviceEventIndex,
    GapIndex,
    Nanoseconds,
    SyncIndex,
    TimeSet,
    TreeRow,
)
from tb_hookview.schema.findings import Confidence, Family, RuleInfo

if TYPE_CHECKING:
    from tb_hookview.rules.engine.context import Context


class HostTime(NamedTuple):
    """Time of one host thread."""

    thread: int
    time: TimeSet


class Occurrence(Struct, frozen=True):
    """One place of a trace where a rule holds. Times "a step" are means over `Context.steps`."""

    place: str
    """Operator, node or call, as a person reads it."""
    evidence: str
    """Phrase of the observation with its figures, without a full stop."""
    module: int | None = None
    """Row of `Modules`, -1 for none; None: it is of the whole step or several modules, located by
    `place` alone."""
    everywhere: bool = False
    """Whether `place` alone locates it although it has a module, that of the whole model."""
    count: int | None = None
    """Number of times it was seen; None: as many as there are examples, and 1 without any."""
    syncs: SyncIndex = field(default_factory=lambda: np.zeros(0, np.int64))
    """The syncs that it is about, those of measured steps."""
    gaps: GapIndex = field(default_factory=lambda: np.zeros(0, np.int64))
    """Rows of `Analysis.gaps` that it causes. Those that a rule of higher priority was charged for
    are subtracted."""
    wasted: DeviceEventIndex = field(default_factory=lambda: np.zeros(0, np.int64))
    """Rows of `DeviceEvents`, in measured steps, that could be avoided or shortened. Time that a
    rule of higher priority was charged for is subtracted."""
    wasted_ns: Nanoseconds | None = None
    """That part of the time of each row of `wasted`, nanoseconds; None: all of it."""
    saved: float = 1.0
    """That part of the wasted time, of the host's, or of what is gone, which the fix saves."""
    host: tuple[HostTime, ...] = ()
    """Time of host threads, in measured steps, that could be avoided or shortened where the model
    runs on the CPU (`Context.on_host`), or waits for other ranks where no device is recorded; none
    elsewhere. It is the cost, as no device idles there. Time that a rule of higher priority was
    charged for is subtracted."""
    once_us: float | None = None
    """Time that it takes once in a run, as in its first step, microseconds: no cost of each step.
    None for what recurs."""
    dominates: bool = False
    """Whether what it takes once is most of the trace, so that it comes before what recurs."""
    paces: str = ""
    """Caveat for all other gains where it may decide the length of a step whatever else is saved,
    so that it comes first."""
    gone: TreeRow = field(default_factory=lambda: np.zeros(0, np.int64))
    """Rows of the call tree, in measured steps, that a replay without it lacks (that part of them
    which the fix saves), in addition to what it is charged for: what the host does while a device
    is busy gains nothing at once, and all of it once the device has less to do."""
    scale: str = ""
    """What a what-if scales to 0 without it (`simulation/questions.py`), in place of what it is
    charged for."""
    claims_gain: bool = True
    """Whether the trace shows what the fix gains. Otherwise the gain is null, and the evidence or a
    caveat says why."""
    passing: bool = False
    """Whether most steps of a run lack its syncs, so that others wait in their place there."""
    confidence: Confidence | None = None
    """Overrides the rule's confidence."""
    examples: Nanoseconds | None = None
    """Starts of what was seen, nanoseconds; the report shows the first ones. None: those of
    `wasted`."""
    of_steps: bool = False
    """Whether its examples are whole steps."""
    caveats: tuple[str, ...] = ()
    """Sentences about what may make the figures wrong."""
    latent: str = ""
    """Reason to report it where it costs nothing in this trace. Without one, such an occurrence is
    not a finding."""
    title: str = ""
    """Overrides the rule's title where the rule is about several things."""
    fix: str = ""
    """Overrides the rule's fix where the trace shows that another one fits."""


class Rule(Struct, frozen=True):
    """One cause of lost time: how it is found, its cost and its fix.

    A rule with neither `explains` nor `find` cannot be seen in a trace. It is never a finding, and
    appears as advice under the findings of rules that name it.
    """

    id: str
    family: Family
    title: str
    """The problem, as a phrase that stands by itself."""
    description: str
    """Condition on a trace under which it holds, in words; `matches` in JSON."""
    fix: str
    """The fix, in whole sentences."""
    reference: str
    confidence: Confidence = "high"
    explains: Callable[[Context], Bool] | None = None
    """Mask of the syncs it explains, shape (s,) over `Context.syncs`. Each sync is explained by the
    first rule of `RULES` that claims it; that rule's id is its `cause`."""
    find: Callable[[Context], Iterable[Occurrence]] | None = None
    """Finds its occurrences. None: one per module and place of the syncs it explains."""
    caveats: tuple[str, ...] = ()
    """Sentences about these."""
    advice: tuple[str, ...] = ()
    """Ids of rules that no trace shows and that belong under this one's findings."""

    @property
    def visible(self) -> bool:
        """Whether a trace can show it."""
        return self.explains is not None or self.find is not None

    def described(self) -> RuleInfo:
        """Return everything that is known of it without a trace."""
        return RuleInfo(
            id=self.id,
            family=self.family,
            title=self.title,
            visible=self.visible,
            matches=self.description,
            fix=self.fix,
            reference=self.reference,
            confidence=self.confidence,
            advice=list(self.advice),
        )
