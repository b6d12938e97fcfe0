"""Predictions of how long a step takes with something changed."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.consistency.checks import launches_to_run
from tb_hookview.analysis.dependencies.build import build
from tb_hookview.analysis.dependencies.graph import Graph
from tb_hookview.analysis.dependencies.points import Window, find_window
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import isin, pair_key, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Int, Nanoseconds, TreeRow
from tb_hookview.simulation.changes import (
    Change,
    Changer,
    HostEdges,
    HostSpans,
    split_by_module,
    together,
)
from tb_hookview.simulation.critical_path import (
    CriticalPath,
    Slack,
    binding_chain,
    critical_path,
    find_slack,
)
from tb_hookview.simulation.questions import host_rows, scaled
from tb_hookview.simulation.recording_cost import (
    MOST,
    part_of_costs,
    timed_unrecorded,
    without_recording,
)
from tb_hookview.simulation.replay import Lengths, Measure, Pace, Replay, Replayer, recorded

_LAGS = 0.01
"""Share of a step by which the device has to be behind, per step, for that to matter."""

_MOST_LOST = 0.5
"""Share of the launches without device events above which no change is known to gain anything."""
_LOST = (
    "{:.0%} of the launches have no device events in the trace: how long most of the work takes is "
    "not known"
)

_TRIES, _CLOSE = 5, 0.001
"""Replays to find the cost of recording that leads to a step, and how near to it they stop, as a
share of the recorded step."""


class Outcome(Struct, frozen=True, dict=True):
    """A replay and what sets its pace."""

    replay: Replay
    pace: Pace

    @cached_property
    def chain(self) -> Int:
        """Edges of its critical path."""
        return binding_chain(self.replay, self.pace.last)

    @cached_property
    def path(self) -> CriticalPath:
        """What decides the length of a step."""
        return critical_path(self.replay, self.pace, self.chain)


class Prediction(Struct, frozen=True, dict=True):
    """Length of a step with something changed, nanoseconds."""

    simulator: Simulator
    change: Change
    outcome: Outcome

    @property
    def replay(self) -> Replay:
        """The replay with the change."""
        return self.outcome.replay

    @property
    def pace(self) -> Pace:
        """What sets its pace."""
        return self.outcome.pace

    @property
    def step(self) -> float:
        """Nanoseconds per step."""
        return self.pace.step

    @cached_property
    def low(self) -> float:
        """Lower bound: without the pauses that nothing explains, less `Simulator.error`."""
        lengths = self.replay.lengths
        without = self.simulator.explained(lengths)
        if (without.pause == lengths.pause).all():
            return max(self.step - self.simulator.error, 0.0)
        step = min(self.simulator.step_of(without), self.step)
        return max(step - self.simulator.error, 0.0)

    @property
    def high(self) -> float:
        """Upper bound: with as many pauses as recorded, plus `Simulator.error`."""
        return self.step + self.simulator.error

    @property
    def path(self) -> CriticalPath:
        """What decides the length of a step."""
        return self.outcome.path

    @cached_property
    def slack(self) -> Slack:
        """By how much longer parts may take with the step as long."""
        return self.simulator.slack(self)


class LostLaunches(NamedTuple):
    """Launches whose device events a trace lacks."""

    share: float
    """Of those that have some to run."""
    at_end: bool
    """Whether most are later than all that have theirs: the recording ended first."""
    time: float
    """Device time of as many launches by the same operators elsewhere, nanoseconds."""


class Simulator(Struct, frozen=True, dict=True):
    """Replays the steps of one selection."""

    selection: Selection

    @property
    def analysis(self) -> Analysis:
        """The trace."""
        return self.selection.analysis

    @cached_property
    def window(self) -> Window:
        """The steps that are replayed."""
        return find_window(self.selection)

    @property
    def refused(self) -> str | None:
        """Why nothing is replayed; None where it is."""
        return self.window.refusal()

    @property
    def gains_unknown(self) -> str | None:
        """Why no replay says what a change gains; None where it does."""
        return self.refused or (
            _LOST.format(self.lost_launches.share) if self.mostly_lost else None
        )

    @property
    def mostly_lost(self) -> bool:
        """Whether most of what is replayed has no device events."""
        return self.refused is None and self.lost_launches.share > _MOST_LOST

    @cached_property
    def lost_launches(self) -> LostLaunches:
        """Launches in the window without device events."""
        analysis, window = self.analysis, self.window
        launches, start = launches_to_run(analysis.host), analysis.call_tree.start
        inside = launches[(start[launches] >= window.start) & (start[launches] < window.host_end)]
        run = analysis.device_events.launch
        run = run[run >= 0]
        lost = inside[~isin(inside, run)]
        if not len(lost) or not len(run):
            return LostLaunches(0.0, at_end=False, time=0.0)
        late = np.count_nonzero(start[lost] > start[run].max())
        at_end = bool(2 * late >= len(lost))
        time = _time_elsewhere(analysis, lost)
        return LostLaunches(len(lost) / len(inside), at_end=at_end, time=time)

    @cached_property
    def graph(self) -> Graph:
        """The dependency graph."""
        return build(self.analysis, self.window)

    @cached_property
    def measure(self) -> Measure:
        """Length of a step in a replay."""
        return Measure(self.graph, self.window)

    @cached_property
    def recorded(self) -> Pace:
        """Length of a step as recorded."""
        return self.measure.pace(Replay(self.graph, recorded(self.graph), self.graph.nodes.time))

    @property
    def unchanged(self) -> Prediction:
        """The replay with nothing changed."""
        return Prediction(self, Change(), self._unchanged)

    @cached_property
    def _unchanged(self) -> Outcome:
        """What `unchanged` is made of: it refers to the simulator, and so is made when asked for.

        A circle of references stays in memory until the garbage collector looks at old objects.
        """
        return self._replayed(recorded(self.graph))

    @cached_property
    def unrecorded(self) -> Outcome | None:
        """The replay without the cost of recording; None where that is unknown.

        Where the recorder timed steps that were not recorded, the estimated cost is scaled so that
        the step is none that they contradict, but to no more than rows can cost.
        """
        change = without_recording(self.analysis, self.window.start)
        if change is None:
            return None
        found = self._replayed(self.lengths(change))
        recorded = self.unchanged.step
        least, most = timed_unrecorded(self.analysis.trace.manifest)
        nearest = min(max(found.pace.step, least), most, recorded)
        part = 1.0
        for _ in range(_TRIES):
            off = recorded - found.pace.step
            if off <= 0 or abs(found.pace.step - nearest) <= _CLOSE * recorded or part == MOST:
                break
            part = min(part * (recorded - nearest) / off, MOST)
            found = self._replayed(self.lengths(part_of_costs(change, part)))
        return found

    @cached_property
    def steady(self) -> Outcome:
        """The replay without what happens once: loading code of kernels, starting loaders."""
        return self.without_loading(self._unchanged)

    @cached_property
    def later(self) -> Outcome | None:
        """The replay without what happens once and the cost of recording, which is what later steps
        take; None where nothing is loaded and that cost is unknown."""
        if self.unrecorded is not None:
            return self.without_loading(self.unrecorded)
        return self.steady if self.loading or self.starting else None

    def without_loading(self, base: Outcome) -> Outcome:
        """A replay without the time in which the host loads kernels' code or starts loaders."""
        once = [scaled(self.analysis, {"kernel_loading": 0.0})] if self.loading else []
        once += [host_rows(self.analysis, self.analysis.loads_once)] if self.starting else []
        if not once:
            return base
        return self._replayed(self.lengths(together(once), base.replay.lengths))

    @cached_property
    def starting(self) -> int:
        """Time in which workers of loaders start and end (`loads_once`), nanoseconds."""
        return int(self.analysis.call_tree.duration[self.analysis.loads_once].sum())

    @cached_property
    def loading(self) -> int:
        """Time in which the host loaded the code of kernels in the window, nanoseconds."""
        loads, window = self.analysis.kernel_loads, self.window
        inside = (loads.start >= window.start) & (loads.start < window.host_end)
        return int(loads.duration[inside].sum())

    @cached_property
    def without_pauses(self) -> Outcome:
        """The replay without the pauses that nothing in the trace explains."""
        return self._replayed(self.explained(recorded(self.graph)))

    def explained(self, lengths: Lengths) -> Lengths:
        """Lengths without the pauses that nothing explains; those of collectives are for peers."""
        known = np.where(self.graph.late_for_peers, lengths.pause, 0)
        return replace(lengths, pause=known)

    @cached_property
    def error(self) -> float:
        """By how much the replay with nothing changed is off; nanoseconds per step."""
        return abs(self.unchanged.step - self.recorded.step)

    def predict(self, change: Change) -> Prediction:
        """Replay with something changed."""
        return Prediction(self, change, self._replayed(self.lengths(change)))

    def _replayed(self, lengths: Lengths) -> Outcome:
        """The replay with some lengths; where the host waits for the device's backlog from before
        the window, that is shortened as much as the rest."""
        found = self._outcome(lengths)
        by_device = found.pace.last != self.graph.step_end[-1]
        if by_device or self._behind <= _LAGS * found.pace.step:
            return found
        again = self._changer.caught_up(lengths)
        if again is None:
            return found
        # The device's pace is that after the backlog as recorded: how long that takes is estimated.
        device = Outcome(found.replay, self.measure.by_device(found.replay))
        replay = self.replay(again)
        host = Outcome(replay, self.measure.by_host(replay))
        slower = max(device, host, key=lambda outcome: outcome.pace.step)
        return min(found, slower, key=lambda outcome: outcome.pace.step)

    def _outcome(self, lengths: Lengths) -> Outcome:
        replay = self.replay(lengths)
        return Outcome(replay, self.measure.pace(replay))

    @cached_property
    def _behind(self) -> float:
        """By how much the device is behind as the window begins; nanoseconds per step."""
        nodes, before = self.graph.nodes, self.graph.before
        ends = nodes.time[before] + nodes.duration[before]
        return float(ends.max(initial=0)) / len(self.window.steps)

    def replay(self, lengths: Lengths) -> Replay:
        """Times that some lengths lead to."""
        return self._replayer(lengths)

    def step(self, change: Change, base: Outcome | None = None) -> float:
        """Length of a step with something changed, nanoseconds.

        What shortens nothing on the critical path, and lengthens nothing, is not replayed.

        Args:
            change: what is changed.
            base: what it is changed in; None for the trace as recorded.
        """
        base = base or self._unchanged
        lengths = self.lengths(change, base.replay.lengths)
        return base.pace.step if _keeps_step(lengths, base) else self.step_of(lengths)

    def gain(self, change: Change, base: Outcome | None = None) -> float:
        """By how much something changed makes a step shorter, nanoseconds; never below 0."""
        return max((base or self._unchanged).pace.step - self.step(change, base), 0.0)

    def step_of(self, lengths: Lengths) -> float:
        """Length of a step with some lengths, nanoseconds."""
        return self._replayed(lengths).pace.step

    def lengths(self, change: Change, before: Lengths | None = None) -> Lengths:
        """Lengths of nodes and edges with a change, as `Changer.apply`."""
        return self._changer.apply(change, before)

    def slack(self, prediction: Prediction) -> Slack:
        """Slack of all parts of a prediction."""
        return find_slack(self._replayer, prediction.replay, prediction.pace, self.measure)

    @cached_property
    def host_spans(self) -> HostSpans:
        """Time of the host's edges by module."""
        return split_by_module(self.analysis, self.host_edges)

    @property
    def host_edges(self) -> HostEdges:
        """Edges that are the host's work."""
        return self._changer.host_edges

    @cached_property
    def _replayer(self) -> Replayer:
        return Replayer(self.graph)

    @cached_property
    def _changer(self) -> Changer:
        return Changer(self.graph, self.window.start)


def _time_elsewhere(analysis: Analysis, lost: TreeRow) -> float:
    """Mean device time of other calls of the same name by operators of the same name, summed over
    some calls, nanoseconds; those without any such count as 0."""
    host, events = analysis.host, analysis.device_events
    launched = events.launch >= 0
    launches, place = unique_inverse(events.launch[launched])
    times = sum_by(place, events.duration[launched], len(launches))
    rows = np.concatenate([launches, lost])
    around = lookup(host.string, host.operator_around[rows]) + 1
    keys, key = unique_inverse(pair_key(host.string[rows], around))
    known = key[: len(launches)]
    count = np.bincount(known, minlength=len(keys))
    mean = sum_by(known, times, len(keys)) / np.maximum(count, 1)
    return float(mean[key[len(launches) :]].sum())


def _keeps_step(lengths: Lengths, base: Outcome) -> bool:
    """Whether no length is longer than in a replay, and those of its critical path are as long."""
    before, edges, chain = base.replay.lengths, base.replay.graph.edges, base.chain
    nodes = np.append(edges.source[chain], base.pace.last)
    return (
        _keeps(lengths.duration, before.duration, nodes)
        and _keeps(lengths.lag, before.lag, chain)
        and _keeps(lengths.pause, before.pause, edges.target[chain])
    )


def _keeps(now: Nanoseconds, before: Nanoseconds, rows: Int) -> bool:
    """Whether no length is longer than before, and those of some rows are as long."""
    return now is before or bool((now[rows] == before[rows]).all() and (now <= before).all())
