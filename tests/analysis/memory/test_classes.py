"""Classes of blocks, drawn."""

from __future__ import annotations

from pathlib import Path

import grid
import numpy as np
import pytest
from shared_traces import shared_trace
from support.allocator_rows import CPU, rows

from tb_hookview import markers
from tb_hookview.analysis.memory.live import MemoryClass
from tb_hookview.analysis.memory_use import MemoryUse
from tb_hookview.loading import analyze, load

NAMES = {
    "fc": markers.encode("forward", "fc", "Linear"),
    "mm'": "autograd::engine::evaluate_function: MmBackward0",
    "adam": "Optimizer.step#Adam.step",
    "step1": "ProfilerStep#1",
    "step2": "ProfilerStep#2",
    "step3": "ProfilerStep#3",
}
STEPS = """
    main notes [step1                             ][step2                             ]
    main notes                             [adam]                              [adam]
    main ops   [fc          ]                      [fc          ]
    main ops    [mm seq=1 ]                         [mm seq=2 ]
    main ops                 [mm' seq=1 F=1]                     [mm' seq=2 F=1]
"""


BEGIN = 11
"""Column at which the first step is drawn."""


def memory(folder: Path, *changes: tuple[float, int, int], before: int = 0) -> MemoryUse:
    shifted = [(BEGIN + time, address, amount) for time, address, amount in changes]
    events = grid.events(STEPS, NAMES) + rows(shifted, before=before)
    found = load(grid.write(folder / "t.json", events)).memory
    assert found
    return found


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ([(3, 8), (5, -8)], "temporary"),
        ([(3, 8), (20, -8)], "activation"),
        ([(3, 8), (33, -8)], "activation"),
        ([(3, 8)], "unknown"),  # lives on after the next step
        ([(38, 8)], "activation"),  # of the last step
        ([(16, 8), (20, -8)], "temporary"),
        ([(16, 8), (35, -8)], "gradient"),
        ([(16, 8)], "gradient"),
        ([(29, 8), (31, -8)], "temporary"),
        ([(29, 8)], "optimizer_state"),
        ([(29, 8), (66, -8)], "optimizer_state"),
        ([(25.5, 8), (26, -8)], "temporary"),
        ([(34, 8), (53, -8)], "input"),
        ([(20, -8)], "before_recording"),
    ],
)
def test_the_class_is_known_by_where_a_block_begins_and_ends(
    tmp_path: Path, change: list[tuple[float, int]], kind: str
) -> None:
    changes = [(time, 4096, amount) for time, amount in change]
    found = memory(tmp_path, *changes, before=8 if changes[0][2] < 0 else 0)
    assert [MemoryClass(k).name.lower() for k in found.kind.tolist()] == [kind]


def test_modules_and_rows_of_a_block(tmp_path: Path) -> None:
    found = memory(tmp_path, (3, 1, 8), (16, 2, 4), (20, 1, -8))
    paths = [found.host.trace.strings[i] for i in found.host.string[found.lives.birth_row].tolist()]
    assert paths == ["mm", NAMES["mm'"]]
    assert found.lives.module.tolist() == [0, 0]  # the node is that of fc's operator
    assert found.host.name(int(found.lives.death_row[0])) == NAMES["mm'"]


def test_what_was_before_the_recording_is_split_by_the_manifest(tmp_path: Path) -> None:
    events = grid.events(STEPS, NAMES) + rows([(3, 1, 8), (16, 2, -30), (20, 1, -8)], before=100)
    for size, split in ((20, (20, 80)), (90, (0, 100))):
        manifest = {
            "version": 1,
            "device": {"parameters": ["cuda:0"]},
            "modules": [{"path": "fc", "parameters": 5, "bytes": size}],
        }
        written = grid.write(tmp_path / "t.json", events, **{markers.MANIFEST_KEY: manifest})
        found = load(written).memory
        assert found
        at = np.arange(len(found.events))
        live = [found.live.of(MemoryClass.PARAMETER, at)[0], found.live.of(MemoryClass(7), at)[0]]
        assert tuple(live) == split
        assert sum(found.live.of(kind, at)[1] for kind in MemoryClass) == 78


def test_the_total_of_the_cpu_holds_no_parameters_from_before(tmp_path: Path) -> None:
    manifest = {
        "version": 1,
        "device": {"parameters": ["cpu"]},
        "modules": [{"path": "fc", "parameters": 5, "bytes": 20}],
    }
    events = grid.events(STEPS, NAMES) + rows([(3, 1, 8), (20, 1, -8)], device=CPU, before=100)
    found = load(grid.write(tmp_path / "t.json", events, **{markers.MANIFEST_KEY: manifest})).memory
    assert found
    at = np.arange(len(found.events))
    assert not found.live.of(MemoryClass.PARAMETER, at).any()
    assert found.live.of(MemoryClass.BEFORE_RECORDING, at).tolist() == [100, 100]


def test_a_trace_without_addresses_has_no_blocks(tmp_path: Path) -> None:
    events = grid.events(STEPS, NAMES) + rows([(3, 1, 8), (20, 1, -8)])
    for event in events:
        if event["name"] == "[memory]":
            event["args"] = {"Device Type": 1, "Device Id": 0, "Bytes": event["args"]["Bytes"]}
    found = load(grid.write(tmp_path / "t.json", events)).memory
    assert found
    assert (len(found.blocks), len(found.peaks.position), found.addresses_known) == (0, 0, False)


FORWARD_ALONE = """
    main ops   [aten::to   ] [aten::relu seq=4  ][aten::add seq=5][aten::view seq=6]
    main ops                  [aten::empty    ]
"""


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ([(17, 8)], "activation"),  # in `relu`, which made node 4
        ([(36, 8)], "activation"),
        ([(17, 8), (38, -8)], "temporary"),
        ([(3, 8)], "input"),  # live when `relu` begins, which is forward as it made node 4
        ([(55, 8)], "unknown"),  # whether `view` made a node shows only in what follows
    ],
)
def test_a_forward_whose_backward_is_not_recorded(
    tmp_path: Path, change: list[tuple[float, int]], kind: str
) -> None:
    shifted = [(BEGIN + time, 4096, amount) for time, amount in change]
    path = grid.write(tmp_path / "t.json", grid.events(FORWARD_ALONE) + rows(shifted))
    found = load(path).memory
    assert found
    assert [MemoryClass(k).name.lower() for k in found.kind.tolist()] == [kind]


def test_particle_transformer() -> None:
    """By a plain loop: 12.9 GB of what is live at the peak was allocated in operators with a
    sequence number (softmax 2.15, layer_norm 2.14, linear 1.75, conv1d 1.73) and never freed."""
    data = analyze(shared_trace("particle_transformer_gpu")).data
    (peak,) = [row for row in data.memory_peaks if row.device == "cuda:0"]
    assert peak.classes is not None
    assert peak.classes["activation"] == pytest.approx(12.9e9, rel=0.01)
    # By the same loop, in operators that made none: index 0.14, zeros 0.13, cat 0.07, less frees.
    assert peak.classes["input"] == pytest.approx(0.20e9, rel=0.02)
    assert sum(peak.classes.values()) == peak.allocated_bytes == 13_155_807_744
