"""`sync-ddp-timers`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.drawn import causes, findings, report
from shared_traces import shared_trace

from tb_hookview.loading import analyze

RULE = "sync-ddp-timers"
NAMES = {
    "event": "cudaEventSynchronize",
    "ddp": "DistributedDataParallel.forward",
    "s1": "ProfilerStep#1",
    "s2": "ProfilerStep#2",
}
BEFORE = """
    main notes [s1                   ][s2                                    ]
    main notes                         [ddp                               ]
    main ops    [aten::mm     ]                           [aten::mm     ]
    main calls  [launch corr=1]          [{call}]         [launch corr=7]
    gpu  kernel        [k corr=1            ]                     [k corr=7]
    """


def test_the_clock_of_distributed_data_parallel_costs_a_training_nothing(tmp_path: Path) -> None:
    """However long the device idles after it: later iterations do not wait."""
    found = findings(tmp_path, BEFORE.format(call="event"), NAMES)
    (finding,) = found[RULE]
    assert "sync-explicit" not in found
    assert finding.where == "not in a module, cudaEventSynchronize"
    assert (finding.severity, finding.cost_us_per_step) == ("info", 0.0)
    assert finding.gain_us_per_step is None
    assert finding.negligible
    assert "skip_first=10" in finding.fix


def test_other_syncs_as_its_forward_begins_are_the_programs(tmp_path: Path) -> None:
    found = findings(tmp_path, BEFORE.format(call="waitall"), NAMES)
    assert found.causes == ["sync-explicit"]


def test_timers_of_the_model_that_it_wraps_are_the_programs(tmp_path: Path) -> None:
    """They are read after an operator of the model has run, and in every iteration."""
    picture = """
        main notes [s1                   ][s2                                    ]
        main notes                         [ddp                               ]
        main ops    [aten::mm     ]         [aten::mm     ]
        main calls  [launch corr=1]         [launch corr=7] [event]
        gpu  kernel        [k corr=1            ]   [k corr=7 ]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-explicit"]


@pytest.mark.parametrize("call", ["event", "waitall"])
def test_what_its_clock_waits_for_another_sync_would_wait_for(tmp_path: Path, call: str) -> None:
    wait, work = " " * 90, " " * 100
    picture = f"""
    main notes [s1                   ][s2        {wait}                                       {work}                   ]
    main notes                         [ddp      {wait}                                       {work}                ]
    main ops    [aten::mm     ]                  {wait}           [aten::item                ]{work}[aten::mm     ]
    main calls  [launch corr=1]          [{call} {wait}        ]   [copy corr=5    ][wait   ] {work}[launch corr=7]
    gpu  copy                                    {wait}                 [D2P corr=5]          {work}
    gpu  kernel        [k corr=1                 {wait}       ]                               {work}         [k corr=7]
    """
    found = report(tmp_path, picture, NAMES).findings
    (finding,) = (each for each in found if each.rule == "sync-scalar-item")
    behind = [each for each in finding.caveats if "wait in its place here" in each]
    assert len(behind) == (call == "event")
    assert not finding.negligible


def test_a_real_training() -> None:
    """Eight in each of its steps, in pairs."""
    data = analyze(shared_trace("hta_a100_nccl_training")).data
    events = [sync for sync in data.syncs if sync.api == "cudaEventSynchronize"]
    assert len(events) == 24
    assert {sync.cause for sync in events} == {RULE}
