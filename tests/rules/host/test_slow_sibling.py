"""`slow-sibling`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.cpu import call, findings, node, operator, step

RULE = "slow-sibling"
STEP = 10_000


def blocks(slow: int, length: float, count: int = 4) -> list[dict[str, Any]]:
    """Two steps in which every block runs one product, and one of them a sort too."""
    rows = []
    for number in range(2):
        start = 1000.0 + number * STEP
        rows.append(step(STEP, number, start))
        for block in range(count):
            begin, more = start + 1 + 1000 * block, length if block == slow else 0
            rows.append(call(f"blocks.{block}", begin, 110 + more))
            rows.append(operator("aten::mm", begin + 5, 100))
            rows += [operator("aten::sort", begin + 106, more)] if more else []
    return rows


def manifest(sizes: list[int]) -> dict[str, Any]:
    modules = [
        {"path": f"blocks.{block}", "class": "Block", "parameters": size}
        for block, size in enumerate(sizes)
    ]
    return {"modules": modules}


def test_one_of_four_blocks(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, blocks(2, 600), **manifest([9] * 4))[RULE]
    assert finding.module == "blocks.2"
    assert finding.cost_us_per_step == 600
    assert finding.gain_us_per_step == pytest.approx(597, abs=1), "3 us less of the rest"
    assert "those of 3 others of class Block" in finding.evidence
    assert finding.evidence.endswith("most of the difference is in aten::sort (597 us)")
    assert "Record with record_shapes=True" in finding.fix


def test_parts_are_no_more_than_the_difference(tmp_path: Path) -> None:
    """Medians of two operators that take turns to be slow add up to more than the module takes."""
    rows = []
    sorts, topks = (600, 600, 600, 600, 100, 100), (100, 100, 100, 600, 600, 600)
    for number, (sort, topk) in enumerate(zip(sorts, topks, strict=True)):
        start = 1000.0 + number * STEP
        rows.append(step(STEP, number, start))
        for block in range(4):
            begin, more = start + 1 + 1000 * block, (sort + topk) * (block == 3)
            rows.append(call(f"blocks.{block}", begin, 110 + more))
            rows.append(operator("aten::mm", begin + 5, 100))
            if more:
                rows.append(operator("aten::sort", begin + 106, sort))
                rows.append(operator("aten::topk", begin + 107 + sort, topk))
    (finding,) = findings(tmp_path, rows, **manifest([9] * 4))[RULE]
    assert finding.gain_us_per_step == pytest.approx(800, abs=5), "not 600 + 600"
    assert finding.evidence.endswith("aten::sort (400 us), aten::topk (400 us)")


def test_a_hiccup_in_one_step_is_no_saving(tmp_path: Path) -> None:
    """The sort takes 600 us in each of four steps, and 3000 us more in one of them."""
    rows = []
    for number in range(4):
        start = 1000.0 + number * STEP
        rows.append(step(STEP, number, start))
        for block in range(4):
            begin, more = start + 1 + 1000 * block, (600 + 3000 * (number == 2)) * (block == 3)
            rows.append(call(f"blocks.{block}", begin, 110 + more))
            rows.append(operator("aten::mm", begin + 5, 100))
            rows += [operator("aten::sort", begin + 106, more)] if more else []
    (finding,) = findings(tmp_path, rows, **manifest([9] * 4))[RULE]
    assert finding.gain_us_per_step == pytest.approx(600)
    assert finding.evidence.endswith("most of the difference is in aten::sort (600 us)")


@pytest.mark.parametrize(
    ("others", "slow"),
    [({"compiled": True}, False), ({"marked": False}, False), ({}, True)],
    ids=["in compiled code", "not marked", "not called"],
)
def test_one_whose_siblings_were_not_called(
    tmp_path: Path, others: dict[str, bool], slow: bool
) -> None:
    rows = [
        row for row in blocks(3, 600) if "blocks.3" in row["name"] or "blocks" not in row["name"]
    ]
    listed = manifest([9] * 4)
    for entry in listed["modules"][:3]:
        entry |= others
    assert (RULE in findings(tmp_path, rows, **listed)) is slow


def test_where_shapes_are_recorded_nobody_is_asked_for_them(tmp_path: Path) -> None:
    rows = blocks(2, 600)
    rows[1]["args"] = {"Input Dims": [[2, 2]], "Input type": ["float"]}
    (finding,) = findings(tmp_path, rows, **manifest([9] * 4))[RULE]
    assert "record_shapes" not in finding.fix


@pytest.mark.parametrize(
    ("slow", "length", "sizes"),
    [
        (2, 40, [9] * 4),
        (2, 290, [9] * 4),
        (1, 600, [9] * 2),
        (2, 600, [9, 9, 8, 9]),
        (-1, 0, [9] * 4),
    ],
    ids=["hardly slower", "a small share", "two of them", "another size", "even"],
)
def test_what_is_none(tmp_path: Path, slow: int, length: float, sizes: list[int]) -> None:
    rows = blocks(slow, length, len(sizes))
    assert RULE not in findings(tmp_path, rows, **manifest(sizes))


@pytest.mark.parametrize(
    ("slow", "found"),
    [
        ([{}, {2: 600}, {2: 600}, {2: 600}, {0: 600}], True),
        ([{}, {2: 600}, {2: 600}, {0: 600}, {1: 600}], False),
        ([{}, {2: 600, 0: 300, 1: 150}, {2: 600, 1: 300, 3: 150}], False),
    ],
    ids=["in most steps", "in half of the steps", "others differ as much"],
)
def test_one_that_stands_out_from_noise(
    tmp_path: Path, slow: list[dict[int, float]], found: bool
) -> None:
    rows = []
    for number, of_step in enumerate(slow):
        start = 1000.0 + number * STEP
        rows.append(step(STEP, number, start))
        for block in range(4):
            begin, more = start + 1 + 1000 * block, of_step.get(block, 0)
            rows.append(call(f"blocks.{block}", begin, 110 + more))
            rows.append(operator("aten::mm", begin + 5, 100 + more))
    assert (RULE in findings(tmp_path, rows, **manifest([9] * 4))) is found


@pytest.mark.parametrize(
    ("slow", "found"),
    [
        (["mm", "add"], False),
        (["mm", "add", "mm"], False),
        (["mm", "mm"], True),
        (["mm", "mm", "mm"], True),
        (["mm"], False),
    ],
)
def test_in_few_steps_it_is_the_same_operator_that_is_slow(
    tmp_path: Path, slow: list[str], found: bool
) -> None:
    """In each step a block is 600 us longer: by chance in another operator than before."""
    rows = []
    for number, longer in enumerate(slow):
        start = 1000.0 + number * STEP
        rows.append(step(STEP, number, start))
        for block in range(4):
            begin = start + 1 + 1000 * block
            mm, add = (100 + 600 * (block == 2 and longer == name) for name in ("mm", "add"))
            rows.append(call(f"blocks.{block}", begin, mm + add + 10))
            rows.append(operator("aten::mm", begin + 5, mm))
            rows.append(operator("aten::add", begin + 6 + mm, add))
    assert (RULE in findings(tmp_path, rows, **manifest([9] * 4))) is found


def test_two_steps_are_too_few_where_another_is_slow_in_one(tmp_path: Path) -> None:
    rows = []
    for number in range(2):
        start = 1000.0 + number * STEP
        rows.append(step(STEP, number, start))
        for block in range(4):
            length = 700 if block == 2 or (block == 0 and number == 0) else 100
            rows.append(call(f"blocks.{block}", start + 1 + 1000 * block, length + 10))
            rows.append(operator("aten::mm", start + 6 + 1000 * block, length))
    (finding,) = findings(tmp_path, rows, **manifest([9] * 4))[RULE]
    assert (finding.module, finding.severity, finding.confidence) == ("blocks.2", "info", "low")
    assert finding.evidence.endswith("; two steps are too few to rule out chance")
    assert finding.fix.startswith("Record three steps or more.")


@pytest.mark.parametrize("others", [[], [1]], ids=["in each step", "in two of three"])
def test_of_three_steps_it_is_slower_in_each(tmp_path: Path, others: list[int]) -> None:
    """In the others two more blocks are held up as long: their fastest steps differ still."""
    rows = []
    for number in range(4):
        start = 1000.0 + number * STEP
        rows.append(step(STEP, number, start))
        for block in range(4):
            length = 700 if block == 2 or (block < 2 and number in others) else 100
            rows.append(call(f"blocks.{block}", start + 1 + 1000 * block, length + 10))
            rows.append(operator("aten::mm", start + 6 + 1000 * block, length))
    assert (RULE in findings(tmp_path, rows, **manifest([9] * 4))) is not bool(others)


@pytest.mark.parametrize("first", [200, 1000], ids=["even calls", "another one is slow"])
def test_one_that_is_called_more_often(tmp_path: Path, first: float) -> None:
    rows = [step(STEP)]
    for block, calls in enumerate([1, 1, 4, 1]):
        for number in range(calls):
            length = first if block == 0 else 200
            begin = 1001.0 + 2000 * block + 300 * number
            rows += [call(f"blocks.{block}", begin, length + 10)]
            rows += [operator("aten::mm", begin + 5, length)]
    found = {each.module: each for each in findings(tmp_path, rows, **manifest([9] * 4))[RULE]}
    assert found["blocks.2"].evidence.endswith("; it is called 4 times per step, the others 1")
    assert found["blocks.2"].gain_us_per_step == pytest.approx(600)


def test_modules_within_one_that_is_called_more_often_are_not_named(tmp_path: Path) -> None:
    rows, listed = [step(STEP)], manifest([9] * 4)
    for block, calls in enumerate([1, 1, 4, 1]):
        listed["modules"].append({"path": f"blocks.{block}.fc", "class": "Fc", "parameters": 9})
        for number in range(calls):
            begin = 1001.0 + 2000 * block + 300 * number
            rows += [call(f"blocks.{block}", begin, 210), operator("aten::mm", begin + 5, 200)]
            rows[-1:-1] = [call(f"blocks.{block}.fc", begin + 1, 208, "Fc")]
    assert [each.module for each in findings(tmp_path, rows, **listed)[RULE]] == ["blocks.2"]


def test_one_whose_backward_is_in_no_checkpoint(tmp_path: Path) -> None:
    """The backwards of the others, as long, are inside the node of a reentrant checkpoint."""
    rows = []
    for number in range(2):
        start = 1001.0 + number * STEP
        rows.append(step(STEP, number, start - 1))
        for block in range(4):
            mm = operator("aten::mm", start + 200 * block + 5, 100)
            rows += [call(f"blocks.{block}", start + 200 * block, 110), mm]
        seq = 20 * (number + 1)
        mm["args"] = {"Sequence number": seq}
        rows += node("MmBackward0", start + 1000, 600, seq)
        for block in range(3):
            begin = start + 2000 + 1000 * block
            again = operator("aten::mm", begin + 105, 100, **{"Sequence number": seq + 5 + block})
            rows += [node("CheckpointFunctionBackward", begin, 900, seq + 1 + block)[0]]
            rows += [call(f"blocks.{block}", begin + 100, 110), again]
            rows += node("MmBackward0", begin + 250, 600, seq + 5 + block)
    found = findings(tmp_path, rows, **manifest([9] * 4))
    assert RULE not in found
    assert "recompute-overhead" in found


def test_what_another_finding_explains(tmp_path: Path) -> None:
    rows = [each for each in blocks(2, 600) if each["name"] != "aten::sort"]
    found = findings(tmp_path, rows, **manifest([9] * 4))
    assert RULE not in found
    assert "blocks.2" in {each.module for each in found["python-time"]}


def test_a_device_that_was_not_recorded(tmp_path: Path) -> None:
    on_device = {**manifest([9] * 4), "device": {"parameters": ["cuda:0"]}}
    assert RULE not in findings(tmp_path, blocks(2, 600), **on_device)


@pytest.mark.parametrize(
    ("lengths", "found"),
    [([1600, 400, 100], False), ([100, 400, 1600], False), ([1600, 100, 100], True)],
    ids=["halved inputs", "doubled inputs", "one of them"],
)
def test_siblings_of_a_pyramid(tmp_path: Path, lengths: list[float], found: bool) -> None:
    rows = [step(STEP, 0, 1000), step(STEP, 1, 1000 + STEP)]
    for start in (1001.0, 1001.0 + STEP):
        for block, length in enumerate(lengths):
            begin = start + 2000 * block
            rows.append(call(f"blocks.{block}", begin, length + 10))
            rows.append(operator("aten::conv2d", begin + 5, length))
    assert (RULE in findings(tmp_path, rows, **manifest([9] * 3))) == found
