"""`sync-explicit`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import grid
import simulation.drawn
from rules.diagnosed import diagnosed
from rules.drawn import causes, findings
from shared_traces import shared_trace

from tb_hookview.loading import analyze
from tb_hookview.rules.engine.by_place import NO_STEPS

NAMES = {"s1": "ProfilerStep#1", "s2": "ProfilerStep#2", "s3": "ProfilerStep#3"}


def test_a_synchronize_that_no_operator_asked_for(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main ops   [aten::mm     ]                  [aten::mm     ]
        main calls [launch corr=1] [waitall       ] [launch corr=7]
        gpu  kernel        [k corr=1]                       [k corr=7]
        """,
    )
    (finding,) = found["sync-explicit"]
    assert finding.where == "not in a module, cudaDeviceSynchronize"
    assert (finding.cost_us_per_step or 0) > 0
    assert finding.caveats == [NO_STEPS]


def test_a_synchronize_before_a_graph_is_recorded(tmp_path: Path) -> None:
    """`torch.cuda.graph` makes it; another operator in between says that it is the program's."""
    for between, records in (("aten::fill_", True), ("aten::mul  ", False)):
        found = findings(
            tmp_path,
            f"""
            main ops   [aten::mm     ]                  [{between}]                    [aten::mm    ]
            main calls [launch corr=1] [waitall       ]               [begin]  [end  ][launch corr=7]
            gpu  kernel        [k corr=1]                                              [k corr=7]
            """,
            {"begin": "cudaStreamBeginCapture_v10000", "end": "cudaStreamEndCapture_v10000"},
        )
        (finding,) = found["sync-explicit"]
        assert finding.fix.startswith("Record graphs before the loop") is records


def test_a_copy_outside_of_operators(tmp_path: Path) -> None:
    """Its own row on the device is missing, as where the recording ends before that."""
    picture = """
        main ops   [aten::mm     ]                        [aten::mm     ]
        main calls [launch corr=1] [copy         ]        [launch corr=7]
        """
    drawn = simulation.drawn.events(picture)
    assert diagnosed(grid.write(tmp_path / "t.json", drawn)).causes == ["sync-in-operator"]


def test_a_barrier(tmp_path: Path) -> None:
    picture = """
        main ops   [c10d::barrier    ] [aten::mm     ]
        main calls  [wait           ]  [launch corr=7]
        """
    assert causes(tmp_path, picture) == ["sync-explicit"]


def test_one_a_step_may_be_a_measurement(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main notes [s1                   ][s2                   ][s3                   ]
        main ops    [aten::mm]             [aten::mm]             [aten::mm]
        main calls              [waitall ]             [waitall ]             [waitall ]
        main ops                                                                          [aten::mm]
        """,
        NAMES,
    )
    (finding,) = found["sync-explicit"]
    assert finding.count == 2, "the first step is left out"
    (caveat,) = finding.caveats
    assert "measure" in caveat


def test_the_last_step_ends_as_the_others_do(tmp_path: Path) -> None:
    """No operator follows its sync in the trace, but the profiler's own."""
    (finding,) = findings(
        tmp_path,
        """
        main notes [s1                   ][s2                   ][s3                   ]
        main ops    [aten::mm]             [aten::mm]             [aten::mm]
        main calls              [waitall ]             [waitall ]             [waitall ]  [waitall]
        """,
        NAMES,
    )["sync-explicit"]
    assert finding.count == 2, "the first step is left out"
    (caveat,) = finding.caveats
    assert "measure" in caveat


def test_the_end_of_the_program_in_its_last_step(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main notes [s1       ][s2       ][s3                   ]
        main ops    [aten::mm] [aten::mm] [aten::mm]
        main calls                                   [waitall ]  [waitall]
        """,
        NAMES,
    )
    assert "sync-explicit" not in found


def test_the_end_of_the_program_and_of_the_profiler(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main ops   [aten::mm     ]
        main calls [launch corr=1] [waitall       ] [waitall    ]
        gpu  kernel        [k corr=1]
        """,
    )
    assert not found.rules


def test_a_sync_of_a_thread_that_only_copies(tmp_path: Path) -> None:
    """A loader's thread that pins memory may block."""
    found = findings(
        tmp_path,
        """
        main ops   [aten::mm     ]                                [aten::mm     ]
        main calls [launch corr=1]                                [launch corr=7]
        pin  calls    [copy corr=3]     [wait     ]
        gpu  kernel        [k corr=1]                                  [k corr=7]
        """,
    )
    assert not found.rules


def test_one_stream_that_waits_for_another_does_not_block_the_host(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::mm     ]                         [aten::mm     ]
        main calls [launch corr=1] [cudaStreamWaitEvent]   [launch corr=7]
        gpu  kernel        [k corr=1]                           [k corr=7]
        """
    assert causes(tmp_path, picture) == []


def test_a_real_trace_without_operators() -> None:
    """48 `cudaStreamSynchronize`, each directly after a `cudaMemcpyAsync`, by a plain loop."""
    found = analyze(shared_trace("shift_equivariant_vit")).data
    rules = {finding.rule for finding in found.findings}
    assert not rules & {"sync-explicit", "h2d-nonblocking-unpinned"}
    assert {"h2d-pageable-blocking", "sync-d2h-copy"} <= rules
    causes = Counter(s.cause for s in found.syncs if not s.api.startswith("cudaDevice"))
    assert causes == {"sync-d2h-copy": 32, "h2d-pageable-blocking": 16}


def test_what_is_left_out_after_the_last_operator_is_counted(tmp_path: Path) -> None:
    """The summary counts it too."""
    picture = """
        main ops   [aten::mm     ]                  [aten::mm     ]
        main calls [launch corr=1] [waitall       ] [launch corr=7] [waitall       ] [cudaEventSynchronize]
        gpu  kernel        [k corr=1]                       [k corr=7]
        """
    (finding,) = findings(tmp_path, picture)["sync-explicit"]
    assert finding.count == 1
    left_out = "Not counted here: 1 sync before the first or after the last operator of the trace."
    assert left_out in finding.caveats
