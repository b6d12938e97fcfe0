"""`sync-batchnorm`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.eager import findings, operators, row

RULE = "sync-batchnorm"
GATHER = [("c10d::_allgather_base_", "ncclDevKernel_AllGather_RING_LL(ncclDevComm*)")]


def test_batch_norms_that_gather(tmp_path: Path) -> None:
    some = operators(GATHER * 2)
    found = findings(tmp_path, some, [row("cpu_op", "SyncBatchNorm", 995, 60)])
    assert found[RULE][0].cost_us_per_step == pytest.approx(8)
    assert "comm-exposed" not in found, "it is billed once"


def test_other_collectives(tmp_path: Path) -> None:
    some = operators(GATHER * 2)
    assert RULE not in findings(tmp_path, some, [row("cpu_op", "aten::batch_norm", 1995, 60)])


def test_one_process_needs_none(tmp_path: Path) -> None:
    norm = operators([("aten::batch_norm", "bn_fw_tr_1C11_kernel")])
    assert RULE not in findings(tmp_path, norm, [row("cpu_op", "SyncBatchNorm", 995, 60)])
