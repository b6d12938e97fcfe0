"""What was noted, as rows: one for each place and step."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from functools import cache

import msgspec
import torch

from tb_hookview.dryrun.recording.recorder import NotedSync, Recorder
from tb_hookview.dryrun.refusals import Allowances
from tb_hookview.rules.catalogue import RULES
from tb_hookview.schema.host import DryRunReport, DrySync
from tb_hookview.tables.table import Table

UNKNOWN = (
    "what a sync costs: nothing is timed, and a sync may cost nothing",
    "waits inside of libraries: cuDNN and cuBLAS choosing algorithms, NCCL, the caching allocator, "
    "first use of kernels",
    "syncs that happen only at other sizes, with other data, or after the steps that ran",
)


_AVERAGING = "torch/optim/swa_utils.py"
_AVERAGE = (
    "Call update_parameters() every k steps, which keeps 1/k of the cost. An AveragedModel with "
    "multi_avg_fn=get_ema_multi_avg_fn() and without device= reads no value, and only copies the "
    "number of updates. torch._foreach_lerp_ on lists of both models' parameters does neither."
)


@cache
def _rule(cause: str) -> tuple[str, str]:
    """Title and fix of a rule."""
    return next(((rule.title, rule.fix) for rule in RULES if rule.id == cause), (cause, ""))


def rows(syncs: Iterable[NotedSync], allowances: Allowances) -> list[DrySync]:
    """Return a row for each place and step, in the order in which they were first met."""
    places: dict[tuple[object, ...], list[NotedSync]] = {}
    for sync in syncs:
        places.setdefault(_place(sync), []).append(sync)
    return [
        _row(number, group[0], len(group), allowances)
        for number, group in enumerate(places.values())
    ]


def table(syncs: Iterable[NotedSync], allowances: Allowances) -> Table[DrySync]:
    """Return the rows as a table, for data frames and files."""
    return Table(DrySync, rows(syncs, allowances), "dry_syncs")


def encoded(report: DryRunReport) -> bytes:
    """Return a report as JSON in UTF-8."""
    return msgspec.json.encode(report)


def message(syncs: list[DrySync]) -> str:
    """Return why a test fails: each place once, with its cause and its fix."""
    places = {(sync.line, sync.code, sync.node, sync.reason): sync for sync in reversed(syncs)}
    count = f"{len(places)} place{'s' * (len(places) != 1)}"
    lines = [f"with a GPU the host would wait for it at {count}:"]
    for sync in reversed(places.values()):
        lines.append(f"  {sync.line or 'unknown line'} {sync.code}")
        forward = ""
        if sync.forward_line is not None:
            forward = f", in the backward of {sync.forward_line} {sync.forward_code}"
        lines += [f"    {sync.reason}{forward} ({sync.cause})", f"    fix: {sync.fix}"]
    return "\n".join(lines)


def _place(sync: NotedSync) -> tuple[object, ...]:
    line = None if sync.line is None else (sync.line.filename, sync.line.number, sync.line.column)
    return (
        *(sync.step, sync.operator, sync.within, sync.reason.text, sync.phase, sync.module),
        *(sync.node, line, sync.forward_line, sync.via),
    )


def _row(number: int, sync: NotedSync, count: int, allowances: Allowances) -> DrySync:
    line, forward, module = sync.line, sync.forward_line, sync.module
    title, fix = _rule(sync.cause)
    if (sync.via or "").startswith(_AVERAGING):
        fix = _AVERAGE  # what reads and copies there is not the program's
    return DrySync(
        id=number,
        step=sync.step,
        phase=sync.phase,
        operator=sync.operator,
        within=sync.within or None,
        node=sync.node,
        module=None if module is None else module.path,
        module_class=None if module is None else module.class_name,
        line=None if line is None else str(line),
        file=None if line is None else line.filename,
        last_line=None if line is None else line.last,
        column=None if line is None else line.column,
        last_column=None if line is None else line.last_column,
        code="" if line is None else line.code,
        via=sync.via,
        forward_line=None if forward is None else str(forward),
        forward_code=None if forward is None else forward.code,
        stack=list(sync.stack),
        cause=sync.cause,
        title=title,
        fix=fix,
        reason=sync.reason.text,
        nbytes=sync.reason.nbytes,
        certain=sync.reason.certain,
        count=count,
        allowed=allowances.reason_for(sync),
    )


def measured(completed: int) -> list[int]:
    """Return the steps that limits are about."""
    return list(range(1, completed)) if completed > 1 else [0]


def report(
    recorder: Recorder, allowances: Allowances, *, program: str = "", devices: int = 1
) -> DryRunReport:
    """Return everything that is known of a dry run."""
    table = rows(recorder.syncs, allowances)
    chosen = measured(recorder.step)
    counted = [sync for sync in table if sync.certain and sync.allowed is None]
    of_step = [sum(sync.count for sync in counted if sync.step == step) for step in chosen]
    return DryRunReport(
        program=program,
        torch_version=str(torch.__version__),
        python_version=platform.python_version(),
        devices=devices,
        steps=recorder.step,
        measured=chosen,
        sync_count=sum(of_step),
        most_per_step=max(of_step),
        syncs=table,
        notes=list(recorder.notes),
        unknown=list(UNKNOWN),
        unused_allowances=allowances.unused,
    )
