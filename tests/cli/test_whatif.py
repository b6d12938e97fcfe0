"""`hookview whatif`."""

from __future__ import annotations

import json
from pathlib import Path

import grid
import pytest
from simulation import drawn
from support.command import call

TRACE = """
    main notes [ProfilerStep#1                                                  ]
    main notes [loader             ]
    main calls                      [launch corr=1][launch corr=2]
    gpu kernel                      [k corr=1     ][j corr=2                 ]
"""
"""2,100 us of loading, then kernels of 1,500 and 2,700 us; the step is 6,600 us on the host."""


@pytest.fixture
def trace(tmp_path: Path) -> str:
    return str(grid.write(tmp_path / "t.json", drawn.events(TRACE)))


def test_the_answer_as_json(trace: str) -> None:
    answer = json.loads(call("whatif", trace, "--scale", "data=0", "--json").stdout)
    assert answer["refused"] is None
    assert (answer["step_us"], answer["replayed_us"], answer["predicted_us"]) == (6600, 6600, 4500)
    assert (answer["low_us"], answer["high_us"], answer["unexplained_us"]) == (4500, 4500, 0)
    assert sum(answer["critical_path"].values()) == answer["predicted_us"]
    assert answer["replayed_path"]["data"] == 2100
    assert answer["launches_known"] == 1


def test_a_finding_is_taken_out_by_its_rule_and_by_its_id(trace: str) -> None:
    answers = [
        json.loads(call("whatif", trace, "--without", name, "--json").stdout)
        for name in (
            "loader-single-process",
            "loader-single-process:enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        )
    ]
    assert [answer["predicted_us"] for answer in answers] == [4500, 4500]


def test_several_changes_are_one_replay(trace: str) -> None:
    questions = ["--scale", "data=0", "--scale", "host=0.5", "--scale", "kernel:j=0.5"]
    answer = json.loads(call("whatif", trace, *questions, "--json").stdout)
    assert answer["predicted_us"] == 1500 + 1350


def test_it_is_told_to_people(trace: str) -> None:
    text = call("whatif", trace, "--scale", "data=0").stdout
    assert "step 6.60 ms, host and device, replayed as" in text
    assert "with the change 4.50 ms" in text
    assert "estimated by trace replay" in text


def test_a_step_on_the_cpu_has_no_device_work(tmp_path: Path) -> None:
    picture = """
        main notes [ProfilerStep#1   ]
        main ops    [convolution   ]
    """
    events = grid.events(picture, {"convolution": "aten::mkldnn_convolution"})
    path = grid.write(tmp_path / "t.json", events)
    assert "\nstep 19.0 us, replayed as 19.0 us" in call("whatif", str(path)).stdout


@pytest.mark.parametrize(("operator", "known"), [("mm", False), ("mkldnn_convolution", True)])
def test_a_device_that_may_not_be_recorded_cannot_be_scaled(
    tmp_path: Path, operator: str, *, known: bool
) -> None:
    """Where operators show that the model ran on the CPU there is nothing to scale."""
    path = grid.write(tmp_path / "t.json", grid.events(f"main ops [aten::{operator} ]"))
    text = call("whatif", str(path), "--scale", "kernels=0").stdout
    assert ("not replayed: kernels: the trace has no device events" in text) != known
    assert ("with the change" in text) == known
    assert "host and device" not in text
    assert "there are none" in call("whatif", str(path), "--scale", "kernel:k=0").stderr


@pytest.mark.parametrize(
    ("picture", "known"),
    [
        ("main ops [aten::mm          ]", True),
        ("main ops [aten::cudnn_gru   ]", False),
        ("main calls [launch corr=1   ]", False),
    ],
    ids=["maybe", "operator", "launch"],
)
def test_nor_can_the_host_where_a_device_ran(tmp_path: Path, picture: str, *, known: bool) -> None:
    """Its time may be that of waiting; nothing changed is replayed all the same."""
    events = grid.events(picture, {"launch": "cudaLaunchKernel"})
    path = str(grid.write(tmp_path / "t.json", events))
    text = call("whatif", path, "--scale", "host=0.5").stdout
    assert ("not replayed: host: the trace has no device events, though a device" in text) != known
    assert ("with the change" in text) == known
    assert "replayed as" in call("whatif", path).stdout


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (("--scale", "kernels=-1"), "a factor is 0 or more"),
        (("--scale", "kernels=nan"), "a factor is 0 or more"),
        (("--scale", "kernels"), "is not WHAT=FACTOR"),
        (("--scale", "kernels=fast"), "the factor is not a number"),
        (("--scale", "host=1", "--scale", "host=2"), "scaled twice"),
        (("--scale", "speed=2"), "cannot be scaled; there are kernels, "),
        (("--scale", "kind:fast=2"), "no kind 'fast'; there are matrix, "),
        (("--scale", "kernel:none=2"), "no kernel 'none'; there are j, k"),
        (("--scale", "module:fc=0"), "no module 'fc'"),
        (("--scale", "syncs=0.5"), "syncs=0 takes them out"),
        (("--without", "sync-scalar-item"), "no finding 'sync-scalar-item' in this trace"),
    ],
)
def test_a_question_that_cannot_be_asked_is_one_line(
    trace: str, question: tuple[str, str], said: str
) -> None:
    done = call("whatif", trace, *question)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_modules_and_kinds_stand_with_their_slack(trace: str) -> None:
    """The loader is not in a module; the host binds, kernels have some time left."""
    text = call("whatif", trace).stdout
    answer = json.loads(call("whatif", trace, "--json").stdout)
    (kind,) = answer["path_kinds"]
    assert (kind["device_us"], kind["path_us"]) == (4200, 0)
    (said,) = [line.split() for line in text.splitlines() if line.startswith(kind["kind"])]
    assert said[1:] == ["4.20", "ms", "0", "us", f"{kind['slack_us']:.0f}", "us"]
    (module,) = [line.split() for line in text.splitlines() if "not in a module" in line]
    assert module == ["not", "in", "a", "module", "6.60", "ms", "0", "us"]


def test_a_refused_replay_says_why(tmp_path: Path) -> None:
    path = grid.write(tmp_path / "t.json", drawn.events(TRACE.replace("j corr=2", "j corr=9")))
    answer = json.loads(call("whatif", str(path), "--json").stdout)
    assert "launches of 36% of the device's time" in answer["refused"]
    assert answer["predicted_us"] is answer["critical_path"] is None
    assert "not replayed" in call("whatif", str(path)).stdout
