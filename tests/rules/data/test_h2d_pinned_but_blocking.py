"""`h2d-pinned-but-blocking`."""

from __future__ import annotations

from pathlib import Path

from rules.drawn import findings

BATCH = """
    main notes [ProfilerStep#1                                                  ]
    main ops    [aten::to                              ] [aten::mm     ]
    main ops      [aten::copy_                        ]
    main calls     [copy corr=5]  [{then} corr=6     ]    [launch corr=7]
    gpu  copy             [{memory} corr=5   ]
    gpu  kernel [k]                                               [k corr=7]
    """


def test_pinned_memory_and_a_sync(tmp_path: Path) -> None:
    found = findings(tmp_path, BATCH.format(memory="pin2D", then="wait"))
    (finding,) = found["h2d-pinned-but-blocking"]
    assert finding.cost_us_per_step == finding.gain_bound_us_per_step
    assert finding.cost_us_per_step
    assert "sync-in-operator" not in found


def test_pinned_memory_without_a_sync(tmp_path: Path) -> None:
    found = findings(tmp_path, BATCH.format(memory="pin2D", then="cudaEventRecord"))
    assert "h2d-pinned-but-blocking" not in found


def test_memory_that_is_not_pinned(tmp_path: Path) -> None:
    found = findings(tmp_path, BATCH.format(memory="P2D", then="wait"))
    assert "h2d-pinned-but-blocking" not in found
