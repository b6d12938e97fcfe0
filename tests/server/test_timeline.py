"""The routes under api/timeline: the shapes of http_api.md, and what is no question."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

NEWEST = {"run": "rank2", "worker": "host_1"}
WHOLE = {"start": "0", "end": "9583.086", "width": "1400"}
COLUMNS = ("start", "duration", "depth", "name", "colour", "count", "event")


@pytest.fixture
def client(read_once: FlaskClient) -> FlaskClient:
    return read_once


def ask(client: FlaskClient, route: str = "", **query: Any) -> Any:
    answer = client.get(f"/api/timeline{route}", query_string={**NEWEST, **query})
    assert answer.status_code == 200, answer.text
    return answer.get_json()


def test_the_overview_lists_lanes_that_windows_then_show(client: FlaskClient) -> None:
    overview = ask(client)
    report = client.get("/api/report", query_string=NEWEST).get_json()
    for key in ("start_us", "duration_us", "events"):
        assert overview[key] == report["trace"][key]
    assert [lane["id"] for lane in overview["lanes"]] == list(map(str, range(9)))
    assert len({len(column) for column in overview["minimap"].values()}) == 1
    shown = ask(client, "/window", **WHOLE)
    assert (shown["start"], shown["end"]) == (0, 9583.086)
    drawn = {lane["id"]: lane for lane in shown["lanes"]}
    curves = {curve["id"]: curve for curve in shown["curves"]}
    assert "1" not in drawn
    for lane in overview["lanes"]:
        if lane["kind"] == "path":
            assert lane["events"] is None
            continue
        if lane["kind"] in ("queue", "memory"):
            assert len(curves[lane["id"]]["start"]) == len(curves[lane["id"]]["value"]) > 0
            continue
        columns = [drawn[lane["id"]][name] for name in COLUMNS]
        assert len({len(column) for column in columns}) == 1
        assert sum(drawn[lane["id"]]["count"]) == lane["events"]
        assert max(drawn[lane["id"]]["depth"]) + 1 == lane["depth"]
        assert max(drawn[lane["id"]]["name"]) < len(shown["names"])
        assert max(drawn[lane["id"]]["colour"]) < len(overview["colours"])


def test_lanes_that_are_named_are_shown_alone(client: FlaskClient) -> None:
    shown = ask(client, "/window", **WHOLE, lanes="4,6,6")
    assert [lane["id"] for lane in shown["lanes"]] == ["6"]
    assert [curve["id"] for curve in shown["curves"]] == ["4"]
    nothing = ask(client, "/window", **WHOLE, lanes="")
    assert (nothing["lanes"], nothing["curves"], nothing["names"]) == ([], [], [])


def test_a_window_before_the_trace_shows_what_is_there(client: FlaskClient) -> None:
    shown = ask(client, "/window", start="-150", end="-100", width="10")
    assert sum(map(len, (lane["start"] for lane in shown["lanes"]))) == 1
    assert shown["names"] == ["PyTorch Profiler (0)"]


def test_an_event_a_search_and_a_selection_are_answered(client: FlaskClient) -> None:
    found = ask(client, "/search", q="hipDeviceSynchronize")
    assert found["total"] == len(found["hits"]) == sum(found["density"]) == 1
    assert len(found["density"]) == 1000
    (hit,) = found["hits"]
    event = ask(client, "/event", id=hit["id"])
    assert {key: event[key] for key in hit} == hit
    assert event["category"] == "runtime"
    assert event["args"]["correlation"] == "137"
    until = {"start": hit["start"], "end": hit["start"] + hit["duration"]}
    window = ask(client, "/statistics", **until)
    assert window["sync_blocked_us"] == pytest.approx(hit["duration"])
    assert (window["waits"], window["host_blocked_us"]) == (1, 0)  # the profiler's, as it stops
    assert ask(client, "/search", q="hipDevice", **until, width=7)["density"] == [1] + [0] * 6


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"start": "x"}, "start="),
        ({"start": ""}, "start="),
        ({"start": "nan"}, "start="),
        ({"end": "inf"}, "end="),
        ({"end": "1e300"}, "end="),
        ({"end": "-1e13000"}, "end="),
        ({"start": "5", "end": "5"}, "later"),
        ({"start": "5", "end": "5.0001"}, "later"),
        ({"start": "7", "end": "5"}, "later"),
        ({"end": "-5"}, "later"),
    ],
)
@pytest.mark.parametrize("route", ["window", "statistics", "search"])
def test_a_window_that_is_none_is_refused_in_a_line(
    client: FlaskClient, route: str, change: dict[str, str], says: str
) -> None:
    assert_refused(client, route, {**WHOLE, "q": "mm", **change}, says)


@pytest.mark.parametrize("width", ["", "0", "-3", "1.5", "nan", "1e3", "16385", "9" * 5000, "٣"])
@pytest.mark.parametrize("route", ["window", "search"])
def test_a_width_that_is_none_is_refused(client: FlaskClient, route: str, width: str) -> None:
    assert_refused(client, route, {**WHOLE, "q": "mm", "width": width}, "width=")


@pytest.mark.parametrize("event", ["", "x", "-1", "1.0", "9" * 17, "٣"])
def test_an_id_that_is_no_number_is_refused(client: FlaskClient, event: str) -> None:
    assert_refused(client, "event", {"id": event}, "id=")


@pytest.mark.parametrize("text", ["", "x" * 1001])
def test_a_search_for_nothing_or_a_book_is_refused(client: FlaskClient, text: str) -> None:
    assert_refused(client, "search", {"q": text}, "q=")


@pytest.mark.parametrize(
    ("route", "query"),
    [
        ("window", {**WHOLE, "lanes": "99"}),
        ("search", {"q": "mm", "lanes": "1,x"}),
        ("event", {"id": "999999"}),
        ("event", {"id": str(1 << 52)}),
    ],
)
def test_what_is_not_there_is_not_found(
    client: FlaskClient, route: str, query: dict[str, str]
) -> None:
    answer = client.get(f"/api/timeline/{route}", query_string={**NEWEST, **query})
    assert (answer.status_code, answer.get_json()["error"]["kind"]) == (404, "not_found")


def test_a_trace_without_a_device_has_a_timeline(client: FlaskClient) -> None:
    older = {"trace": "1700000000123"}
    kinds = {lane["kind"] for lane in ask(client, **older)["lanes"]}
    assert not kinds & {"device", "idle", "queue"}
    assert ask(client, "/window", **WHOLE, **older)["curves"] == []
    assert ask(client, "/statistics", start="0", end="10", **older)["devices"] == []


def assert_refused(client: FlaskClient, route: str, query: dict[str, str], says: str) -> None:
    answer = client.get(f"/api/timeline/{route}", query_string={**NEWEST, **query})
    assert answer.status_code == 400
    error = answer.get_json()["error"]
    assert error["kind"] == "usage"
    assert says in error["message"]
    assert "\n" not in error["message"]
    assert len(error["message"]) < 200
