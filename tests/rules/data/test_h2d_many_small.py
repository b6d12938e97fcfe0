"""`h2d-many-small`."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from rules.diagnosed import diagnosed
from rules.drawn import NAMES, causes, findings

from tb_hookview.formats import format_bytes


def picture(
    copies: int,
    *,
    steps: bool = True,
    wait: str = "[wait corr=999]",
    first: str = "",
    filled: int = 0,
) -> str:
    """A step in which that many numbers are copied to the device, 60 us apart, after a kernel.

    Some of them, the first ones, are filled on the host right before they are moved.
    """
    ops, calls, device = "", "", ""
    for number in range(copies):
        ops += "[aten::to                                      ]"
        ops += ("[aten::ones]" if number + 1 < filled else "").ljust(12)
        calls += f"  [copy corr={number}]   {wait}".ljust(60)
        device += f"          [p corr={number}]"[:10].ljust(10) + f"[p corr={number}]".ljust(50)
    rows = [
        f"main ops    {ops}[aten::mm     ]",
        f"main calls  {calls}  [launch corr=998]",
        f"gpu  copy   {device}",
        f"gpu  kernel {first.ljust(len(ops))}                 [k corr=998]",
    ]
    if steps:
        rows.insert(0, "main notes  [ProfilerStep#1".ljust(len(ops) + 30) + "]")
    return "\n".join(rows)


SHORT = {"p": NAMES["P2D"]}


def test_ten_numbers_in_a_step(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, picture(10), SHORT)["h2d-many-small"]
    assert finding.count == 10
    assert [advice.id for advice in finding.advice] == ["host-copy-torch-tensor"]


@pytest.mark.parametrize(("copies", "steps"), [(9, True), (10, False)])
def test_too_few_or_in_no_step(tmp_path: Path, copies: int, steps: bool) -> None:
    drawn = picture(copies, steps=steps)
    assert set(causes(tmp_path, drawn, SHORT)) == {"h2d-pageable-blocking"}


@pytest.mark.parametrize("steps", [True, False])
def test_each_copy_is_in_one_finding(tmp_path: Path, steps: bool) -> None:
    """One right after a fill is `create-on-cpu-then-move`, also where no step is marked."""
    rows = grid.events(picture(200, steps=steps, first="[k]", filled=100), {**NAMES, **SHORT})
    for each in rows:
        each["args"]["bytes"] = 8
    found = diagnosed(grid.write(tmp_path / "t.json", rows))
    (small,), (created,) = found["h2d-many-small"], found["create-on-cpu-then-move"]
    assert (small.count, created.count) == (101, 99)
    assert not {*small.sync_ids} & {*created.sync_ids}
    assert small.cost_us_per_step == pytest.approx(33 * 101, abs=5)
    assert created.cost_us_per_step == pytest.approx((33 + 10) * 99, abs=33), "and the fills"


@pytest.mark.parametrize(
    ("copies", "first", "fires"),
    [(100, "[k]", True), (99, "[k]", False), (100, "", False), (100, "[k]" * 2000, False)],
    ids=["many", "few", "before the first kernel", "few next to the kernels"],
)
def test_without_steps(tmp_path: Path, copies: int, first: str, fires: bool) -> None:
    rows = grid.events(picture(copies, steps=False, first=first), {**NAMES, **SHORT})
    for each in rows:
        each["args"]["bytes"] = 8
    found = diagnosed(grid.write(tmp_path / "t.json", rows))
    assert ("h2d-many-small" in found) is fires
    if fires:
        (finding,) = found["h2d-many-small"]
        assert "step" not in finding.title


def test_one_large_copy_among_many_small_ones(tmp_path: Path) -> None:
    """Their remedy is that of the small ones, and no rate is theirs."""
    rows = grid.events(picture(20, steps=False, first="[k]"), {**NAMES, **SHORT})
    copied = [each for each in rows if each["cat"] == "gpu_memcpy"]
    for number, each in enumerate(copied):
        each["args"]["bytes"] = 8 if number else 1 << 20
    (finding,) = diagnosed(grid.write(tmp_path / "t.json", rows))["h2d-pageable-blocking"]
    assert "of 8.00 B to 1.05 MB, half of them of at most 8.00 B," in finding.evidence
    assert finding.fix.startswith("Keep constants on the device")
    assert not any("pinned memory" in caveat for caveat in finding.caveats)


def test_pinned_memory(tmp_path: Path) -> None:
    assert "h2d-many-small" not in findings(tmp_path, picture(10), {"p": NAMES["pin2D"]})


@pytest.mark.parametrize(("size", "fires"), [(4, True), (1 << 16, True), ((1 << 16) + 1, False)])
def test_small_by_bytes(tmp_path: Path, size: int, fires: bool) -> None:
    rows = grid.events(picture(10), {**NAMES, **SHORT})
    for each in rows:
        if each["cat"] == "gpu_memcpy":
            each["args"]["bytes"] = size
    found = diagnosed(grid.write(tmp_path / "t.json", rows))
    (finding,) = found["h2d-many-small" if fires else "h2d-pageable-blocking"]
    assert ("h2d-many-small" in found) == fires
    assert f"of {format_bytes(size)} on average" in finding.evidence


@pytest.mark.parametrize(
    ("call", "fires"), [("hipMemcpyWithStream", True), ("hipMemcpyAsync", False)]
)
def test_on_hip_the_call_says_that_the_memory_is_not_pinned(
    call: str, fires: bool, tmp_path: Path
) -> None:
    names = {"p": "Memcpy HtoD (Host -> Device)", "copy": call}
    found = findings(tmp_path, picture(10, wait=""), names)
    assert ("h2d-many-small" in found) == fires
    assert "h2d-pageable-blocking" not in found
