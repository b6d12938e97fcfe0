"""Two processes train together (gloo, CPU): nothing changes, a file for each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import distributed_worker
from support.ranks import run_ranks

pytestmark = pytest.mark.slow

Reports = list[dict[str, Any]]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    """What the process of each rank says."""
    folder = tmp_path_factory.mktemp("ranks")
    said = run_ranks([Path(distributed_worker.__file__), folder], folder)
    return [json.loads(out.splitlines()[-1]) for out in said]


@pytest.mark.parametrize("method", distributed_worker.METHODS)
def test_nothing_changes_and_every_node_goes_to_its_module(reports, method):
    for report in (report[method] for report in reports):
        assert report["equal"]
        assert report["agreeing"] >= 0.9999


@pytest.mark.parametrize("method", [m for m in distributed_worker.METHODS if "FSDP1" not in m])
def test_every_call_and_gradient_is_marked(reports, method):
    paths = ["", "0", "1", "1.0", "1.1"]
    owners = {"0": 6, "1.0": 6}
    if method == "DDP, wrapped outside":
        paths = ["", *(f"module.{path}".rstrip(".") for path in paths)]
        owners = {f"module.{path}": count for path, count in owners.items()}
    for report in (report[method] for report in reports):
        assert report["forward"] == dict.fromkeys(paths, 3)
        assert report["gradient"] == owners


def test_fsdp1_marks_every_call_and_the_gradients_of_flat_parameters(reports):
    inner = "_fsdp_wrapped_module"
    units = {inner: 3, f"{inner}.1.{inner}": 3}
    for report in reports:
        before = report["FSDP1, wrapped before"]["forward"]
        below = [f"1.{inner}", f"1.{inner}.0", f"1.{inner}.1"]
        assert before == dict.fromkeys(["", "0", "1", *below], 3)
        after = report["FSDP1, wrapped after"]
        flat = report["FSDP1 with flat parameters, wrapped after"]
        paths = ["", *(f"{inner}.{path}".rstrip(".") for path in before)]
        assert after["forward"] == flat["forward"] == dict.fromkeys(paths, 3)
        assert after["gradient"] == {}  # no module owns what the backward accumulates into
        assert flat["gradient"] == units


def test_every_rank_writes_its_own_file(reports):
    for method in distributed_worker.METHODS:
        first, second = (report[method] for report in reports)
        assert (first["rank"], second["rank"]) == (0, 1)
        assert first["file"].startswith("rank0_")
        assert second["file"].startswith("rank1_")
