"""Answers without a trace: runs, rules, and how far the reading of a trace is."""

from __future__ import annotations

from msgspec.structs import asdict

from tb_hookview.addresses.text import shown
from tb_hookview.rules.catalogue import RULES
from tb_hookview.schema.findings import RuleInfo
from tb_hookview.schema.runs import KnownTrace, LeftOut, ReadingProgress, Runs
from tb_hookview.server.answers import as_text
from tb_hookview.server.requests import describe_runs, select
from tb_hookview.server.served import Served
from tb_hookview.version import __version__


def runs(served: Served) -> Runs:
    """The runs of the log directory; parses nothing."""
    found = served.listed.listing()
    return Runs(
        logdir="" if served.logdir is None else as_text(shown(served.logdir)),
        version=__version__,
        runs=describe_runs(found.runs),
        left_out=LeftOut(links=found.links_left_out, folders=found.folders_left_out),
        dry_run=None if served.dry_run is None else as_text(served.dry_run.name),
    )


def known(served: Served) -> list[KnownTrace]:
    """What is known of the newest trace of each worker without reading it; reads none."""
    found = (
        (run, worker, served.reader().outline(worker.traces[0].file))
        for run in served.listed.last()
        for worker in run.workers
        if worker.traces
    )
    return [
        KnownTrace(run=as_text(run.name), worker=as_text(worker.name), **asdict(outline))
        for run, worker, outline in found
        if outline is not None
    ]


def rules(_served: Served) -> list[RuleInfo]:
    """The rules that traces are checked against."""
    return [rule.described() for rule in RULES]


def progress(served: Served, *, run: str, worker: str, trace: str | None) -> ReadingProgress:
    """How far the reading of a trace is."""
    named = {"run": run, "worker": worker, "trace": trace}
    query = {name: value for name, value in named.items() if value is not None}
    return served.traces.progress(select(served.listed.last(), query).file)
