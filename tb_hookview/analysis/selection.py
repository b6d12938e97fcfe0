"""The part of an analysis that a report is about: everything, or some steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from msgspec import Struct

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.phases import PASSES
from tb_hookview.analysis.unseen import unseen_causes
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Bool, Nanoseconds, StepIndex, to_us
from tb_hookview.errors import NotFoundError
from tb_hookview.schema import COUNTED, Phase

Derived = TypeVar("Derived")


class Selection(Struct, frozen=True, dict=True):
    """Masks over the rows of an analysis.

    A device event is in the step of its launch. One that was launched before the trace began is in
    no step.
    """

    analysis: Analysis
    chosen: tuple[int, ...] | None
    """Indices of steps; None for the whole trace, including what is outside all steps."""
    by_name: bool = False
    """Whether the user named the steps."""

    def times(self, time: Nanoseconds) -> Bool:
        """Whether each moment is in the selection."""
        if self.chosen is None:
            return np.ones(len(time), bool)
        return self.within(self.analysis.steps.at(time))

    def within(self, step: StepIndex) -> Bool:
        """Whether each of some steps, -1 for none, is in the selection."""
        return np.ones(len(step), bool) if self.chosen is None else isin(step, self.chosen)

    @cached_property
    def rows(self) -> Bool:
        """Rows of the call tree, by their start."""
        return self.times(self.analysis.call_tree.start)

    @cached_property
    def nodes(self) -> Bool:
        """Autograd nodes, by the start of their evaluation."""
        return np.asarray(self.rows[self.analysis.nodes.row])

    @cached_property
    def device_events(self) -> Bool:
        """Device events, by `Analysis.device_event_step`."""
        return self.within(self.analysis.device_event_step)

    @cached_property
    def syncs(self) -> Bool:
        """Syncs, by their start.

        Of a whole trace without marks not those that are left out of its one step, but the
        profiler's own.
        """
        syncs, steps = self.analysis.syncs, self.analysis.steps
        if self.chosen is not None or steps.marked:
            return self.times(syncs.start)
        return np.asarray((steps.at(syncs.start) >= 0) | syncs.by_profiler)

    @cached_property
    def unknown_phases(self) -> Bool:
        """Phases of which the trace may not show work of the selection, shape (phases,).

        A replayed graph may hold it, or nothing was recorded that shows the phase.
        """
        in_graphs = self.analysis.replayed_graphs.unknown
        chosen = in_graphs if self.chosen is None else in_graphs[list(self.chosen)]
        unknown = np.asarray(chosen.any(0))
        for phase in PASSES:
            unknown[phase] |= not self.analysis.phases.known[phase]
        return unknown

    @cached_property
    def gaps(self) -> Bool:
        """Idle time of the devices, by `Analysis.gap_step`."""
        return self.within(self.analysis.gap_step)

    @cached_property
    def sync_idle(self) -> Nanoseconds | None:
        """`Analysis.sync_idle`, as far as it lies in the selection."""
        analysis, gaps = self.analysis, self.analysis.gaps
        if analysis.sync_idle is None:
            return None
        return sum_by(np.where(self.gaps, gaps.sync, -1), gaps.duration, len(analysis.syncs))

    @property
    def steps(self) -> tuple[int, ...]:
        """Indices of the steps in the selection."""
        return tuple(range(len(self.analysis.steps.name))) if self.chosen is None else self.chosen

    @cached_property
    def counted(self) -> tuple[int, ...]:
        """Indices of the measured steps: those selected; of a whole trace `Steps.counted`."""
        if self.chosen is not None:
            return self.chosen
        return tuple(np.flatnonzero(self.analysis.steps.counted).tolist())

    @cached_property
    def averaged(self) -> Selection:
        """The steps over which means are taken: those that count, or all where none does.

        A trace without marks of steps is one step, with nothing outside it.
        """
        if self.chosen is not None or not self.analysis.steps.marked:
            return self
        return Selection(self.analysis, self.counted or self.steps)

    @cached_property
    def step_rows(self) -> list[schema.Step]:
        """One row per selected step; the host phases that are known sum to its duration."""
        analysis = self.analysis
        steps, times, events = analysis.steps, analysis.step_times, analysis.step_device_events
        any_event, launches = times.device_busy is not None, times.queue_full is not None
        counted = frozenset(self.averaged.steps if steps.marked else self.counted)
        phases, unseen = self._host_phases, unseen_causes(analysis)
        named = bool(analysis.phases.known[Phase.DATA])
        return [
            schema.Step(
                id=i,
                name=steps.name[i],
                start_us=to_us(steps.window[i, 0]),
                duration_us=to_us(times.duration[i]),
                forward_us=phases.us(i, Phase.FORWARD),
                backward_us=phases.us(i, Phase.BACKWARD),
                optimizer_us=phases.us(i, Phase.OPTIMIZER),
                data_us=phases.us(i, Phase.DATA),
                other_us=to_us(phases.other[i]),
                device_busy_us=_known(times.device_busy, i),
                device_idle_us=_known(times.device_idle, i),
                sync_blocked_us=to_us(times.sync_blocked[i]) if analysis.syncs_known else None,
                idle=None if times.idle is None else _idle(times.idle, i, unseen),
                queue_full_us=_known(times.queue_full, i),
                backward_idle_us=phases.where_known(times.backward_idle, i, Phase.BACKWARD),
                counts=i in counted,
                device_us=to_us(events.time[i]) if any_event else None,
                launched_before_count=int(events.before[i]) if launches else None,
                launched_before_us=to_us(events.before_time[i]) if launches else None,
                communication_wait_us=_known(times.communication_wait if named else None, i),
                left_out_us=to_us(steps.left_out[i]),
            )
            for i in self.steps
        ]

    @property
    def _host_phases(self) -> _HostPhases:
        phases, times = self.analysis.phases, self.analysis.step_times
        time = np.stack(times.phase[: Phase.OTHER], axis=1)
        in_graph = self.analysis.replayed_graphs.unknown[:-1, : Phase.OTHER]
        known = phases.known & ~(in_graph & (time == 0))
        return _HostPhases(time, known, times.duration - np.where(known, time, 0).sum(axis=1))

    def derived(self, make: Callable[[Selection], Derived]) -> Derived:
        """Return what a type or a function makes of the selection, which is cached with it."""
        if make not in self._derived:
            self._derived[make] = make(self)
        return cast(Derived, self._derived[make])

    @cached_property
    def _derived(self) -> dict[Callable[[Selection], object], object]:
        return {}


class _HostPhases(NamedTuple):
    """Host time of the phases of each step; no time at all is unknown where graphs may hold it."""

    time: Nanoseconds
    """Shape (s, phases without `other`), as `known`."""
    known: Bool
    other: Nanoseconds
    """The rest of each step, shape (s,)."""

    def us(self, step: int, phase: Phase) -> float | None:
        return to_us(self.time[step, phase]) if self.known[step, phase] else None

    def where_known(self, times: Nanoseconds | None, step: int, phase: Phase) -> float | None:
        return _known(times, step) if self.known[step, phase] else None


def _known(times: Nanoseconds | None, step: int) -> float | None:
    return None if times is None else to_us(times[step])


def _idle(times: dict[Cause, Nanoseconds], step: int, unseen: frozenset[Cause]) -> schema.Idle:
    def us(cause: Cause) -> Any:
        return None if cause in unseen else to_us(times[cause][step])

    return schema.Idle(**{cause.name.lower(): us(cause) for cause in times})


def select(analysis: Analysis, steps: Sequence[str] | None) -> Selection:
    """Choose steps by name; a bare number stands for `ProfilerStep#number`.

    The one name `COUNTED` stands for the steps over which means are taken. Of several steps of a
    name those are chosen in which the host launched, if it did in any.

    Raises:
        NotFoundError: the trace has no step of that name.
    """
    if not steps:
        return Selection(analysis, None)
    if list(steps) == [COUNTED]:
        return Selection(analysis, None).averaged
    names = analysis.steps.name
    wanted = [f"ProfilerStep#{step}" if step.isdecimal() else step for step in steps]
    for step in wanted:
        if step not in names:
            known = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            raise NotFoundError(f"{analysis.trace.path}: no step {step!r}; there are {known}")
    launched = analysis.steps.launched.tolist()
    at_work = {name for name, works in zip(names, launched, strict=True) if works}
    chosen = (
        step
        for step, name in enumerate(names)
        if name in wanted and (launched[step] or name not in at_work)
    )
    return Selection(analysis, tuple(chosen), True)
