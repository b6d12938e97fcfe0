"""The routes below api/whatif: the steps as recorded and as predicted, on one axis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import pytest
from flask.testing import FlaskClient

from tb_hookview.analysis.dependencies.build import build
from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.server import create_app
from tb_hookview.simulation import simulator as simulator_module
from tb_hookview.simulation.simulator import Simulator

# The host launches, the device works for long, the host waits for that.
PICTURE = """
    main notes   [ProfilerStep#1                             ]
    main ops     [mm          ]    [item                 ]
    main calls     [launch corr=1]   [wait               ]
    gpu  kernel            [gemm corr=1                ]
"""
NAMES = {"launch": "cudaLaunchKernel", "wait": "cudaStreamSynchronize"}
WHOLE = {"start": "0", "end": "1000", "width": "1000"}


@pytest.fixture
def drawn(tmp_path: Path) -> FlaskClient:
    path = grid.write(tmp_path / "t.json", grid.events(PICTURE, NAMES))
    return create_app(path).test_client()


def ask(client: FlaskClient, route: str, status: int = 200, **more: Any) -> Any:
    (run, *_) = client.get("/api/runs").get_json()["runs"]
    named = {"run": run["name"], "worker": run["workers"][0]["name"]}
    answer = client.get(f"/api/whatif/{route}", query_string={**named, **more})
    assert answer.status_code == status, answer.text
    return answer.get_json() if status == 200 else answer.get_json()["error"]


def shown(client: FlaskClient, **question: Any) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Start and length of the blocks of each lane, by group and kind."""
    lanes = {lane["id"]: lane for lane in ask(client, "lanes", **question)["lanes"]}
    window = ask(client, "window", **WHOLE, **question)
    return {
        (lanes[lane["id"]]["group"], lanes[lane["id"]]["kind"]): list(
            zip(lane["start"], lane["duration"], strict=True)
        )
        for lane in window["lanes"]
    }


# In a long step the host waits for a kernel that ends early, and for one that ends with the wait.
IDLE, BUSY = (
    f"""
    main notes   [ProfilerStep#1{" " * 600}]
    main ops     [mm          ]    [item               ][mm          ]
    main calls     [launch corr=1]   [wait             ][launch corr=2]
    gpu  kernel            {gemm}[gemm corr=2]
"""
    for gemm in ("[gemm corr=1      ]           ", "[gemm corr=1                 ]")
)


@pytest.mark.parametrize(("picture", "colour"), [(IDLE, "wait"), (BUSY, "idle")])
def test_a_wait_has_the_colour_of_waits_only_if_the_device_is_idle(
    tmp_path: Path, picture: str, colour: str
) -> None:
    path = grid.write(tmp_path / "t.json", grid.events(picture, NAMES))
    client = create_app(path).test_client()
    answer = ask(client, "lanes")
    (host,) = (
        one["id"]
        for one in answer["lanes"]
        if (one["group"], one["kind"]) == ("as recorded", "host")
    )
    window = ask(client, "window", **WHOLE)
    (lane,) = (one for one in window["lanes"] if one["id"] == host)
    colours = {answer["colours"][index] for index in lane["colour"]}
    assert colours & {"wait", "idle"} == {colour}


def test_recorded_lanes_come_first_and_the_same_ones_predicted_follow(drawn: FlaskClient) -> None:
    lanes = ask(drawn, "lanes", scale="kernels=0.5")["lanes"]
    kinds = ["steps", "path", "host", "device"]
    assert [lane["kind"] for lane in lanes] == [*kinds, *kinds]
    assert [lane["group"] for lane in lanes] == ["as recorded"] * 4 + ["as predicted"] * 4


def test_kernels_of_half_the_time_end_the_wait_and_the_step_earlier(drawn: FlaskClient) -> None:
    lanes = shown(drawn, scale="kernels=0.5")
    assert lanes["as recorded", "device"] == [(10, 29)]
    ((start, length),) = lanes["as predicted", "device"]
    assert (start, length) == (10, 14.5)
    assert lanes["as recorded", "steps"] == [(0, 45)]
    ((start, length),) = lanes["as predicted", "steps"]
    assert start == 0
    assert length < 45
    host, waits = lanes["as predicted", "host"], lanes["as recorded", "host"]
    assert sum(block[1] for block in host) < sum(block[1] for block in waits)


def test_without_a_change_a_prediction_is_the_recording_but_for_its_error(
    drawn: FlaskClient,
) -> None:
    lanes = shown(drawn)
    for (group, kind), blocks in lanes.items():
        if group == "as recorded":
            then = lanes["as predicted", kind]
            assert [b for pair in then for b in pair] == pytest.approx(
                [b for pair in blocks for b in pair], abs=0.1
            )


@pytest.mark.parametrize(
    ("asked", "status", "says"),
    [
        ({"scale": "host=-1"}, 400, "0 or more"),
        ({"scale": "batch=2"}, 400, "batch"),
        ({"without": "no-such-rule"}, 404, "no-such-rule"),
        ({"width": "0"}, 400, "width="),
        ({"start": "9", "end": "5"}, 400, "later"),
    ],
)
def test_a_bad_question_is_answered_with_its_reason(
    drawn: FlaskClient, asked: dict[str, str], status: int, says: str
) -> None:
    message = ask(drawn, "window", status, **{**WHOLE, **asked})["message"]
    assert says in message
    assert "\n" not in message


def test_steps_that_are_not_replayed_have_no_lanes_but_a_reason(tmp_path: Path) -> None:
    picture = PICTURE.replace("gemm corr=1", "gemm       ")
    path = grid.write(tmp_path / "t.json", grid.events(picture, NAMES))
    message = ask(create_app(path).test_client(), "lanes", 400)["message"]
    assert "launches of 0%" in message


def launched_ahead(step: int) -> list[dict[str, Any]]:
    """A step of many kernels, one after the other; the host waits for the last one."""
    start, many = 20_000 * step, 500
    rows = [
        event("user_annotation", f"ProfilerStep#{step}", start, 18_000),
        event("cuda_runtime", "cudaStreamSynchronize", start + 6000, 30 * many - 5900),
    ]
    for kernel in range(many):
        same = {"correlation": many * step + kernel}
        call = event("cuda_runtime", "cudaLaunchKernel", start + 10 + 10 * kernel, 5, **same)
        work = event("kernel", "gemm", start + 100 + 30 * kernel, 29, device=0, stream=7, **same)
        rows += [call, work]
    return rows


def event(category: str, name: str, start: int, length: int, **args: int) -> dict[str, Any]:
    place = {"pid": 0, "tid": 7} if "device" in args else {"pid": 77, "tid": 1}
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "ts": start,
        "dur": length,
        "args": args,
    } | place


def test_an_answer_is_bounded_and_its_steps_are_the_prediction(tmp_path: Path) -> None:
    path = grid.write(tmp_path / "t.json", launched_ahead(1) + launched_ahead(2))
    client = create_app(path).test_client()
    overview = ask(client, "lanes", scale="kernels=0.5")
    length = overview["duration_us"]
    whole = {"start": "0", "end": str(length), "width": "300", "scale": "kernels=0.5"}
    window = ask(client, "window", **whole)
    assert all(len(lane["start"]) <= 3 * 300 for lane in window["lanes"])
    simulator = Simulator(Selection(load(path), None))
    recorded, predicted = (row["id"] for row in overview["lanes"] if row["kind"] == "steps")
    blocks = {lane["id"]: lane for lane in window["lanes"]}
    assert len(blocks[recorded]["start"]) == len(simulator.window.steps)
    assert len(blocks[predicted]["start"]) == len(simulator.window.steps)
    assert sum(blocks[predicted]["duration"]) < 0.8 * sum(blocks[recorded]["duration"])


def test_timeline_and_replays_share_one_graph(
    drawn: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links, critical path, an answer and its lanes: the graph is built once."""
    built = []

    def counted(*args: Any) -> Any:
        built.append(args)
        return build(*args)

    monkeypatch.setattr(simulator_module, "build", counted)
    (run, *_) = drawn.get("/api/runs").get_json()["runs"]
    query = {"run": run["name"], "worker": run["workers"][0]["name"]}
    lanes = drawn.get("/api/timeline", query_string=query).get_json()["lanes"]
    path = next(lane["id"] for lane in lanes if lane["kind"] == "path")
    window = drawn.get("/api/timeline/window", query_string={**query, **WHOLE, "lanes": path})
    assert [lane["id"] for lane in window.get_json()["lanes"]] == [path]
    assert drawn.get("/api/whatif", query_string=query).status_code == 200
    assert ask(drawn, "lanes", scale="kernels=0.5")["lanes"]
    assert len(built) == 1


def test_what_is_no_answer_has_no_lanes(tmp_path: Path) -> None:
    """Of most launches the device events are missing; the steps as recorded are known."""
    lost = """
    main notes   [ProfilerStep#1                                              ]
    main calls     [launch corr=1] [launch corr=8] [launch corr=9]
    gpu  kernel            [gemm corr=1                ]
    """
    path = grid.write(tmp_path / "t.json", grid.events(lost, NAMES))
    client = create_app(path).test_client()
    assert ask(client, "lanes")["lanes"]
    why = "67% of the launches have no device events in the trace"
    assert why in ask(client, "lanes", status=400, scale="kernels=0.5")["message"]
