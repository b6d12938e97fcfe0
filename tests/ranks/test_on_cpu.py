"""Ranks that serve a compiled model on the CPU, and meet in shared memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import grid
import pytest
from ranks.test_run import analyzed

from tb_hookview.cli.checks import rank_wait_percent
from tb_hookview.errors import UsageError
from tb_hookview.ranks.document import run_document, verdict_sentence
from tb_hookview.schema import Run

NAMES = {
    "graph": "## Call CompiledFxGraph key ##",
    "mm": "_C::weight_packed_linear",
    "meet": "_C::shm_all_gather",
}
EARLY = """
    main notes [graph                                ]
    main ops    [mm   ]     [meet             ][mm  ]
"""
LATE = """
    main notes [graph                                ]
    main ops    [mm             ]   [meet     ][mm  ]
"""
SHAPES = {"Input Dims": [[], [4, 8], [8, 8]], "Input type": ["Scalar", "float", "float"]}


def run_of(folder: Path, *pictures: str) -> Run:
    for rank, picture in enumerate(pictures):
        events: list[dict[str, Any]] = grid.events(picture, NAMES)
        for event in events:
            event["args"] |= SHAPES if event["name"] == NAMES["meet"] else {}
        info = {"rank": rank, "world_size": len(pictures)}
        text = json.dumps({"schemaVersion": 1, "distributedInfo": info, "traceEvents": events})
        (folder / f"rank{rank}.1.pt.trace.json").write_text(text)
    return analyzed(folder)


def test_an_operator_in_shared_memory_is_a_collective(tmp_path: Path) -> None:
    """What it takes blocks the thread; the compiled graph computes without any operator."""
    run = run_of(tmp_path, EARLY, LATE)
    (collective,) = run.collectives
    assert (collective.name, collective.bytes) == ("all_gather", 256)
    assert collective.transfer_us == 11
    for rank, waited in zip(run.ranks, (8, 0), strict=True):
        assert rank.communication_us == rank.exposed_communication_us == 11 + waited
        assert rank.compute_us == 39 - 11 - waited
        assert (rank.idle_us, rank.wait_us) == (0, waited)
    assert rank_wait_percent(run, 100.0).value == pytest.approx(100 * 8 / 78)


def test_communication_that_is_not_recorded_is_unknown(tmp_path: Path) -> None:
    run = run_of(tmp_path, *(each.replace("meet", "mm  ") for each in (EARLY, LATE)))
    for row in (*run.ranks, *run.steps):
        assert (row.compute_us, row.idle_us) == (39, 0)
        assert row.communication_us is row.exposed_communication_us is row.wait_us is None
    assert verdict_sentence(run) == (
        "No collective is recorded, stragglers are unknown; mean of 2 ranks: 39.0 us per trace, "
        "39.0 us of it computing, communication unknown."
    )
    table = run_document(run).listed
    assert table is not None
    assert [table.columns[at] for at, cell in enumerate(table.rows[0]) if cell == "-"] == [
        "communication",
        "exposed",
        "straggler wait",
    ]
    with pytest.raises(UsageError, match="no collective matched"):
        rank_wait_percent(run, 5.0)


def test_a_program_of_one_rank_has_no_communication(tmp_path: Path) -> None:
    (rank,) = run_of(tmp_path, EARLY.replace("meet", "mm  ")).ranks
    assert (rank.communication_us, rank.exposed_communication_us, rank.wait_us) == (0, 0, None)
