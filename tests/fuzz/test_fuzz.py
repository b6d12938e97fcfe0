"""A fixed number of the inputs that `make fuzz` goes on with, and all that failed once."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from fuzz import seeds
from fuzz.findings import Findings, fault_of, kind_of, smallest
from fuzz.targets import TARGETS, first_inputs

RUNS = {"reader": 400, "analyzer": 150, "timeline": 80, "addresses": 400}
SLOW = {"reader", "analyzer"}


@pytest.mark.parametrize("target", TARGETS)
def test_what_exploring_begins_with(target: str) -> None:
    feed, _ = TARGETS[target]
    for data in first_inputs(target):
        feed(data)


@pytest.mark.parametrize(
    "target",
    [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in TARGETS],
)
def test_inputs_damaged_at_random(target: str) -> None:
    feed, damage = TARGETS[target]
    first = first_inputs(target)
    for number in range(RUNS[target]):
        random = Random(number)
        data = random.choice(first)
        for _ in range(random.choice([1, 1, 2, 3])):
            data = damage(data, random)
        fault = fault_of(feed, data)
        assert fault is None, f"input {number} of {target}: {kind_of(fault)}: {fault}"


def faulty(data: bytes) -> None:
    if b"kernel" in data and b"gemm" in data:
        raise ValueError(data[:10])


def test_a_finding_is_made_small() -> None:
    small = smallest(faulty, seeds.traces()["drawn"])
    assert fault_of(faulty, small) is not None
    assert len(small) <= len(b"kernelgemm")


def test_of_a_kind_of_fault_the_smallest_is_kept(tmp_path: Path) -> None:
    findings = Findings(tmp_path, "reader")
    for data in (b"kernel gemm", b"kernel, and gemm", b"kernelgemm"):
        fault = fault_of(faulty, data)
        assert fault is not None
        kept = findings.keep(fault, data)
        assert (kept is None) == (data == b"kernel, and gemm")
    (path,) = (path for path in tmp_path.iterdir() if path.suffix != ".txt")
    assert path.read_bytes() == b"kernelgemm"
