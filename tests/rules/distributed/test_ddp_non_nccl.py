"""`ddp-non-nccl`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.eager import findings, operators, row

RULE = "ddp-non-nccl"
REDUCE = row("cpu_op", "c10d::allreduce_", 990, 100)
GLOO = row("user_annotation", "gloo:all_reduce", 1030, 60, thread="gloo")
COPIES = [("aten::copy_", "Memcpy DtoH (Device -> Pinned)")] * 2


def test_gradients_by_way_of_the_host(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, operators(COPIES), [REDUCE, GLOO])[RULE]
    assert finding.cost_us_per_step == pytest.approx(8 + 58), "copies, and idle till gloo is done"


def test_what_the_host_waits_for_is_not_said_to_save_nothing(tmp_path: Path) -> None:
    """The host waits for gloo, which includes waits for other ranks: the saving is unknown."""
    (finding,) = findings(tmp_path, operators(COPIES), [REDUCE, GLOO])[RULE]
    assert finding.gain_us_per_step is None
    assert finding.saves_after is None
    assert finding.gain_unknown == "this trace does not show what the fix gains"
    assert any("wait for other ranks" in caveat for caveat in finding.caveats)


def test_messages_of_the_host(tmp_path: Path) -> None:
    """gloo for what is on the CPU anyway; the copies are somebody else's."""
    assert RULE not in findings(tmp_path, operators(COPIES, start=2000), [REDUCE, GLOO])


def test_nccl(tmp_path: Path) -> None:
    nccl = {**GLOO, "name": "nccl:all_reduce"}
    assert RULE not in findings(tmp_path, operators(COPIES), [REDUCE, nccl])


def test_a_barrier(tmp_path: Path) -> None:
    barrier, gloo = {**REDUCE, "name": "c10d::barrier"}, {**GLOO, "name": "gloo:barrier"}
    assert RULE not in findings(tmp_path, operators(COPIES), [barrier, gloo])
