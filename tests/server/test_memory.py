"""The route api/memory: bounded answers about a window, for any device of the trace."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import grid
import pytest
from flask.testing import FlaskClient
from support.allocator_rows import CPU, rows

from tb_hookview.server import create_app

MEGABYTE = 1_000_000
PICTURE = """
    main notes [ProfilerStep#1     ][ProfilerStep#2      ]
    main ops    [aten::mm         ]  [aten::mm         ]
"""


@pytest.fixture
def drawn(tmp_path: Path) -> FlaskClient:
    # The second step's peak is the lower one; addresses are in order of time.
    on_device = [(15, 1, 100), (20, 1, -100), (37, 2, 60), (45, 2, -60)]
    on_host = rows([(16, 9, 4000), (21, 9, -4000)], device=CPU)
    events = grid.events(PICTURE) + rows(on_device, before=7) + on_host
    return create_app(grid.write(tmp_path / "t.json", events)).test_client()


def ask(client: FlaskClient, status: int = 200, **more: Any) -> Any:
    (run, *_) = client.get("/api/runs").get_json()["runs"]
    named = {"run": run["name"], "worker": run["workers"][0]["name"]}
    answer = client.get("/api/memory", query_string={**named, **more})
    assert answer.status_code == status, answer.text
    assert len(answer.data) < MEGABYTE
    return answer.get_json() if status == 200 else answer.get_json()["error"]


def test_the_accelerator_comes_first_with_its_curve_and_peaks(drawn: FlaskClient) -> None:
    answer = ask(drawn)
    assert answer["devices"] == ["cuda:0", "cpu"]
    assert [(p["id"], p["allocated_bytes"]) for p in answer["peaks"]] == [
        ("cpu", 4000), ("cuda:0", 107), ("cuda:0:0", 107), ("cuda:0:1", 67)
    ]  # fmt: skip
    curve = answer["curve"]
    assert curve["allocated_bytes"] == [107, 7, 67, 7]
    assert curve["classes"] == {"before_recording": [7] * 4, "temporary": [100, 0, 60, 0]}
    assert curve["exact"]
    assert curve["reserved_bytes"] == [1000] * 4
    assert [band["name"] for band in curve["steps"]] == ["ProfilerStep#1", "ProfilerStep#2"]


def test_a_window_begins_with_the_level_at_its_start(drawn: FlaskClient) -> None:
    curve = ask(drawn, start=1030, end=1040)["curve"]
    assert (curve["time_us"], curve["allocated_bytes"]) == ([1030, 1037], [7, 67])


def test_a_device_and_a_step(drawn: FlaskClient) -> None:
    assert ask(drawn, device="cpu")["curve"]["reserved_bytes"] is None
    (row,) = ask(drawn, step="ProfilerStep#2")["modules"]
    assert (row["module"], row["peak_bytes"]) == (None, 67)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"device": "cuda:7"}, 404),
        ({"points": "many"}, 400),
        ({"points": 3}, 400),
        ({"points": 9999}, 400),
        ({"start": 1}, 400),
        ({"step": "ProfilerStep#77"}, 404),
    ],
)
def test_what_has_no_answer(drawn: FlaskClient, query: dict[str, Any], status: int) -> None:
    assert ask(drawn, status, **query)["message"]


def test_a_trace_without_memory_says_so(tmp_path: Path) -> None:
    client = create_app(grid.write(tmp_path / "t.json", grid.events(PICTURE))).test_client()
    answer = ask(client)
    assert (answer["recorded"], answer["curve"], answer["devices"]) == (False, None, [])


def test_a_long_curve_is_short_and_exact_at_its_peak(tmp_path: Path) -> None:
    sizes = Random(0).sample(range(1, 10_000), 500)
    blocks = [(2 * n, n + 1, size) for n, size in enumerate(sizes)]
    freed = [(2 * n + 601, n + 1, -size) for n, size in enumerate(sizes)]
    events = grid.events(f"main notes [ProfilerStep#1{' ' * 2000}]") + rows(sorted(blocks + freed))
    answer = ask(create_app(grid.write(tmp_path / "t.json", events)).test_client(), points=50)
    curve, peak = answer["curve"], answer["peaks"][-1]
    assert len(curve["time_us"]) <= 50
    assert not curve["exact"]
    assert max(curve["allocated_bytes"]) == peak["allocated_bytes"]
    assert curve["time_us"][curve["allocated_bytes"].index(peak["allocated_bytes"])] == (
        pytest.approx(peak["time_us"])
    )
    sums = [sum(levels) for levels in zip(*curve["classes"].values(), strict=True)]
    assert sums == curve["allocated_bytes"]


def test_blocks_come_page_by_page(drawn: FlaskClient) -> None:
    (run, *_) = drawn.get("/api/runs").get_json()["runs"]
    named = {"run": run["name"], "worker": run["workers"][0]["name"]}
    answer = drawn.get(
        "/api/table/memory_blocks",
        query_string={**named, "sort": "-bytes", "limit": 1, "filter": "device:eq:cuda:0"},
    ).get_json()
    assert (answer["total"], answer["left_out"]) == (2, 1)
    assert (answer["rows"][0]["bytes"], answer["rows"][0]["lifetime_us"]) == (100, 5)
