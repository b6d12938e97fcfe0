"""Events decoded by category hold what those of one type hold, whatever is wrong with them."""

from __future__ import annotations

import pytest

from tb_hookview.trace.format import events
from tb_hookview.trace.format.events import decode_events


@pytest.mark.parametrize(
    ("event", "loses"),
    [
        (b'{"cat": "kernel", "name": "k", "ts": 1, "dur": 1}', 0),
        (b'{"ph": "M", "cat": "kernel", "name": "thread_name", "args": {"name": "main"}}', 0),
        (b'{"ph": "X", "cat": "ac2g", "name": "a", "ts": 5, "dur": 1}', 0),
        (b'{"ph": "s", "cat": "cpu_op", "name": "a", "ts": 5, "id": 3}', 0),
        (b'{"ph": "X", "cat": "unheard_of", "name": "a", "ts": 5}', 0),
        (b'{"ph": "X", "cat": 5, "name": "a", "ts": 5}', 1),
        (b'{"ph": "X", "cat": "kernel", "ts": 5, "args": {"correlation": {}}}', 1),
        (b"5", 1),
    ],
)
def test_an_event_that_fits_no_category_is_read_with_all_its_fields(
    event: bytes, loses: int
) -> None:
    text = b'[{"ph": "X", "cat": "cpu_op", "name": "one", "ts": 1, "dur": 2}, %b]' % event
    found, lost = decode_events(text)
    assert found[0].name == "one"
    assert all(isinstance(each, events.Event) for each in found)
    assert lost == loses


def test_an_event_of_a_category_has_the_arguments_of_its_kind_alone() -> None:
    text = (
        b'[{"ph": "X", "cat": "kernel", "ts": 1, "args": {"correlation": 7, "Fwd thread id": 3}}]'
    )
    (event,), _ = decode_events(text)
    assert event.cat == "kernel"
    assert event.args.correlation_0 == 7
    assert not hasattr(event.args, "forward_thread_0")
