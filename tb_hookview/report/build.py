"""Build the report: sums of an analysis over a selection, in microseconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec.structs import replace

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.breakdown import find_breakdown
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.analysis.flops.peaks import name_of
from tb_hookview.analysis.host.rows import Call, node_name
from tb_hookview.analysis.modules.attribution import EVIDENCE, REASONS
from tb_hookview.analysis.modules.tree import ORIGINS
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Bool, Int, Nanoseconds, TreeRow, to_us
from tb_hookview.isolation import Failures, is_strict
from tb_hookview.report.device_advice import device_advice
from tb_hookview.report.open_trace import OpenTrace
from tb_hookview.report.per_step import mean_idle, per_step
from tb_hookview.report.result import Report, path_as_text
from tb_hookview.report.tables.compiled import compiled_region_rows, compiled_summary
from tb_hookview.report.tables.critical_path_work import critical_path_work_rows
from tb_hookview.report.tables.devices import breakdown_rows, device_rows, stream_rows
from tb_hookview.report.tables.host import allocation_rows, operator_rows, thread_rows
from tb_hookview.report.tables.kernels import kernel_rows
from tb_hookview.report.tables.memory import (
    memory_module_rows,
    memory_operator_rows,
    memory_peak_rows,
    out_of_memory_rows,
)
from tb_hookview.report.tables.modules import by_name_of_kind, module_rows
from tb_hookview.report.tables.recorder_share import recorder_share, recording
from tb_hookview.report.tables.syncs import sync_rows
from tb_hookview.report.tables.warnings import (
    Contradiction,
    contradiction_rows,
    failure_rows,
    ours,
    warning_rows,
    without_contradictions,
)
from tb_hookview.report.verdict import FAILED, find_verdict, runs_earlier_work, unknown_verdict
from tb_hookview.rules.diagnosis import Diagnosis, diagnose
from tb_hookview.schema import KINDS, Phase, ReportData
from tb_hookview.simulation.alone import Alone
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.tables.events.names import first_events

RowType = TypeVar("RowType")


def build_report(analysis: Analysis, steps: Sequence[str] | None = None) -> Report:
    """Sum an analysis up, over the whole trace or over the steps named.

    Raises:
        NotFoundError: the trace has no step of that name.
    """
    return OpenTrace(lambda: analysis).report(steps)


class Decided(NamedTuple):
    """What replays and rules say about the measured steps."""

    diagnosis: Diagnosis
    verdict: schema.Verdict
    path: list[schema.PathWork]


def decide(selection: Selection) -> Decided:
    """Replay the measured steps of a selection, and ask all rules about them."""
    rows, averaged = selection.step_rows, selection.averaged
    means = rows if averaged is selection else [rows[step] for step in averaged.steps]
    idle = mean_idle(means)
    alone, failures = Alone(selection.derived(Simulator)), Failures()
    verdict = failures.attempt(
        "the verdict", partial(find_verdict, alone, idle), unknown_verdict(FAILED)
    )
    no_path: list[schema.PathWork] = []
    path = failures.attempt("table critical_path_work", partial(_path, alone), no_path)
    return Decided(diagnose(selection, alone, failures), verdict, path)


def _path(alone: Alone) -> list[schema.PathWork]:
    return [] if runs_earlier_work(alone) else critical_path_work_rows(alone.simulator)


def build_data(selection: Selection, decided: Decided) -> ReportData:
    """All rows over a selection. A table that fails on this trace is empty."""
    rows, diagnosis = selection.step_rows, decided.diagnosis
    failures = Failures(diagnosis.failures.found)

    def table(name: str, make: Callable[[Selection], list[RowType]]) -> list[RowType]:
        return failures.attempt(f"table {name}", partial(make, selection), [])

    totals = _totals(selection)
    no_kernels: tuple[list[schema.Kernel], schema.KernelsOmitted | None] = ([], None)
    breakdown = cache(partial(find_breakdown, selection.analysis))
    kernels, omitted = failures.attempt("table kernels", lambda: kernel_rows(selection), no_kernels)
    data = ReportData(
        schema=schema.SCHEMA_VERSION,
        trace=_trace_info(selection.analysis),
        totals=totals,
        steps=rows,
        modules=table("modules", module_rows),
        nodes=table("nodes", _nodes),
        syncs=table("syncs", partial(sync_rows, causes=diagnosis.causes)),
        allocations=table("allocations", allocation_rows),
        coverage=_coverage(selection),
        findings=diagnosis.findings,
        per_step=_means(selection, rows, totals),
        verdict=decided.verdict,
        critical_path_work=decided.path,
        recorder=failures.attempt("recorder", partial(recorder_share, selection), None),
        kernels=kernels,
        kernels_omitted=omitted,
        operators=table("operators", operator_rows),
        breakdown=table("breakdown", lambda chosen: breakdown_rows(chosen, breakdown())),
        devices=table("devices", lambda chosen: device_rows(chosen, breakdown())),
        streams=table("streams", stream_rows),
        threads=table("threads", thread_rows),
        memory_peaks=table("memory_peaks", memory_peak_rows),
        memory_modules=table("memory_modules", memory_module_rows),
        memory_operators=table("memory_operators", memory_operator_rows),
        out_of_memory=table("out_of_memory", out_of_memory_rows),
        compiled=failures.attempt("compiled", partial(compiled_summary, selection), None),
        compiled_regions=table("compiled_regions", compiled_region_rows),
    )
    return _with_warnings(data, selection.analysis, failures)


def _with_warnings(data: ReportData, analysis: Analysis, failures: Failures) -> ReportData:
    """The report with what puts in doubt the trace, and what of the report failed."""
    none: list[schema.TraceWarning] = []
    found = failures.attempt("data-quality warnings", lambda: warning_rows(analysis), none)
    contradictions: list[Contradiction] = []
    if not failures.found:  # sums of a table that is missing say nothing
        data, contradictions = without_contradictions(data)
        contradictions = ours(contradictions, found)
    if contradictions and is_strict():
        raise AssertionError(f"figures that cannot be: {contradictions}")
    warnings = [*failure_rows(failures), *contradiction_rows(contradictions), *found]
    data = replace(data, trace=replace(data.trace, warnings=warnings))
    devices = [each.name for each in analysis.trace.devices if each.name]
    return replace(data, device_advice=device_advice(data, devices))


def _means(selection: Selection, rows: list[schema.Step], totals: schema.Totals) -> schema.PerStep:
    averaged = selection.averaged
    if averaged is selection:
        return per_step(selection, rows, totals)
    return per_step(averaged, [rows[step] for step in averaged.steps], _totals(averaged))


def _trace_info(analysis: Analysis) -> schema.TraceInfo:
    trace = analysis.trace
    first, last = analysis.bounds
    manifest = trace.manifest
    return schema.TraceInfo(
        path=path_as_text(trace.path),
        format=trace.format,
        events=trace.event_count,
        start_us=to_us(first),
        duration_us=to_us(last - first),
        devices=_devices(analysis),
        rank=trace.rank,
        world_size=trace.world_size,
        torch_version=manifest.torch if manifest else None,
        recorder=manifest.content if manifest else None,
        warnings=[],
        recording=recording(manifest),
    )


def _devices(analysis: Analysis) -> list[schema.Device]:
    listed, runtime = analysis.trace.devices, analysis.trace.runtime or "device"
    return [
        schema.Device(str(device), name_of(listed, device), runtime)
        for device in unique(analysis.device_events.device).tolist()
    ]


def _totals(selection: Selection) -> schema.Totals:
    analysis = selection.analysis
    known = len(analysis.device_events.launches) > 0
    full = _chosen(selection, analysis.blocked_launches)
    waits = _chosen(selection, np.flatnonzero(analysis.calls == Call.DEVICE_WAIT))
    every = np.ones(len(analysis.device_events), bool)
    by_kind, by_phase = _by_kind(selection), _device_us_by_phase(selection, every)
    compute = analysis.kinds.kind != COMMUNICATION
    on_cores = analysis.kinds.tensor_core
    any_events = bool(len(analysis.device_events))
    by_profiler = selection.syncs & analysis.syncs.by_profiler
    syncs, syncs_known = analysis.syncs, analysis.syncs_known
    in_backward = analysis.phases.row[syncs.row] == Phase.BACKWARD
    backward_known = syncs_known and analysis.phases.known[Phase.BACKWARD]
    waited, transfer = (part[selection.syncs] for part in (syncs.waited, syncs.transfer))
    return schema.Totals(
        device_busy_us=_busy(selection),
        backward_device_us=by_phase[Phase.BACKWARD],
        forward_device_us=by_phase[Phase.FORWARD],
        optimizer_device_us=by_phase[Phase.OPTIMIZER],
        sync_count=int(selection.syncs.sum()) if syncs_known else None,
        sync_blocked_us=to_us(syncs.duration[selection.syncs].sum()) if syncs_known else None,
        backward_sync_count=int((selection.syncs & in_backward).sum()) if backward_known else None,
        device_wait_count=len(waits) if syncs_known else None,
        queue_full_count=len(full) if known else None,
        queue_full_us=to_us(analysis.call_tree.duration[full].sum()) if known else None,
        device_us_by_kind=by_name_of_kind([to_us(time) for time in by_kind]),
        communication_device_us=to_us(by_kind[COMMUNICATION]) if any_events else None,
        tensor_core_us=_device_us(selection, on_cores == 1) if any_events else None,
        tensor_core_unknown_us=_device_us(selection, on_cores < 0) if any_events else None,
        profiler_sync_count=int(by_profiler.sum()) if syncs_known else None,
        profiler_sync_us=to_us(syncs.duration[by_profiler].sum()) if syncs_known else None,
        sync_waited_us=to_us(waited.sum()) if any_events and syncs_known else None,
        sync_transfer_us=to_us(transfer.sum()) if any_events and syncs_known else None,
        forward_compute_us=_device_us_by_phase(selection, compute)[Phase.FORWARD],
        unplaced_graph_us=_device_us(selection, analysis.replayed_graphs.unplaced)
        if analysis.launches_known
        else None,
    )


def _chosen(selection: Selection, rows: TreeRow) -> TreeRow:
    """Those of some rows of the call tree that the selection has, as `Selection.rows`."""
    return rows[selection.times(selection.analysis.call_tree.start[rows])]


def _by_kind(selection: Selection) -> list[int]:
    """Time of the selected device events by kind, nanoseconds."""
    analysis, chosen = selection.analysis, selection.device_events
    kind, duration = analysis.kinds.kind[chosen], analysis.device_events.duration[chosen]
    return [int(time) for time in sum_by(kind, duration, len(KINDS))]


def _device_us(selection: Selection, wanted: Bool) -> float:
    """Time of some of the selected device events."""
    return to_us(selection.analysis.device_events.duration[selection.device_events & wanted].sum())


def _device_us_by_phase(selection: Selection, wanted: Bool) -> list[float | None]:
    """Time of device events by phase of their launch; None where launches or it are unknown."""
    analysis = selection.analysis
    if not analysis.launches_known:
        return [None] * len(Phase)
    chosen = selection.device_events & wanted
    launched = np.flatnonzero(chosen & (analysis.device_events.launch >= 0))
    phase = analysis.phases.row[analysis.device_events.launch[launched]]
    total = sum_by(phase, analysis.device_events.duration[launched], len(Phase))
    unknown = selection.unknown_phases
    return [None if lacks else to_us(ns) for ns, lacks in zip(total, unknown, strict=True)]


def _busy(selection: Selection) -> dict[str, float]:
    windows = selection.analysis.steps.window
    busy = {}
    for device, time in selection.analysis.device_events.busy.items():
        if selection.chosen is None:
            covered = intervals.length(time)
        else:
            covered = int(intervals.lengths_within(time, windows[list(selection.chosen)]).sum())
        busy[str(device)] = to_us(covered)
    return busy


def _nodes(selection: Selection) -> list[schema.Node]:
    """Autograd nodes by name, most expensive first."""
    analysis = selection.analysis
    nodes, trace, attribution = analysis.nodes, analysis.trace, analysis.device_attribution
    if not len(nodes):
        return []
    strings = analysis.host.string[nodes.row]
    first = first_events(strings, analysis.call_tree.event[nodes.row])
    distinct, group = unique_inverse(strings)
    count = np.bincount(group[selection.nodes], minlength=len(distinct))
    host = np.bincount(
        group[selection.nodes], nodes.self_host[selection.nodes], minlength=len(distinct)
    )
    mine = selection.device_events & (attribution.node >= 0)
    device = np.bincount(
        group[attribution.node[mine]],
        analysis.device_events.duration[mine],
        minlength=len(distinct),
    )
    has_device = analysis.launches_known
    rows = [
        schema.Node(
            id=int(first[string]),
            name=node_name(trace.strings[string]),
            count=int(count[i]),
            host_us=to_us(host[i]),
            device_us=to_us(device[i]) if has_device else None,
        )
        for i, string in enumerate(distinct.tolist())
        if count[i] or device[i]
    ]
    return sorted(rows, key=lambda row: (row.device_us or 0.0, row.host_us), reverse=True)


def _coverage(selection: Selection) -> schema.Coverage:
    analysis = selection.analysis
    nodes, modules = analysis.node_parts.of(selection.nodes), analysis.modules
    events = analysis.device_parts.of(selection.device_events & analysis.in_backward)
    by_host = _sums(nodes.evidence, nodes.time, EVIDENCE)
    unknown = selection.unknown_phases[Phase.BACKWARD]
    on_device = bool(events.time.sum() or (unknown and len(analysis.device_events)))
    reasons = analysis.device_attribution.reason if on_device else analysis.attribution.node_reason
    parts = events if on_device else nodes
    reason = np.where(parts.module < 0, reasons[parts.index], -1)
    without_module = events.module < 0
    collective = analysis.kinds.kind[events.index] == COMMUNICATION
    known = analysis.launches_known and not unknown
    shown = bool(analysis.phases.known[Phase.BACKWARD])
    return schema.Coverage(
        backward_device_us=to_us(events.time.sum()) if known else None,
        unattributed_us=to_us(events.time[without_module].sum()) if known else None,
        backward_host_us=to_us(nodes.time.sum()) if shown else None,
        unattributed_host_us=to_us(nodes.time[nodes.module < 0].sum()) if shown else None,
        by_evidence=_sums(parts.evidence, parts.time, EVIDENCE),
        measure="device" if on_device else "host",
        by_evidence_host=by_host,
        by_origin=_sums(lookup(modules.origin, parts.module), parts.time, ORIGINS),
        unattributed_by_reason=_sums(reason, parts.time, REASONS),
        communication_device_us=to_us(events.time[collective].sum()) if known else None,
        unattributed_communication_us=(
            to_us(events.time[without_module & collective].sum()) if known else None
        ),
    )


def _sums(index: Int, nanoseconds: Nanoseconds, names: Sequence[str]) -> dict[str, float]:
    """Time by name, microseconds, without the names that have none."""
    total = sum_by(index, nanoseconds, len(names))
    return {name: to_us(total[i]) for i, name in enumerate(names) if total[i]}
