"""A rule, a table or a replay that fails takes nothing else down."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rules.drawn import report

from tb_hookview.errors import UsageError
from tb_hookview.isolation import Failures
from tb_hookview.report import build
from tb_hookview.rules import diagnosis
from tb_hookview.rules.catalogue import RULES
from tb_hookview.rules.engine.rule import Rule
from tb_hookview.schema import ReportData
from tb_hookview.simulation.simulator import Simulator

PICTURE = """
    main ops                      [aten::item                      ] [aten::mm     ]
    main calls  [launch corr=3]      [copy corr=5]  [wait corr=6  ]  [launch corr=7]
    gpu  copy                               [D2P corr=5       ]
    gpu  kernel        [k corr=3 ]                                         [k corr=7             ]
    """


def _fails(*_: object) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.zeros(0, bool) & np.zeros(105, bool)


BROKEN = Rule("broken", "sync", "t", "d", "f", "r", explains=_fails)
BROKEN_FIND = Rule("broken-find", "sync", "t", "d", "f", "r", find=_fails)


@pytest.fixture
def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOKVIEW_STRICT", "0")


def failed(data: ReportData) -> list[str]:
    return [row.message for row in data.trace.warnings if row.code == "failed-part"]


@pytest.mark.usefixtures("lenient")
@pytest.mark.parametrize("rule", [BROKEN, BROKEN_FIND])
def test_a_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: Rule) -> None:
    whole = report(tmp_path, PICTURE)
    monkeypatch.setattr(diagnosis, "RULES", (rule, *RULES))
    data = report(tmp_path, PICTURE)
    (message,) = failed(data)
    assert message.startswith(f"rule {rule.id} could not be computed on this trace")
    assert "ValueError in " in message
    assert "report this line" in message
    assert data.findings == whole.findings
    assert [sync.cause for sync in data.syncs] == ["sync-scalar-item"]


@pytest.mark.usefixtures("lenient")
def test_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = report(tmp_path, PICTURE)
    monkeypatch.setattr(build, "stream_rows", _fails)
    monkeypatch.setattr(build, "kernel_rows", _fails)
    data = report(tmp_path, PICTURE)
    assert [message.partition(" could")[0] for message in failed(data)] == [
        *("table kernels", "table streams")
    ]
    assert (data.kernels, data.streams, data.kernels_omitted) == ([], [], None)
    assert (data.modules, data.findings) == (whole.modules, whole.findings)


@pytest.mark.usefixtures("lenient")
@pytest.mark.parametrize(("name", "broken"), [("refused", property(_fails)), ("gain", _fails)])
def test_a_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, broken: object
) -> None:
    monkeypatch.setattr(Simulator, name, broken)
    data = report(tmp_path, PICTURE)
    (finding,) = [row for row in data.findings if row.rule == "sync-scalar-item"]
    assert finding.gain_us_per_step is None
    assert finding.gain_unknown == "the replay failed on this trace"
    assert finding.cost_us_per_step
    assert failed(data)


def test_our_tests_fail_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "RULES", (BROKEN, *RULES))
    with pytest.raises(ValueError, match="broadcast"):
        report(tmp_path, PICTURE)


@pytest.mark.usefixtures("lenient")
def test_what_is_no_fault_of_the_part_goes_through() -> None:
    def wrong_question() -> None:
        raise UsageError("no such step")

    def too_large() -> None:
        raise MemoryError

    for make in (wrong_question, too_large):
        with pytest.raises((UsageError, MemoryError)):
            Failures().attempt("table t", make, None)


@pytest.mark.usefixtures("lenient")
def test_a_part_that_fails_twice_is_reported_once() -> None:
    failures = Failures()
    for _ in range(2):
        assert failures.attempt("rule r", lambda: _fails().sum(), 7) == 7
    ((part, fault),) = failures.found
    assert part == "rule r"
    assert fault.startswith("ValueError in ")
