"""The bottleneck of a step, in figures and one sentence of at most 25 words."""

from __future__ import annotations

import numpy as np
from msgspec.structs import asdict, replace

from tb_hookview import schema
from tb_hookview.analysis.compiled.graphs import is_compiled
from tb_hookview.analysis.device.events import of_graph
from tb_hookview.analysis.host.rows import Role
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.loaders import SINGLE
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.formats import format_per, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.parts import recur
from tb_hookview.rules.evidence.cuda_graphs import CAPTURES, captured_share
from tb_hookview.rules.evidence.host import LONG_NS
from tb_hookview.rules.evidence.traffic import waits_for_ranks
from tb_hookview.schema import Phase
from tb_hookview.simulation.alone import DEVICE_SIDE, HOST_SIDE, Alone
from tb_hookview.simulation.recording_cost import timed_unrecorded
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.trace.source.inflate import CUT

_QUEUED = (
    "Unknown: for {:.0%} of the time the device ran what was launched before. Record more steps, "
    "or choose others."
)
_APART = 0.1
"""Share of the step, longer than each side by that, from which on the sentence gives the reason."""
_MUCH = 0.25
_MOST = 0.5
"""Share of the launches from which on the device's part is not what these steps show."""
_FAR = 0.2
"""Part by which one of two sides is shorter from which on nobody calls them even."""
_NEARLY_ALL = 0.8
"""Part of the idle time from which on one cause is what to begin with."""
_MERGED = "Unknown: several processes mark steps in this file. Write one file per process."
_NOT_IN_A_ROW = "Unknown: other steps lie between the chosen ones. Choose steps in a row."
_NO_STEPS = "Unknown: no complete step with launches was recorded."
_NO_LAUNCHES = "Unknown: too few device events have their launches in the trace for a replay."
FAILED = "Unknown: the replay failed on this trace."
_REMEDIES = {
    "data": "Use more workers to load data.",
    "device": "Reduce device work first.",
    "communication": "Overlap it, send less, or balance ranks.",
    "even": "Speeding up only one saves little.",
}
_EARLIER = "Work launched before takes {} more."
_BALANCE = "Collectives mostly wait for other ranks: compare them."
_HOST_REMEDIES = {
    "work": "Most of it is work between launches.",
    "setup": "Most of it may be setup: mark the steps.",
    "launch": "Launch less: use torch.compile or CUDA graphs.",
    "compiled": "Launch less: use CUDA graphs.",
    "replayed": "Launch less outside of CUDA graphs.",
    "allocator": "The device idles for allocation: reuse or save memory.",
    "copy": "The device idles for copies: pin memory, copy asynchronously.",
    "communication": "Most of it waits for collectives: compare the ranks.",
}
"""By the longest of these causes of idle time; `work`, and `setup` where no step is marked and some
quarter of the trace has next to none, is the part of `launch` in gaps that are too long for any
number of launches (`setup` also that of `allocator` in which caching allocators grow, and that of
`launch` in which code is compiled, where no step is marked); `compiled` is `launch` where code is
compiled already, `replayed` where graphs run or are recorded in the steps. Kernel loading is none
of them, as it is in no length."""
_IN_A_CALL = ("allocator", "copy")
"""Those in which the host is in one call."""
_NO_TURNS = (*_IN_A_CALL, "communication")
"""Those in which host and device do not wait for each other's work."""
_NOT_THE_HOST = ("communication", "device", "kernel_loading", "profiler", "unknown")
"""Causes of idle time without work of the host that recurs."""
_ON_CPU = "The model runs on the CPU."
_SHORTER = 0.05
"""Part by which a step has to be shorter without recording to be worth a sentence."""
_OFF = 0.01
"""Part of a replay by which it is off from which on that is said."""
_WAITS = "; collectives as recorded, waits for other ranks included"
_QUICKER = " Steps without it took at most {}: they did less, or waited less."
_AHEAD = (
    "Work for {} was queued as the recording began, more than a step's: the host was quicker until "
    "then."
)
_BEYOND = 0.01
"""Part by which the estimate is longer than these from which on that is said."""
_BOUND: dict[schema.Bound, str] = {
    "host": "host-bound",
    "data": "data-loading-bound",
    "device": "device-bound",
    "communication": "communication-bound",
    "even": "host and device even",
    "unknown": "bottleneck unknown",
}
_OVERLAP = "They wait for each other: overlap them."
_BLOCKING = "Launches wait for their kernels: unset CUDA_LAUNCH_BLOCKING."
_SETUP_WAITS = "Most of the waiting may be setup: mark the steps."
_IN_PART = "They overlap only in part: overlap them more."
_ADDS = "{} adds {} once: warm up first."
_IN_SETUP = "Most may be setup ({} of {}): warm up."
_COMPILES = " {} of that is compilation: warm up."
_ONE_BATCH = "Its only batch may be setup."
_OF_MANY = (_OVERLAP, *(_HOST_REMEDIES[cause] for cause in ("launch", "compiled", "replayed")))
_MANY = 10
"""Launches in a trace without steps below which these are no remedy: it shows a snippet."""
_DELAYS = "Unexplained delays add to that."
_UNKNOWN_IDLE = "Why the device idles is unknown."
_TRUNCATED = "Unknown: the file is truncated, and what the device did may be missing."

_CAPTURED = (
    "Unknown: most launches ({:.0%}) were captured into a graph that is not replayed here. Record "
    "steps that replay it."
)


def unknown_verdict(sentence: str) -> schema.Verdict:
    """The verdict on steps that are not replayed."""
    return schema.Verdict(
        bound="unknown",
        sentence=sentence,
        step_us=None,
        host_us=None,
        device_us=None,
        communication_us=None,
        data_us=None,
        host_side_us=None,
        device_side_us=None,
        margin_us=None,
        once_us=None,
    )


def find_verdict(alone: Alone, idle: schema.Idle | None) -> schema.Verdict:
    """Name the bottleneck of a step.

    Args:
        alone: replays of the steps.
        idle: mean idle time of their devices by cause.
    """
    simulator = alone.simulator
    if simulator.refused:
        return unknown_verdict(_refusal(simulator))
    each, collectives, analysis = alone.each, alone.communication_known, simulator.analysis
    found = schema.Verdict(
        bound=alone.bound,
        sentence="",
        step_us=simulator.recorded.step / 1000,
        host_us=each["host"] / 1000,
        device_us=each["device"] / 1000 if alone.has_events else None,
        communication_us=each["communication"] / 1000 if collectives else None,
        data_us=each["data"] / 1000 if analysis.phases.known[Phase.DATA] else None,
        host_side_us=alone.host_side / 1000,
        device_side_us=alone.device_side / 1000 if collectives else None,
        margin_us=alone.margin / 1000,
        once_us=(simulator.loading + simulator.starting) / 1000,
        later_step_us=simulator.later.pace.step / 1000 if simulator.later else None,
    )
    marked, words = analysis.steps.marked, _Sentence(found, alone)
    if unknown := _why_unknown(alone, words):
        found = replace(found, bound="unknown", sentence=unknown)
        if (base := simulator.unrecorded) is None:
            return found
        step = base.pace.step / 1000
        return replace(found, unrecorded_step_us=step, unrecorded_bound="unknown")
    waits = _host_causes(alone, idle, marked=marked)
    found = replace(found, sentence=words.text(waits, alone.unexplained / 1000))
    return _with_unrecorded(found, alone, marked=marked)


def _once(simulator: Simulator) -> str:
    """What happens once in the steps: kernel loading, worker startup, or both."""
    if simulator.starting:
        return "loading" if simulator.loading else "worker startup"
    return "kernel loading"


def _waits_for_ranks(alone: Alone) -> bool:
    """Whether the steps are long for waits in collectives."""
    bound = alone.bound == "communication"
    return bound and waits_for_ranks(Context(alone.simulator.selection, ()))


def _refusal(simulator: Simulator) -> str:
    if simulator.analysis.of_another_recorder:
        return schema.NOT_TORCHS
    if simulator.window.processes > 1:
        return _MERGED
    if not simulator.window.in_a_row:
        return _NOT_IN_A_ROW
    return _NO_LAUNCHES if simulator.window.steps else _NO_STEPS


def _why_unknown(alone: Alone, words: _Sentence) -> str:
    """Sentence on what of the device the steps lack, "" where that leaves no bottleneck open."""
    if lost := _without_events(alone):
        return words.without_events(lost)
    if _lacks_the_end(alone):
        return _TRUNCATED
    if (captured := _captured(alone)) > _MOST:
        return _CAPTURED.format(captured)
    if runs_earlier_work(alone):
        return _QUEUED.format(_before(alone) / alone.simulator.recorded.step)
    return ""


def _without_events(alone: Alone) -> str:
    """Clause on launches without device events, "" where they leave no bottleneck open."""
    if alone.bound in ("device", "communication"):
        return ""
    lost = alone.simulator.lost_launches
    much = lost.share >= _APART
    if not much and not _may_decide(alone, lost.time):
        return ""
    what = "the recording ended before the device ran"
    if not lost.at_end:
        what = "the profiler lost the device events of"
    part = (
        f"{lost.share:.0%} of the launches"
        if much
        else f"work of about {format_us(lost.time / 1000)}"
    )
    return f"{what} {part}"


def _may_decide(alone: Alone, lost: float) -> bool:
    """Whether another bottleneck may decide with device time that was lost, nanoseconds."""
    each = lost / len(alone.simulator.window.steps)
    margin = alone.margin if alone.bound == "even" else -alone.margin
    longer = alone.device_side + each > alone.host_side + margin
    return alone.bound != "unknown" and each > alone.margin and longer


def _lacks_the_end(alone: Alone) -> bool:
    """Whether the device may decide by what the file lacks: Kineto writes launches after operators.

    Where it lacks some, operators go on long after the last launch.
    """
    analysis, window = alone.simulator.analysis, alone.simulator.window
    is_cut = any(notice.code in CUT for notice in analysis.trace.notices)
    if not is_cut or not alone.has_events or alone.bound in (*DEVICE_SIDE, "unknown"):
        return False
    launch = analysis.device_events.launch
    last = analysis.call_tree.end[launch[launch >= 0]].max(initial=window.start)
    return bool(window.host_end - last > _APART * (window.host_end - window.start))


def _captured(alone: Alone) -> float:
    """Share of the launches that run only where a graph is replayed, 0 if device-bound anyway."""
    window = alone.simulator.window
    if alone.bound in DEVICE_SIDE:
        return 0.0
    return captured_share(alone.simulator.analysis, window.start, window.host_end)


def runs_earlier_work(alone: Alone) -> bool:
    """Whether the device ran earlier work so long that a replay of the host alone says nothing."""
    if alone.simulator.refused or alone.bound not in (*HOST_SIDE, "even"):
        return False
    return _before(alone) > _FAR * alone.simulator.recorded.step


def _before(alone: Alone) -> float:
    """Time of a step in which the device ran what was launched before all of them, nanoseconds."""
    analysis, window = alone.simulator.analysis, alone.simulator.window
    ran = analysis.device_events.time_of(window.events[window.history])
    steps = intervals.of(np.array([window.start]), np.array([window.host_end]))
    return intervals.length(intervals.intersect(ran, steps)) / len(window.steps)


def _host_causes(alone: Alone, idle: schema.Idle | None, *, marked: bool) -> dict[str, float]:
    """Mean idle time of the devices for which the host is the reason, microseconds, by cause."""
    if idle is None:
        return {}
    times: dict[str, float] = {cause: us or 0.0 for cause, us in asdict(idle).items()}
    analysis, steps = alone.simulator.analysis, alone.simulator.window.steps
    gaps = analysis.gaps
    idle_ns = analysis.idle_within(steps) if marked else analysis.idle_around
    long = idle_ns >= LONG_NS
    mine = isin(analysis.gap_step, steps)
    long &= (gaps.cause == Cause.LAUNCH) & mine & ~analysis.idle_compiling
    work = float(gaps.duration[long].sum()) / 1000 / len(steps)
    grown = analysis.idle_once & (gaps.cause == Cause.ALLOCATOR) & mine
    once = float(gaps.duration[grown].sum()) / 1000 / len(steps)
    compiling = float(gaps.duration[analysis.idle_compiling & mine].sum()) / 1000 / len(steps)
    window = analysis.steps.window[0]
    recurs = marked or recur(gaps.start[long], gaps.duration[long], window)
    compiled = any(map(is_compiled, analysis.trace.strings.texts))
    times["launch"] -= work + compiling
    times["allocator"] -= once
    if _has_graphs(alone):
        times["replayed"] = times.pop("launch")
    elif compiled:
        times["compiled"] = times.pop("launch")
    times |= {"work": 0.0, "setup": 0.0 if marked else once + compiling}
    times["work" if recurs else "setup"] += work
    return times


def _has_graphs(alone: Alone) -> bool:
    """Whether the steps have device events of CUDA or HIP graphs, or any graph is recorded."""
    analysis, steps = alone.simulator.analysis, alone.simulator.window.steps
    mine = np.flatnonzero(isin(analysis.device_event_step, steps))
    replays = of_graph(analysis.host, analysis.device_events, mine).any()
    return bool(replays or len(analysis.host.named(lambda name: name.startswith(CAPTURES))))


def _host_waits(simulator: Simulator) -> float:
    """Mean time in which the host waits for what it launched or sent, nanoseconds per step."""
    times, steps = simulator.analysis.step_times, list(simulator.window.steps)
    waits = (times.sync_blocked, times.queue_full, times.communication_wait)
    return sum(float(each[steps].mean()) for each in waits if each is not None)


def _launches_block(simulator: Simulator) -> bool:
    """Whether launches that wait for what they launched hold the host for much of the steps."""
    calls, window = simulator.analysis.call_times, simulator.window
    mine = isin(calls.row, calls.blocking_launch)
    start = simulator.analysis.call_tree.start[calls.row]
    mine &= (start >= window.start) & (start < window.host_end)
    waited = (calls.waited + calls.transfer)[mine].sum()
    return bool(waited > _APART * (window.host_end - window.start))


def _loads_one_batch(alone: Alone) -> bool:
    """Whether loaders with workers, which begin to run then, give one batch in all."""
    host = alone.simulator.analysis.host
    loads = np.flatnonzero(host.role == Role.DATA)
    return len(loads) == 1 and SINGLE not in host.name(int(loads[0]))


def _with_unrecorded(found: schema.Verdict, alone: Alone, *, marked: bool) -> schema.Verdict:
    """The verdict with that on steps which are not recorded."""
    base, other = alone.simulator.unrecorded, alone.unrecorded
    if base is None or other is None:
        return found
    step, replayed = base.pace.step / 1000, alone.simulator.unchanged.step / 1000
    shorter = step < (1 - _SHORTER) * replayed
    unrecorded_bound = _unrecorded_bound(found, other)
    bound = _BOUND[unrecorded_bound] if unrecorded_bound != found.bound else ""
    waits = _WAITS if other.each["communication"] > _MUCH * base.pace.step else ""
    sentence = None
    if shorter:
        when = format_per(marked)
        off = abs(replayed - (found.step_us or 0.0)) > _OFF * replayed
        with_it = f" than in a replay with it ({format_us(replayed)})" if off else ""
        figures = f"{format_us(step)} {when}, {1 - step / replayed:.0%} less{with_it}"
        sentence = f"Without the profiler (estimate): {figures}{bound and f', {bound}'}{waits}."
    elif bound and unrecorded_bound == other.bound:
        sentence = f"Without the profiler (estimate): {bound}."
    _, most = timed_unrecorded(alone.simulator.analysis.trace.manifest)
    if sentence and step > (1 + _BEYOND) * most / 1000:
        sentence += _QUICKER.format(format_us(most / 1000))
    if found.bound in HOST_SIDE and (ahead := _ahead(alone)) > alone.device_side:
        sentence = " ".join(filter(None, (sentence, _AHEAD.format(format_us(ahead / 1000)))))
    return replace(
        found,
        unrecorded_step_us=step,
        unrecorded_bound=unrecorded_bound,
        unrecorded_sentence=sentence,
    )


def _unrecorded_bound(found: schema.Verdict, other: Alone) -> schema.Bound:
    """What decides a step that is not recorded, by the replay of one.

    One rank does not show what of its collectives is waiting for hosts that recording slowed down.
    """
    bound = other.bound
    return "unknown" if bound == "communication" != found.bound else bound


def _ahead(alone: Alone) -> int:
    """Time for which the device ran what was queued before the recording, nanoseconds.

    A host that decides the length of a step has next to nothing queued.
    """
    analysis = alone.simulator.analysis
    return intervals.length(analysis.device_events.time_of(analysis.timing.queued_before))


class _Sentence:
    """Words for one verdict."""

    def __init__(self, found: schema.Verdict, alone: Alone) -> None:
        simulator, analysis = alone.simulator, alone.simulator.analysis
        marked, launch = analysis.steps.marked, analysis.device_events.launch
        once = simulator.unchanged.step - simulator.steady.pace.step
        self._found, self._when = found, format_per(marked)
        self._once, self._one_batch = _once(simulator), not marked and _loads_one_batch(alone)
        self._is_snippet = not marked and len(unique(launch[launch >= 0])) < _MANY
        self._launches_block = _launches_block(simulator)
        self._lacks_events = simulator.lost_launches.share >= _APART
        waits_for_ranks = _waits_for_ranks(alone)
        self._remedies = _REMEDIES | ({"communication": _BALANCE} if waits_for_ranks else {})
        # In which the device ran earlier work.
        self._before = 0.0 if marked else _before(alone) / 1000
        self._launched_elsewhere = len(launch) > 0  # where these steps have no device event
        # A step in which nothing happens that happens once.
        self._later = (simulator.recorded.step - once) / 1000
        self._queued = alone.queued / 1000  # before the first event of a stream
        self._waited = _host_waits(simulator) / 1000  # for the device, or for other ranks
        # No part of a later step.
        self._compiling = 0.0 if marked else intervals.length(analysis.compile_time) / 1000
        self._host, self._device = format_us(found.host_side_us), format_us(found.device_side_us)
        self._loads = self._counts(found.data_us)
        self._communicates = self._counts(found.communication_us)

    def _counts(self, us: float | None) -> bool:
        return bool(us) and (us or 0.0) > (self._found.margin_us or 0.0)

    def text(self, waits: dict[str, float], unexplained_us: float) -> str:
        """The sentence, by what devices wait for and the unexplained delays."""
        found, when = self._found, self._when
        if found.bound == "unknown":
            return self._unknown()
        if found.bound == "even":
            what = f"{self._all_even() or self._even()} {when}."
        else:
            what = f"{self._bound()} {when}{self._other()}."
        remedy = _BLOCKING if self._launches_block else self._remedy(waits, unexplained_us)
        if self._lacks_events and found.bound in self._remedies:
            remedy = self._remedies[found.bound]  # who waits for what is not in the trace is open
        if remedy == _REMEDIES["device"] and self._before > _FAR * (found.step_us or 0.0):
            remedy = _EARLIER.format(format_us(self._before))
        no_remedy = self._is_snippet and remedy in _OF_MANY
        return f"{what} {_HOST_REMEDIES['setup'] if no_remedy else remedy}"

    def _all_even(self) -> str:
        """The three resources, where each alone takes nearly as long as the longer side."""
        found = self._found
        device, communication = found.device_us or 0.0, found.communication_us or 0.0
        each = (found.host_side_us or 0.0, device, communication)
        longer = max(found.host_side_us or 0.0, found.device_side_us or 0.0)
        if min(each) < (1 - _FAR) * longer or self._loads:
            return ""
        times = f"device {format_us(device)}, communication {format_us(communication)}"
        return f"Nearly even: host {self._host}, {times}"

    def _even(self) -> str:
        """How near the two sides are to each other."""
        found = self._found
        shorter, longer = sorted((found.host_side_us or 0.0, found.device_side_us or 0.0))
        other = "communication" if found.device_us is None else "device"
        if shorter < (1 - _FAR) * longer:
            what = f"Neither host nor {other} decides alone"
        else:
            nearly = "nearly " if longer - shorter > (found.margin_us or 0.0) else ""
            what = f"Host and {other} are {nearly}even"
        return f"{what}: {self._host} and {self._device}"

    def _bound(self) -> str:
        """The bottleneck, and how long its side takes."""
        host, device, bound = self._host, self._device, self._found.bound
        if bound == "host":
            takes = "host and data loading take" if self._loads else "the host takes"
        elif bound == "data":
            takes = "loading and host work take"
        elif bound == "device":
            takes = "device and communication take" if self._communicates else "the device takes"
        else:
            others = " and device work" if self._found.device_us else ""
            takes = f"collectives{others} take"
        device = f"at least {device}" if self._lacks_events else device
        time = host if bound in ("host", "data") else device
        return f"{_BOUND[bound].capitalize()}: {takes} {time}"

    def _other(self) -> str:
        """How long the other side takes."""
        if self._found.bound in ("device", "communication"):
            return f", {'host and loading' if self._loads else 'the host'} {self._host}"
        if not self._found.device_side_us:
            return ""
        name = "device and communication" if self._communicates else "the device"
        if self._found.device_us is None:
            name = "communication"
        return f", {name} {self._device}"

    def _remedy(self, waits: dict[str, float], unexplained_us: float) -> str:
        """What would have to change."""
        found = self._found
        if self._compiles() and found.bound in ("host", "even"):
            return _IN_SETUP.format(format_us(self._compiling), "compilation")
        step = self._later - self._queued
        longer = max(found.host_side_us or 0, found.device_side_us or 0)
        if self._loads_kernels(waits):
            setup = 2 * waits.get("setup", 0.0) > (found.host_side_us or 0.0)
            loading = format_us(found.once_us)
            if setup and found.bound == "host":
                return _IN_SETUP.format(loading, self._once)
            return _ADDS.format(self._once.capitalize(), loading)
        if found.bound in ("data", "communication"):
            return _ONE_BATCH if self._one_batch else self._remedies[found.bound]
        apart, delays = step - longer, unexplained_us - self._queued
        remedy = _apart(waits) if apart > _APART * step else ""
        if remedy == _OVERLAP and (2 * self._waited < apart or (waits and delays > _turns(waits))):
            remedy = ""  # the host ran ahead
        most_delays = apart > _APART * step and 2 * delays > apart
        if (remedy in ("", _OVERLAP) and delays > _APART * step) or (not remedy and most_delays):
            return _DELAYS
        if remedy:
            setup = remedy == _OVERLAP and 2 * waits.get("setup", 0.0) > sum(waits.values())
            of_setup = _HOST_REMEDIES["setup"] if found.bound == "host" else _SETUP_WAITS
            return of_setup if setup else remedy
        if found.bound == "host":
            host = found.host_side_us or 0.0
            return _ON_CPU if found.device_us is None else _host_remedy(waits, host)
        if found.bound == "even" and step - longer > _APART * step:
            return _IN_PART
        return _REMEDIES[found.bound]

    def _compiles(self) -> bool:
        """Whether the host mostly compiles."""
        return 2 * self._compiling > (self._found.host_side_us or 0.0)

    def _loads_kernels(self, waits: dict[str, float]) -> bool:
        """Whether kernel loading makes a step longer than it is later: by over a quarter, or by
        over a tenth where the devices wait for nothing as long."""
        step, loading = self._found.step_us or 0.0, waits.get("kernel_loading", 0.0)
        longest = loading >= max(waits.values(), default=0.0)
        return step - self._later > (_APART if longest else _MUCH) * step

    def without_events(self, lost: str) -> str:
        """The sentence where the trace does not have the device's part of much of the launches."""
        takes = "host and data loading take" if self._loads else "the host takes"
        return f"Unknown: {lost}; {takes} {self._host} {self._when}."

    def _unknown(self) -> str:
        found, when = self._found, self._when
        if found.device_us is not None:
            return (
                f"Unknown: unexplained delays are longer than the device's {self._device} and the "
                f"host's {self._host} {when}."
            )
        needs = [f"the host takes {format_us(found.host_us)} {when}"]
        needs += [f"communication {self._device}"] if found.communication_us else []
        needs += [f"data loading {format_us(found.data_us)}"] if self._loads else []
        where = "the selected steps launched" if self._launched_elsewhere else "the trace has"
        compiles = _COMPILES.format(format_us(self._compiling)) if self._compiles() else ""
        return f"Unknown, because {where} no device events: {', '.join(needs)}.{compiles}"


def _turns(waits: dict[str, float]) -> float:
    """Idle time of the devices in which the host worked, or came back from waiting for them."""
    return sum(us for cause, us in waits.items() if cause not in _NOT_THE_HOST)


def _apart(waits: dict[str, float]) -> str:
    """What would shorten a step that is longer than either side, by what the devices wait for."""
    longest = _longest(waits)
    part = _NEARLY_ALL if longest in _IN_A_CALL else 0.5
    decides = waits.get(longest, 0.0) > part * sum(waits.values())
    return _HOST_REMEDIES[longest] if decides and longest in _NO_TURNS else _OVERLAP


def _host_remedy(waits: dict[str, float], host_us: float) -> str:
    """What would shorten the host's work, by what the devices wait for."""
    longest = _longest(waits)
    time, unknown = waits.get(longest, 0.0), waits.get("unknown", 0.0)
    # What is unknown may be setup, too.
    most = longest != "setup" and 2 * unknown > sum(waits.values())
    if most or (time < _APART * host_us and unknown and unknown == max(waits.values())):
        return _UNKNOWN_IDLE
    return _HOST_REMEDIES[longest]


def _longest(waits: dict[str, float]) -> str:
    """The cause with a remedy that is waited for the longest; "most" of it has to be so."""
    order = ["launch", *_HOST_REMEDIES]  # the first of equals
    if 2 * waits.get("communication", 0.0) <= sum(waits.values()):
        order.remove("communication")
    return max(order, key=lambda cause: waits.get(cause, 0.0))
