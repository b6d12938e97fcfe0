"""The application: routes as docs/http_api.md lists them."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache as once
from pathlib import Path

from flask import Flask, Response, request

from tb_hookview.addresses.text import shown
from tb_hookview.loading import Loader
from tb_hookview.rules.catalogue import RULES
from tb_hookview.schema.runs import LeftOut, Runs
from tb_hookview.server import (
    answers,
    cache,
    comparison,
    dry_run,
    history,
    memory,
    modules,
    page,
    ranks,
    replayed,
    reports,
    sql,
    tables,
    timeline,
    whatif,
)
from tb_hookview.server.requests import RunList, describe_runs, select
from tb_hookview.server.store import AnalysisStore
from tb_hookview.server.waiting import client_waits
from tb_hookview.trace.source.runs import Listing
from tb_hookview.version import __version__


def create_app(
    logdir: str | Path | None,
    *,
    hosts: Collection[str] | None = None,
    policy: str = answers.PAGE_POLICY,
) -> Flask:
    """Return the application for a log directory, a run folder or a single trace file.

    Args:
        logdir: what to look at, a path or an address; the JSON of a dry run; None answers with an
            empty list of runs.
        hosts: the names a request may call this server by; None leaves that to whoever mounts it.
        policy: the Content-Security-Policy of its pages.
    """
    app = Flask("tb_hookview", static_folder=None)
    loader = once(Loader.from_environment)  # at the first question, which hears what is wrong
    store = AnalysisStore(lambda *asked: loader().analysis(*asked), who=client_waits)
    of_dry_run = dry_run.dry_run_file(logdir)
    listed = RunList(None if of_dry_run else logdir)
    answers.install(app, hosts, policy)
    cache.install(app, listed)
    page.install(app)
    dry_run.install(app, of_dry_run)
    timeline.install(app, store, listed)
    modules.install(app, store, listed)
    comparison.install(app, store, listed)
    whatif.install(app, store, listed)
    memory.install(app, store, listed)
    replayed.install(app, store, listed)
    of_runs = ranks.Runs(listed)
    ranks.install(app, of_runs, store)
    history.install(app, listed)

    known = reports.Reports(loader, store)
    reports.install(app, known, listed)
    tables.install(app, store, known.on, listed)
    sql.install(app, store, known.on, listed, of_runs)

    @app.get("/api/runs")
    def runs() -> Response:
        return answers.json(_runs(logdir, listed.listing(), of_dry_run))

    @app.get("/api/rules")
    def rules() -> Response:
        return answers.json([rule.described() for rule in RULES])

    @app.get("/api/progress")
    def progress() -> Response:
        return answers.json(store.progress(select(listed.last(), request.args).file))

    return app


def _runs(logdir: str | Path | None, found: Listing, of_dry_run: Path | None) -> Runs:
    return Runs(
        logdir="" if logdir is None else answers.as_text(shown(logdir)),
        version=__version__,
        runs=describe_runs(found.runs),
        left_out=LeftOut(links=found.links_left_out, folders=found.folders_left_out),
        dry_run=None if of_dry_run is None else answers.as_text(of_dry_run.name),
    )
