"""`h2d-pageable-blocking`."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from rules.diagnosed import diagnosed
from rules.drawn import NAMES, causes, findings

BATCH = """
    main notes [ProfilerStep#1                                                  ]
    main ops    [aten::to                              ] [aten::mm     ]
    main ops      [aten::copy_                        ]
    main calls     [{call} corr=5]  [wait corr=6     ]    [launch corr=7]
    gpu  copy             [{memory} corr=5   ]
    gpu  kernel [k]                                               [k corr=7]
    """


def test_a_batch_from_pageable_memory(tmp_path: Path) -> None:
    found = findings(tmp_path, BATCH.format(call="copy", memory="P2D"))
    (finding,) = found["h2d-pageable-blocking"]
    assert finding.where == "not in a module, aten::to"
    assert finding.cost_us_per_step is not None
    assert finding.gain_bound_us_per_step is not None
    assert finding.gain_bound_us_per_step < finding.cost_us_per_step, "the copy itself stays"
    (caveat,) = finding.caveats
    assert caveat.startswith("Assumes that the copy takes half as long from pinned memory")
    assert "sync-in-operator" not in found


def test_hip_does_not_record_the_memory(tmp_path: Path) -> None:
    names = {"with": "hipMemcpyWithStream", "H2D": "Memcpy HtoD (Host -> Device)"}
    found = findings(
        tmp_path,
        """
        main notes [ProfilerStep#1                                   ]
        main ops    [aten::to                   ] [aten::mm     ]
        main ops      [aten::copy_             ]
        main calls     [with corr=5           ]    [launch corr=7]
        gpu  copy             [H2D corr=5 ]
        gpu  kernel [k]                                    [k corr=7]
        """,
        names,
    )
    (finding,) = found["h2d-pageable-blocking"]
    assert finding.confidence == "medium"
    assert "HIP" in finding.caveats[0]


@pytest.mark.parametrize("memory", ["pin2D", "D2P", "D2D"])
def test_another_copy(tmp_path: Path, memory: str) -> None:
    found = findings(tmp_path, BATCH.format(call="copy", memory=memory))
    assert "h2d-pageable-blocking" not in found


def test_a_copy_without_a_sync(tmp_path: Path) -> None:
    found = findings(
        tmp_path, BATCH.replace("[wait corr=6     ]", " ").format(call="copy", memory="P2D")
    )
    assert "h2d-pageable-blocking" not in found


def test_without_steps_a_model_that_moves_to_the_device_is_none(tmp_path: Path) -> None:
    picture = """
        main ops    [aten::to                              ] [aten::mm     ]
        main ops      [aten::copy_                        ]
        main calls     [copy corr=5]  [wait corr=6     ]    [launch corr=7]
        gpu  copy             [P2D corr=5   ]
        gpu  kernel                                               [k corr=7]
        """
    assert causes(tmp_path, picture) == ["h2d-pageable-blocking"]
    assert "h2d-pageable-blocking" not in findings(tmp_path, picture)


@pytest.mark.parametrize("kernels", [9, 10])
def test_without_steps_one_copy_before_many_kernels_is_a_batch(
    tmp_path: Path, kernels: int
) -> None:
    calls = "".join(f"[launch corr={n}]" for n in range(10, 10 + kernels))
    runs = "".join(f"[k{n} corr={n}]".ljust(16) for n in range(10, 10 + kernels))
    names = {f"k{n}": f"kernel_{n}" for n in range(10, 10 + kernels)}
    picture = f"""
        main ops    [aten::to                              ] [aten::mm{" " * 16 * kernels}]
        main ops      [aten::copy_                        ]
        main calls     [copy corr=5]  [wait corr=6     ]      {calls}
        gpu  copy             [P2D corr=5   ]
        gpu  kernel                                               {runs}
        """
    found = "h2d-pageable-blocking" in findings(tmp_path, picture, names)
    assert found == (kernels == 10)


def test_without_steps_a_copy_after_a_kernel_may_repeat(tmp_path: Path) -> None:
    picture = BATCH.split("\n", 2)[2].format(call="copy", memory="P2D")
    (finding,) = findings(tmp_path, picture)["h2d-pageable-blocking"]
    assert any("no steps" in caveat for caveat in finding.caveats)


def test_the_rate_of_pinned_copies_gives_what_pinning_saves(tmp_path: Path) -> None:
    rows = grid.events(BATCH.format(call="copy", memory="P2D"), NAMES)
    (copy,) = (each for each in rows if each["cat"] == "gpu_memcpy")
    copy["args"]["bytes"] = 1 << 20
    pinned = {**copy, "name": NAMES["pin2D"], "ts": 900, "dur": 5, "tid": 8}
    pinned["args"] = {"correlation": 99, "bytes": 1 << 20}
    path = grid.write(tmp_path / "t.json", [*rows, pinned])
    (finding,) = diagnosed(path)["h2d-pageable-blocking"]
    assert finding.caveats == ["Assumes the 209.7 GB/s of this trace's copies from pinned memory."]
    assert finding.cost_us_per_step is not None
    assert finding.gain_bound_us_per_step == pytest.approx(finding.cost_us_per_step - 5)


@pytest.mark.parametrize(
    ("size", "said", "remedy"),
    [
        (939, "of 939 B on average", "Pack small values"),
        (9_633_920, "of 9.63 MB on average", "DataLoader(pin_memory=True)"),
    ],
)
def test_the_remedy_is_that_of_the_size(tmp_path: Path, size: int, said: str, remedy: str) -> None:
    picture = BATCH.format(call="copy", memory="P2D").replace("corr=5   ]", f"corr=5 bytes={size}]")
    (finding,) = findings(tmp_path, picture)["h2d-pageable-blocking"]
    assert said in finding.evidence
    assert remedy in finding.fix


def test_a_small_batch_is_no_constant(tmp_path: Path) -> None:
    picture = BATCH.format(call="copy", memory="P2D").replace("corr=5   ]", "corr=5 bytes=939]")
    loader = {**NAMES, "L": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"}
    picture = picture.replace("ops    [aten::to ", "ops [L][aten::to ", 1)
    (finding,) = findings(tmp_path, picture, loader)["h2d-pageable-blocking"]
    assert "DataLoader(pin_memory=True)" in finding.fix


@pytest.mark.parametrize("size", [939, 9_633_920])
def test_pinned_memory_makes_large_copies_alone_faster(tmp_path: Path, size: int) -> None:
    picture = BATCH.format(call="copy", memory="P2D").replace("corr=5   ]", f"corr=5 bytes={size}]")
    (finding,) = findings(tmp_path, picture)["h2d-pageable-blocking"]
    assert any("pinned memory" in each for each in finding.caveats) == (size > 1 << 16)


def test_the_annotation_around_a_copy_is_named(tmp_path: Path) -> None:
    around = "    main notes   [outer                                          ]\n"
    picture = BATCH.format(call="copy", memory="P2D").rstrip() + "\n" + around
    (finding,) = findings(tmp_path, picture)["h2d-pageable-blocking"]
    assert "; under outer;" in finding.evidence


@pytest.mark.parametrize(
    ("size", "text"), [(1 << 20, "of 1.05 MB on average at "), (10, "of 10.0 B on average, ")]
)
def test_small_copies_have_no_rate(tmp_path: Path, size: int, text: str) -> None:
    rows = grid.events(BATCH.format(call="copy", memory="P2D"), NAMES)
    (copy,) = (each for each in rows if each["cat"] == "gpu_memcpy")
    copy["args"]["bytes"] = size
    (finding,) = diagnosed(grid.write(tmp_path / "t.json", rows))["h2d-pageable-blocking"]
    assert text in finding.evidence


BEGAN_BEFORE = """
    main ops   [aten::to                              ]
    main ops           [aten::copy_                  ]
    main calls      [copy corr=5]  [wait corr={number}]
    gpu  copy          [P2D corr=5]
    """
ENDED_BEFORE = """
    main ops   [aten::copy_    ] [aten::detach_]
    main calls    [copy corr=5 ] [wait corr={number}]
    gpu  copy       [P2D corr=5]
    """


@pytest.mark.parametrize("picture", [BEGAN_BEFORE, ENDED_BEFORE])
def test_a_wait_in_the_operator_next_to_that_of_its_copy(tmp_path: Path, picture: str) -> None:
    """Clocks of operators and calls differ by microseconds: the ids of the calls are in a row."""
    assert causes(tmp_path, picture.format(number=6)) == ["h2d-pageable-blocking"]
    other = ["h2d-nonblocking-unpinned", "sync-in-operator"]
    assert causes(tmp_path, picture.format(number=7)) == other
