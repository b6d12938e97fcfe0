"""Build the report: sums of an analysis over a selection, in microseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.breakdown import find_breakdown
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.analysis.host.roles import node_name
from tb_hookview.analysis.host.runtime_calls import Call
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.modules.attribution import EVIDENCE, REASONS
from tb_hookview.analysis.selection import Selection, select
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int, Nanoseconds
from tb_hookview.arrays.units import to_us
from tb_hookview.report.result import Report, path_as_text
from tb_hookview.report.tables.allocations import allocation_rows
from tb_hookview.report.tables.breakdown import breakdown_rows
from tb_hookview.report.tables.compiled import compiled_warnings
from tb_hookview.report.tables.devices import device_rows
from tb_hookview.report.tables.findings import finding_rows
from tb_hookview.report.tables.kernels import kernel_rows
from tb_hookview.report.tables.modules import microseconds_by_kind, module_rows
from tb_hookview.report.tables.operators import operator_rows
from tb_hookview.report.tables.recorder_share import recorder_share
from tb_hookview.report.tables.recording import recording
from tb_hookview.report.tables.streams import stream_rows
from tb_hookview.report.tables.syncs import sync_rows
from tb_hookview.report.tables.threads import thread_rows
from tb_hookview.rules.diagnosis import diagnose
from tb_hookview.schema import KINDS, Phase, ReportData
from tb_hookview.tables.events.keys import first_events


def build_report(analysis: Analysis, steps: Sequence[str] | None = None) -> Report:
    """Sum an analysis up, over the whole trace or over the steps named.

    Raises:
        NotFoundError: the trace has no step of that name.
    """
    selection = select(analysis, steps)
    rows = step_rows(selection)
    kernels, omitted = kernel_rows(selection)
    breakdown = find_breakdown(analysis)
    diagnosis = diagnose(selection, rows)
    syncs = sync_rows(selection, diagnosis.causes)
    return Report(
        ReportData(
            schema=schema.SCHEMA_VERSION,
            trace=_trace_info(analysis),
            totals=_totals(selection, syncs),
            steps=rows,
            modules=module_rows(selection),
            nodes=_nodes(selection),
            syncs=syncs,
            allocations=allocation_rows(selection),
            coverage=_coverage(selection),
            findings=finding_rows(diagnosis.findings, syncs, analysis.modules.path),
            recorder=recorder_share(selection),
            kernels=kernels,
            kernels_omitted=omitted,
            operators=operator_rows(selection),
            breakdown=breakdown_rows(selection, breakdown),
            devices=device_rows(selection, breakdown),
            streams=stream_rows(selection),
            threads=thread_rows(selection),
        ),
        lambda: selection,
    )


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
        warnings=_warnings(analysis),
        recording=recording(manifest),
    )


def _devices(analysis: Analysis) -> list[schema.Device]:
    names = {device.id: device.name for device in analysis.trace.devices}
    return [
        schema.Device(str(device), names.get(device, ""), analysis.trace.runtime or "device")
        for device in unique(analysis.device_events.device).tolist()
    ]


def _warnings(analysis: Analysis) -> list[schema.TraceWarning]:
    warnings: list[tuple[str, str, int]] = list(analysis.trace.notices)
    unlaunched = int(np.count_nonzero(analysis.device_events.launch < 0))
    if unlaunched:
        text = "device events whose launch is not in the trace (queued before it began)"
        warnings.append(("no-launch", f"{text}; in no phase", unlaunched))
    warnings += compiled_warnings(analysis)
    warnings += [
        ("contradiction", text, times) for text, times in analysis.contradictions.items() if times
    ]
    if not analysis.trace.event_count:
        warnings.append(("empty", "the trace holds no events", 0))
    seen: Counter[str] = Counter()
    rows = []
    for code, message, count in warnings:
        seen[code] += 1
        number = code if seen[code] == 1 else f"{code}#{seen[code]}"
        rows.append(schema.TraceWarning(number, code, message, count))
    return rows


def _totals(selection: Selection, syncs: list[schema.Sync]) -> schema.Totals:
    analysis = selection.analysis
    known = bool((analysis.device_events.launch >= 0).any())
    full = analysis.blocked_launches[selection.rows[analysis.blocked_launches]]
    by_kind = _by_kind(selection)
    on_cores = analysis.kinds.tensor_core
    any_events = bool(len(analysis.device_events))
    return schema.Totals(
        device_busy_us=_busy(selection),
        backward_device_us=phase_device_us(selection, Phase.BACKWARD),
        forward_device_us=phase_device_us(selection, Phase.FORWARD),
        optimizer_device_us=phase_device_us(selection, Phase.OPTIMIZER),
        sync_count=len(syncs),
        sync_blocked_us=to_us((analysis.syncs.end - analysis.syncs.start)[selection.syncs].sum()),
        backward_sync_count=sum(sync.phase == "backward" for sync in syncs),
        device_wait_count=int((selection.rows & (analysis.calls == Call.DEVICE_WAIT)).sum()),
        queue_full_count=len(full) if known else None,
        queue_full_us=to_us(analysis.call_tree.duration[full].sum()) if known else None,
        device_us_by_kind=microseconds_by_kind(by_kind),
        communication_device_us=to_us(by_kind[COMMUNICATION]) if any_events else None,
        tensor_core_us=_device_us(selection, on_cores == 1) if any_events else None,
        tensor_core_unknown_us=_device_us(selection, on_cores < 0) if any_events else None,
    )


def _by_kind(selection: Selection) -> list[int]:
    """Time of the selected device events by kind, nanoseconds."""
    analysis = selection.analysis
    total = np.zeros(len(KINDS), np.int64)
    np.add.at(
        total,
        analysis.kinds.kind[selection.device_events],
        analysis.device_events.duration[selection.device_events],
    )
    return [int(time) for time in total]


def _device_us(selection: Selection, wanted: Bool) -> float:
    """Time of some of the selected device events."""
    return to_us(selection.analysis.device_events.duration[selection.device_events & wanted].sum())


def phase_device_us(selection: Selection, phase: Phase) -> float | None:
    """Time of device events launched in a phase; None where launches are unknown."""
    analysis = selection.analysis
    if not analysis.launches_known:
        return None
    inside = selection.device_events & (
        lookup(analysis.phases.row, analysis.device_events.launch) == phase
    )
    return to_us(analysis.device_events.duration[inside].sum())


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


def step_rows(selection: Selection) -> list[schema.Step]:
    """One row per selected step; the five host phases sum to its duration."""
    steps, times = selection.analysis.steps, selection.analysis.step_times
    return [
        schema.Step(
            id=i,
            name=steps.name[i],
            start_us=to_us(steps.window[i, 0]),
            duration_us=to_us(times.duration[i]),
            forward_us=to_us(times.phase[Phase.FORWARD][i]),
            backward_us=to_us(times.phase[Phase.BACKWARD][i]),
            optimizer_us=to_us(times.phase[Phase.OPTIMIZER][i]),
            data_us=to_us(times.phase[Phase.DATA][i]),
            other_us=to_us(times.phase[Phase.OTHER][i]),
            device_busy_us=_known(times.device_busy, i),
            device_idle_us=_known(times.device_idle, i),
            sync_blocked_us=to_us(times.sync_blocked[i]),
            idle=None if times.idle is None else _idle(times.idle, i),
            queue_full_us=_known(times.queue_full, i),
            backward_idle_us=_known(times.backward_idle, i),
            counts=i in selection.counted,
        )
        for i in selection.steps
    ]


def _known(times: Nanoseconds | None, step: int) -> float | None:
    return None if times is None else to_us(times[step])


def _idle(times: dict[Cause, Nanoseconds], step: int) -> schema.Idle:
    return schema.Idle(**{cause.name.lower(): to_us(t[step]) for cause, t in times.items()})


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
    nodes, device_attribution = analysis.nodes, analysis.device_attribution
    host = nodes.self_host * selection.nodes
    launched = selection.device_events & (device_attribution.node >= 0)
    device = analysis.device_events.duration * launched
    attribution = analysis.attribution
    by_host = _sums(attribution.node_evidence, host, EVIDENCE)
    on_device = bool(device.sum())
    if on_device:
        by_evidence = _sums(device_attribution.evidence, device, EVIDENCE)
        by_reason = _sums(device_attribution.reason, device, REASONS)
    else:
        by_evidence, by_reason = by_host, _sums(attribution.node_reason, host, REASONS)
    without_module = device_attribution.module < 0
    collective = analysis.kinds.kind == COMMUNICATION
    known = analysis.launches_known
    return schema.Coverage(
        backward_device_us=to_us(device.sum()) if known else None,
        unattributed_us=to_us(device[without_module].sum()) if known else None,
        backward_host_us=to_us(host.sum()),
        unattributed_host_us=to_us(host[attribution.node_module < 0].sum()),
        by_evidence=by_evidence,
        measure="device" if on_device else "host",
        by_evidence_host=by_host,
        unattributed_by_reason=by_reason,
        communication_device_us=to_us(device[collective].sum()) if known else None,
        unattributed_communication_us=(
            to_us(device[without_module & collective].sum()) if known else None
        ),
    )


def _sums(index: Int, nanoseconds: Nanoseconds, names: Sequence[str]) -> dict[str, float]:
    """Time by name, microseconds, without the names that have none."""
    known = index >= 0
    total = np.zeros(len(names), np.int64)
    np.add.at(total, index[known], nanoseconds[known])
    return {name: to_us(total[i]) for i, name in enumerate(names) if total[i]}
