"""What the analysis makes of a trace, and what it finds wrong with one."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
from invariants.case import Case
from invariants.registry import Of, invariant
from support.plain_waits import contradictions

from tb_hookview.analysis.device import kinds
from tb_hookview.analysis.device.kinds import capability_by_kernels
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.memory.live import MemoryClass
from tb_hookview.arrays import intervals
from tb_hookview.arrays.nesting import ROUNDING_NS

RANGES_ALONE = "hta_a100_cupti_ranges"
"""77 calls of `cudaLaunchKernel`, and ranges of CUPTI's range profiler instead of kernels."""
TORCHSCRIPT = "hta_cpu_only_rank34"
"""A node of a graph of TorchScript has the number of an operator that makes none."""
WITHOUT_FORWARD = (
    "deepseek_h800_dualpipe",
    "hta_backward_thread_tiny",
    "hta_compare_test",
    "hta_cpu_only_rank34",
    "hta_sampled",
)
"""Some of their nodes were made before the recording, or by rows that were taken out."""


@invariant()
def idle_time_is_what_no_device_event_covers(case: Case) -> None:
    gaps, work = case.analysis.gaps, case.analysis.device_events
    windows = case.analysis.steps.window
    devices = np.unique(work.device)
    idle = (windows[:, 1] - windows[:, 0]) * len(devices)
    for device in devices:
        mine, busy = gaps.device == device, work.device == device
        assert (gaps.start[mine] < gaps.end[mine]).all()
        assert (gaps.end[mine][:-1] <= gaps.start[mine][1:]).all()
        time = intervals.of(work.start[busy], work.end[busy])
        assert not len(intervals.intersect(time, intervals.of(gaps.start[mine], gaps.end[mine])))
        idle = idle - intervals.lengths_within(time, windows)
    assert np.array_equal(sum(gaps.within(windows).values()), idle)
    inside = intervals.lengths_within(
        intervals.normal(windows), np.stack([gaps.start, gaps.end], axis=1)
    )
    assert np.array_equal(inside, np.where(case.analysis.gap_step >= 0, gaps.duration, 0))


@invariant()
def syncs_are_charged_for_the_gaps_they_caused_and_no_more_than_they_took(case: Case) -> None:
    gaps, syncs = case.analysis.gaps, case.analysis.syncs
    charged = gaps.by_sync(len(syncs))
    devices = len(np.unique(case.analysis.device_events.device))
    assert charged.sum() == gaps.duration[gaps.cause == Cause.SYNC].sum()
    assert (charged <= (syncs.end - syncs.start) * max(devices, 1)).all()
    assert not charged[syncs.by_profiler].any()


@invariant()
def every_device_event_has_a_kind(case: Case) -> None:
    found = case.analysis.kinds
    assert len(found.kind) == len(found.tensor_core) == len(case.analysis.device_events)
    assert np.isin(found.tensor_core, (-1, 0, 1)).all()


@invariant(Of.RECORDINGS)
def little_is_of_no_known_kind(case: Case) -> None:
    """MTIA's inference names its units, not its kernels; one toy trace spins on purpose."""
    if case.name.startswith(("hta_mtia_inference", "hta_a100_event_sync.")):
        return
    time = case.analysis.device_events.duration
    other = time[case.analysis.kinds.kind == kinds.OTHER].sum() / max(time.sum(), 1)
    assert other <= 0.02, f"{other:.1%} of device time is of no known kind"


@invariant(Of.RECORDINGS)
def no_kernel_is_newer_than_its_device(case: Case) -> None:
    trace, events = case.trace, case.analysis.device_events
    listed = [device.capability for device in trace.devices if device.capability]
    latest = max(listed, default=(10, 9)) if trace.runtime == "cuda" else (0, 0)
    for device in events.busy:
        assert capability_by_kernels(trace, events, device) <= latest


@invariant(Of.RECORDINGS)
def every_numbered_node_has_the_operator_that_made_it(case: Case) -> None:
    """Of torch 1.8 to 2.x; arrows between the two agree where present."""
    nodes = case.analysis.nodes
    numbered = case.analysis.host.sequence[nodes.row] >= 0
    if case.name.startswith(TORCHSCRIPT):
        return
    if not case.name.startswith(WITHOUT_FORWARD):
        assert (nodes.by_sequence[numbered] >= 0).all()
    assert not (nodes.by_sequence[~numbered] >= 0).any()
    pointed = nodes.by_flow >= 0
    assert np.array_equal(nodes.by_flow[pointed], nodes.by_sequence[pointed])


@invariant(Of.RECORDINGS)
def clocks_agree_but_for_what_loops_over_the_file_s_rows_find(case: Case) -> None:
    """Of CUDA and HIP; a difference is tolerated from there on."""
    found, clocks = _faults(case), case.analysis.clocks
    before, after = contradictions(case.events)
    assert ("before-launch" in found, "after-sync" in found) == (before > 1, after > 1)
    assert clocks.skew == max(ROUNDING_NS, round(1000 * before), round(1000 * after))
    assert "clock-jump" not in found


@invariant(Of.RECORDINGS)
def device_rows_are_possible_and_complete(case: Case) -> None:
    found = _faults(case)
    impossible = {"impossible-length", "overlap", "lost-at-start", "lost-in-between"} & found.keys()
    assert not impossible
    assert ("lost-at-end" in found) == case.name.startswith("hta_compare_test")
    assert ("no-device-events" in found) == case.name.startswith(RANGES_ALONE)


@invariant(Of.RECORDINGS)
def numbers_link_what_belongs_together(case: Case) -> None:
    found = _faults(case)
    contradictions = {"external-id", "shared-number", "later-record"} & found.keys()
    assert not contradictions
    # Files of 2023 and before have calls of collectives, and no details of any.
    trace = case.trace
    named = [trace.strings[name] for name in trace.events.name.tolist()]
    silent = named.count("record_param_comms") - len(trace.collectives)
    assert found.get("silent-collective", 0) == silent


def _faults(case: Case) -> dict[str, int]:
    return {fault.code: fault.count for fault in case.analysis.faults}


CHECKED_BY_TORCH = {
    "_check_gpu_kernel_causality": "before-launch",
    "_check_nccl_metadata": "silent-collective",
    "_check_stream_wait_corr_id_in_past": "later-record",
    "_check_backward_seq_id_uniqueness": "shared-number",
}
"""What torch's own validator looks for, too; reliability.md says in what the two differ."""
_CORRELATION = re.compile(r"correlation=(\d+)")
"""Two numbers in a message are a launch and a kernel of another one, in the same operator."""
_NO_FAULTS = {"_check_stream_sync_overlap", "_check_stream_wait_corr_id_populated"}
"""Kernels that run when a sync begins, as a sync is for; and waits as CUDA 13 has them."""


@invariant(Of.RECORDINGS)
def faults_are_those_that_torch_s_validator_finds(case: Case) -> None:
    if (rules := _rules_of_torch()) is None:
        return
    events = [event for event in case.events if event.get("ph") == "X"]
    by_torch = Counter(
        CHECKED_BY_TORCH[found.rule_name]
        for rule in rules
        if rule.__name__ not in _NO_FAULTS
        for found in rule(events)
        if len(set(_CORRELATION.findall(found.message))) < 2
    )
    same = set(CHECKED_BY_TORCH.values())
    assert {code: n for code, n in _faults(case).items() if code in same} == by_torch


@cache
def _rules_of_torch() -> list[Callable[[list[Any]], list[Any]]] | None:
    """The validator's functions, without the seconds that importing torch takes."""
    torch = find_spec("torch")
    home = Path(torch.origin).parent if torch and torch.origin else Path()
    spec = spec_from_file_location("trace_validator", home / "profiler" / "_trace_validator.py")
    assert spec is not None
    assert spec.loader is not None
    validator = module_from_spec(spec)
    sys.modules[spec.name] = validator  # its dataclass looks itself up
    try:
        spec.loader.exec_module(validator)
    except FileNotFoundError:  # no torch, or one that has none yet
        return None
    return list(validator._RULES)


@invariant(Of.RECORDINGS)
def live_bytes_of_all_classes_sum_to_what_is_allocated(case: Case) -> None:
    if (memory := case.analysis.memory) is None or not memory.addresses_known:
        return
    at = np.arange(len(memory.events))
    of = {kind: memory.live.of(kind, at) for kind in MemoryClass}
    assert np.array_equal(sum(of.values()), np.maximum(memory.events.allocated, 0))
    assert np.array_equal(
        of[MemoryClass.UNKNOWN], memory.live.born(memory.kind == MemoryClass.UNKNOWN, at)
    )
    assert all((live >= 0).all() for live in of.values())
