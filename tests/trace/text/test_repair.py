"""The repair of damaged events, a segment at a time."""

from __future__ import annotations

from tb_hookview.trace.source.damage import Damages
from tb_hookview.trace.text.repair import Mender


def test_what_follows_a_damaged_last_event_is_not_taken_for_events() -> None:
    sound, root = b'{"ph": "X", "name": "a"}', b'], "x": [{"id": 0}]}'
    mender, damages = Mender("t.json"), Damages()
    text = sound + b', {"ph": "X", "name": "b", "ts": \0}'
    events = mender.mend(text + root, 0, damages, last=True)
    assert events == b"[" + sound + b"]"
    assert (mender.tail, mender.tail_begin) == (root, len(text))
    assert [notice.code for notice in damages.notices()] == ["lost-events"]
