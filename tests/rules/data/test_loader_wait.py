"""`loader-wait`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.drawn import findings, report

from tb_hookview.formats import format_us

NAMES = {
    "next": "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
    "single": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    "stateful": "enumerate(DataLoader)#_StatefulSingleProcessDataLoaderIter.__next__",
}
STEP = """
    main notes [ProfilerStep#1                                                      ]
    main notes  [{loader}                        ]
    main ops                                         [aten::mm        ]
    main calls                                          [launch corr=7]
    gpu  kernel [{before}]                                       [k corr=7]
    """


def test_the_device_idles_for_the_loader(tmp_path: Path) -> None:
    found = findings(tmp_path, STEP.format(loader="next", before="k"), NAMES)
    (finding,) = found["loader-wait"]
    assert finding.where == NAMES["next"]
    assert finding.cost_us_per_step
    assert finding.cost_us_per_step > 20
    assert {advice.id for advice in finding.advice} == {
        *("storage-io-bound", "cpu-preprocess-format", "host-cpu-tuning")
    }


@pytest.mark.parametrize(("after", "remedy"), [(4, "num_workers"), (16, "collate_fn")])
def test_a_batch_whose_tensors_are_taken_over_has_arrived(
    tmp_path: Path, after: int, remedy: str
) -> None:
    picture = STEP.format(loader="next", before="k")
    row = " " * (30 - after) + "[a".ljust(after - 1) + "]"
    picture = picture.replace("    main calls", f"    main ops    {row}\n    main calls")
    (finding,) = findings(tmp_path, picture, NAMES)["loader-wait"]
    assert f"; {format_us(after)} of that after the batch had arrived" in finding.evidence
    assert remedy in finding.fix


def test_the_quickest_call_shows_what_a_loader_that_keeps_up_takes(tmp_path: Path) -> None:
    picture = """
    main notes  [s1                 ][s2                   ][s3                              ]
    main notes  [next]                 [n]                     [next           ]
    main ops          [aten::mm    ]      [aten::mm       ]                    [aten::mm     ]
    main calls           [go corr=6]         [go corr=7]                          [go corr=8]
    gpu  kernel                 [k corr=6]          [k corr=7]                         [k corr=8]
    """
    words = {f"s{n}": f"ProfilerStep#{n}" for n in (1, 2, 3)}
    words |= {"n": NAMES["next"], "go": "cudaLaunchKernel"}
    (finding,) = findings(tmp_path, picture, {**NAMES, **words})["loader-wait"]
    assert "for at least 3.00 us and at most 17.0 us at a time" in finding.evidence


def test_the_device_is_busy_meanwhile(tmp_path: Path) -> None:
    busy = STEP.format(loader="next", before="k" + " " * 46)
    assert "loader-wait" not in findings(tmp_path, busy, NAMES)


def test_a_loader_that_keeps_up(tmp_path: Path) -> None:
    quick = STEP.format(loader="next", before="k").replace("[next                        ]", "[n]")
    assert "loader-wait" not in findings(tmp_path, quick, {"n": NAMES["next"]})


@pytest.mark.parametrize("loader", ["single", "stateful"])
def test_a_loader_without_workers(tmp_path: Path, loader: str) -> None:
    found = findings(tmp_path, STEP.format(loader=loader, before="k"), NAMES)
    assert "loader-wait" not in found
    assert "loader-single-process" in found


def test_the_first_step_warms_up(tmp_path: Path) -> None:
    """What its loader takes counts in no other step."""
    picture = """
    main notes  [s1             ][s2                                                             ]
    main notes  [next]                      [n]
    main calls        [go corr=7]              [go corr=8]
    gpu  kernel [k]              [k corr=7]          [k corr=8                                   ]
    """
    words = {"s1": "ProfilerStep#1", "s2": "ProfilerStep#2", "go": "cudaLaunchKernel"}
    assert "loader-wait" not in findings(tmp_path, picture, {**NAMES, **words, "n": NAMES["next"]})


@pytest.mark.parametrize(("second", "once"), [("[n]", True), ("[n                 ]", False)])
def test_workers_start_once(tmp_path: Path, second: str, once: bool) -> None:
    """Unless a later batch is waited for, too."""
    picture = f"""
    main notes  [next{" " * 300}]               {second}                           [n]
    main ops    {" " * 310}[mm         ]                 [mm           ]
    main calls  {" " * 310} [go corr=7]                   [go corr=8 ]
    gpu  kernel [k]{" " * 320}[k corr=7                          ][k corr=8                  ]
    """
    words = {**NAMES, "n": NAMES["next"], "go": "cudaLaunchKernel"}
    (finding,) = findings(tmp_path, picture, words)["loader-wait"]
    assert (finding.once_us is not None, finding.severity == "low") == (once, once)
    assert ("as workers start" in finding.evidence) == once
    verdict = report(tmp_path, picture, words).verdict
    assert (verdict.bound == "data") != once
    assert ("Worker startup adds" in verdict.sentence) == once


PACED = """
    main notes  [s1                                     ][s2                                     ][s3                                     ]
    main notes  [next]                                    [next]                                    {third}
    main ops          [aten::item          ]                    [aten::item          ]                    [aten::item          ]
    main calls         [go corr=1][wait    ]   [go corr=2]       [go corr=3][wait    ]   [go corr=4]       [go corr=5][wait    ]   [go corr=6]
    gpu  kernel           [k corr=1       ]        [k corr=2]       [k corr=3       ]        [k corr=4]       [k corr=5       ]        [k corr=6]
    """


@pytest.mark.parametrize(("third", "every"), [("[next]", True), ("", False)])
def test_a_wait_in_every_step_comes_first(tmp_path: Path, third: str, every: bool) -> None:
    """Workers that set the pace take back whatever else is saved."""
    words = {f"s{n}": f"ProfilerStep#{n}" for n in (1, 2, 3)}
    words["go"] = "cudaLaunchKernel"
    found = report(tmp_path, PACED.format(third=third), {**NAMES, **words}).findings
    saved = {each.rule: each.gain_us_per_step or 0.0 for each in found}
    assert max(saved, key=lambda rule: saved[rule]) == "sync-scalar-item"
    assert (found[0].rule == "loader-wait") == every
    said = "The host waits for the loader's workers in every step, at least 6.00 us: "
    paced = {each.rule for each in found if any(one.startswith(said) for one in each.caveats)}
    assert ("sync-scalar-item" in paced, "loader-wait" in paced) == (every, False)
