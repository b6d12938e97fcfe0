"""The smallest file of each defect found: what is read of it, and what is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_hookview.errors import TraceError
from tb_hookview.trace import read_trace

FOLDER = Path(__file__).resolve().parents[1] / "data" / "damage"
READ = {
    "argument_out_of_range.json": ("abc", {"unexpected-type": 1}),
    "brace_lost.json": ("ac", {"lost-events": 1}),
    "bytes_amid_a_key.json": ("abc", {"unexpected-type": 1}),
    "damaged_last_event_before_a_list.json": ("ab", {"lost-events": 1}),
    "event_cut_in_a_key.json": ("ac", {"lost-events": 1}),
    "event_of_a_number_out_of_range.json": ("abc", {"unexpected-type": 1}),
    "event_of_a_word.json": ("abc", {"lost-events": 1}),
    "half_surrogate.json": (["a", r"b\ud800", "c"], {"repaired": 1}),
    "list_end_amid_events.json": ("abc", {"lost-events": 1}),
    "nested_events_after_loss.json": ("ac", {"lost-events": 1}),
    "zeros_amid_events.json": ("ac", {"lost-events": 1}),
}
STARTS = {"a": 1000, "b": 5000, r"b\ud800": 5000, "c": 9000}
REFUSED = {
    "gzip_checksum_wrong.json.gz": "checksum",
    "gzip_zeros_behind_cut.json.gz": "gzip data is damaged",
    "zip_member_without_a_name.json.zip": "zip file cannot be read",
}


@pytest.mark.parametrize("name", READ)
def test_what_is_read(name: str) -> None:
    names, warned = READ[name]
    trace = read_trace(FOLDER / name)
    assert [trace.strings[number] for number in trace.events.name.tolist()] == list(names)
    assert trace.events.start.tolist() == [STARTS[name] for name in names]
    assert set(trace.events.duration.tolist()) == {2000}
    assert {notice.code: notice.times for notice in trace.notices} == warned


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    with pytest.raises(TraceError, match=REFUSED[name]):
        read_trace(FOLDER / name)
