"""`sync-d2h-copy`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.drawn import causes, findings, findings_with_types


@pytest.mark.parametrize("memory", ["D2P", "D2pin"])
def test_a_tensor_brought_to_the_host(tmp_path: Path, memory: str) -> None:
    """Into pageable memory the copy blocks, into pinned memory the synchronize does."""
    found = findings(
        tmp_path,
        f"""
        main ops   [aten::to                              ] [aten::mm     ]
        main ops     [aten::copy_                        ]
        main calls    [copy corr=5]  [wait corr=6       ]   [launch corr=7]
        gpu  copy            [{memory} corr=5     ]
        gpu  kernel [k   ]                                          [k corr=7]
        """,
    )
    (finding,) = found["sync-d2h-copy"]
    assert finding.where == "not in a module, aten::to"
    assert found.rules == {"sync-d2h-copy"}


@pytest.mark.parametrize(("memory", "copied", "idle"), [("D2P", 28, 15), ("D2pin", 0, 13)])
def test_pinned_memory_takes_half_as_long(
    tmp_path: Path, memory: str, copied: float, idle: float
) -> None:
    """Half of a copy into pageable memory goes, and the idle time, whatever the memory."""
    (finding,) = findings(
        tmp_path,
        f"""
        main ops   [aten::to                                          ] [aten::mm     ]
        main ops     [aten::copy_                                    ]
        main calls    [copy corr=5]              [wait corr=6       ]   [launch corr=7]
        gpu  copy            [{memory} corr=5                ]
        gpu  kernel [k   ]                                                      [k corr=7]
        """,
    )["sync-d2h-copy"]
    assert finding.cost_us_per_step == pytest.approx(copied + idle)
    assert finding.gain_bound_us_per_step == pytest.approx(copied / 2 + idle)
    assert any("takes half as long" in text for text in finding.caveats) == (copied > 0)


def test_a_copy_that_does_not_block(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main ops   [aten::to               ]
        main ops     [aten::copy_         ]
        main calls    [copy corr=5]
        gpu  copy                [D2pin corr=5     ]
        """,
    )
    assert "sync-d2h-copy" not in found


def test_a_single_value(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::item                           ]
        main ops     [aten::_local_scalar_dense         ]
        main calls    [copy corr=5]  [wait corr=6       ]
        gpu  copy            [D2P corr=5       ]
        """
    assert causes(tmp_path, picture) == ["sync-scalar-item"]


def test_a_copy_to_the_device(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::to                              ]
        main ops     [aten::copy_                        ]
        main calls    [copy corr=5]  [wait corr=6       ]
        gpu  copy            [P2D corr=5       ]
        """
    assert causes(tmp_path, picture) != ["sync-d2h-copy"]


def test_a_copy_of_another_operator_before_the_sync(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::copy_        ] [aten::foo         ]
        main calls    [copy corr=5]       [wait corr=6   ]
        gpu  copy            [D2pin corr=5       ]
        """
    assert causes(tmp_path, picture) == ["sync-in-operator"]


@pytest.mark.parametrize(
    ("label", "remedy"), [("wait_sparse_data_dist", "sizes, splits"), ("evaluate", "Reduce on")]
)
def test_the_remedy_where_batches_are_exchanged(tmp_path: Path, label: str, remedy: str) -> None:
    (finding,) = findings(
        tmp_path,
        """
        main notes [around                                     ]
        main ops   [aten::to                           ]   [aten::mm     ]
        main ops    [aten::copy_                       ]
        main calls    [copy corr=5]  [wait corr=6     ]     [launch corr=7]
        gpu  copy            [D2P corr=5       ]
        gpu  kernel [k   ]                                       [k corr=7]
        """,
        {"around": label},
    )["sync-d2h-copy"]
    assert f"under {label};" in finding.evidence
    assert remedy in finding.fix


@pytest.mark.parametrize(
    ("kind", "following", "remedy"),
    [
        ("long int", "c10d::alltoall_base_", "sizes, splits"),
        ("long int", "aten::mm", "Reduce on"),
        ("float", "c10d::alltoall_base_", "Reduce on"),
    ],
)
def test_integers_that_an_all_to_all_follows(
    tmp_path: Path, kind: str, following: str, remedy: str
) -> None:
    """As the split sizes of one, without an annotation."""
    picture = f"""
        main ops   [aten::to                         ] [aten::resolve_neg] [{following}      ]
        main ops    [aten::copy_                    ]
        main calls    [copy corr=5]  [wait corr=6  ]                         [launch corr=7]
        gpu  copy            [D2P corr=5       ]
        gpu  kernel [k   ]                                                                [k corr=7]
        """
    types = {"aten::to": kind, "aten::copy_": kind}
    (finding,) = findings_with_types(tmp_path, picture, types)["sync-d2h-copy"]
    assert remedy in finding.fix


def test_without_operators_the_call_before_a_sync_is_its_copy(tmp_path: Path) -> None:
    """Both into the host's memory and out of it: no sync of these is an explicit one."""
    picture = """
        main calls [launch corr=1][copy corr=5][wait ][copy corr=6][wait    ][event   ][launch corr=7]
        gpu  copy                     [D2P corr=5 ]      [P2D corr=6  ]
        gpu  kernel     [k corr=1]                                               [k corr=7         ]
        """
    assert causes(tmp_path, picture, {"event": "cudaEventSynchronize"}) == [
        *("sync-d2h-copy", "h2d-pageable-blocking", "sync-explicit")
    ]


def test_without_operators_a_few_bytes_are_probably_a_value(tmp_path: Path) -> None:
    picture = """
        main calls [launch corr=1][copy corr=5          ][wait][launch corr=7]
        gpu  copy                     [D2P corr=5 bytes=4]
        gpu  kernel     [k corr=1]                            [k corr=7      ]
        """
    (finding,) = findings(tmp_path, picture)["sync-d2h-copy"]
    assert "probably read by .item()" in finding.evidence
    assert "Keep metrics as detached tensors" in finding.fix


def test_a_result_after_which_nothing_is_launched_gains_nothing(tmp_path: Path) -> None:
    picture = """
        main notes [ProfilerStep#1                                   ]
        main ops   [aten::mm     ] [aten::to                         ]
        main ops                    [aten::copy_                     ]
        main calls [launch corr=1]   [copy corr=5]  [wait          ]
        gpu  copy                                        [D2P corr=5]
        gpu  kernel     [k corr=1                       ]
        """
    (finding,) = findings(tmp_path, picture)["sync-d2h-copy"]
    assert finding.severity == "info"
    assert finding.gain_us_per_step is None
    assert finding.evidence.endswith(
        "nothing is launched after it, so that the device cannot idle because of it"
    )
