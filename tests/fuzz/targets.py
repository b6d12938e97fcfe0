"""What is fed with inputs, and what each must hold to, whatever it is fed."""

from __future__ import annotations

import io
import json
import logging
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import msgspec
import numpy as np
from flask.testing import FlaskClient
from fuzz import seeds
from fuzz.damage import damage_address, damage_trace
from invariants.case import Case
from invariants.registry import Of, asked
from rich.console import Console

from tb_hookview.analysis.analysis import analyze_trace
from tb_hookview.document.terminal import rendered
from tb_hookview.errors import TraceError
from tb_hookview.report.build import build_report
from tb_hookview.report.open_trace import OpenTrace
from tb_hookview.server import create_app
from tb_hookview.server.timeline import overview, window
from tb_hookview.trace import Trace, read_trace

Damage = Callable[[bytes, Random], bytes]

LONGEST_US = 5e15
"""More than a window may span: a clock that jumped by years."""
FAULTLESS = {200, 400, 404, 405, 422}


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="hookview-fuzz-")


def _read(data: bytes) -> Trace | None:
    """Read a file of these bytes; None where reading raises an error of one line."""
    path = Path(_folder().name, "t.pt.trace.json")
    path.write_bytes(data)
    try:
        return read_trace(path)
    except TraceError as error:
        message = str(error)
        assert message.startswith(str(path))
        assert len(message.splitlines()) == 1
        return None


def feed_reader(data: bytes) -> None:
    """Read a file: columns of one length, times in order, or an error of one line."""
    trace = _read(data)
    if trace is None:
        return
    events = trace.events
    assert len(events) <= trace.event_count
    assert (events.end >= events.start).all()
    assert events.name.min(initial=0) >= 0
    assert events.name.max(initial=-1) < len(trace.strings)
    assert all(notice.times > 0 and "\n" not in notice.message for notice in trace.notices)
    assert np.isfinite(events.start).all()


def feed_analyzer(data: bytes) -> None:
    """Ask a file all that holds of every trace, report on a step of it, too, and print it."""
    trace = _read(data)
    if trace is None:
        return
    case = Case(trace)
    for each in asked(case, Of.TRACES):
        each.check(case)
    build_report(case.analysis, [case.data.steps[-1].name])
    printed = io.StringIO()
    Console(file=printed, width=120).print(rendered(case.report.summary(12)))
    odd = {letter for letter in printed.getvalue() if not letter.isprintable()}
    assert odd <= {"\n"}, odd


def feed_timeline(data: bytes) -> None:
    """Draw a file: every lane, from before its first event to after its last."""
    trace = _read(data)
    if trace is None:
        return
    opened = OpenTrace(lambda: analyze_trace(trace))
    lanes = overview(opened)
    end = min(lanes.duration_us + 1.0, LONGEST_US)
    drawn = window(opened, start=-1.0, end=end, width=64, lanes=None)
    for answer in (lanes, drawn):
        json.loads(json.dumps(msgspec.to_builtins(answer), allow_nan=False))


class _LastFault(logging.Handler):
    """Keeps what the server did not expect, which it answers and logs."""

    fault: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.fault = record.exc_info[1]


@cache
def _client() -> tuple[FlaskClient, _LastFault]:
    folder = Path(_folder().name, "runs")
    folder.mkdir()
    shutil.copy(seeds.RECORDED, folder / "host_1.1700000000123.pt.trace.json.gz")
    keeper, log = _LastFault(), logging.getLogger("tb_hookview.server")
    log.addHandler(keeper)
    log.propagate = False
    return create_app(folder).test_client(), keeper


def feed_addresses(data: bytes) -> None:
    """Ask for an address: an answer in JSON or an error of one line, never a fault."""
    client, keeper = _client()
    keeper.fault = None
    path, _, query = data.decode("latin-1").partition("?")
    answer = client.get("/" + path.lstrip("/"), query_string=query)
    if keeper.fault is not None:
        raise keeper.fault
    assert answer.status_code in FAULTLESS, answer.status
    if answer.mimetype == "application/json":
        body = json.loads(answer.get_data(), parse_constant=_refuse)
        if answer.status_code != 200:
            assert len(body["error"]["message"].splitlines()) == 1


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


TARGETS: dict[str, tuple[Callable[[bytes], None], Damage]] = {
    "reader": (feed_reader, damage_trace),
    "analyzer": (feed_analyzer, damage_trace),
    "timeline": (feed_timeline, damage_trace),
    "addresses": (feed_addresses, damage_address),
}


def first_inputs(target: str) -> list[bytes]:
    """Return what exploring a target begins with."""
    if target == "addresses":
        return [address.encode() for address in seeds.ADDRESSES]
    files = sorted(path.read_bytes() for path in (seeds.DATA / "damage").iterdir())
    return [*seeds.traces().values(), *files]
