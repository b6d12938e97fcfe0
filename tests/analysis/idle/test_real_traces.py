"""Idle time by cause in traces that others recorded."""

from __future__ import annotations

import pytest
import shared_traces

from tb_hookview.loading import analyze
from tb_hookview.schema import Idle

pytestmark = pytest.mark.skipif(
    not shared_traces.FOLDER.is_dir(), reason="no ../shared/traces next to the checkout"
)


def idle_of(name: str) -> Idle:
    """The idle time of a trace of one step."""
    (step,) = analyze(shared_traces.FOLDER / f"{name}.json.gz").data.steps
    assert step.idle is not None
    return step.idle


@pytest.mark.parametrize(
    ("name", "launch", "delay"),
    [
        ("tracelens_mi300_vllm_piecewise", 20.6, 148_998.9),
        ("tracelens_mi300_vllm_graph_execution", 10.4, 7_826.2),
    ],
)
def test_a_first_event_long_after_its_launch(name: str, launch: float, delay: float) -> None:
    """Its launching call returned at once, and hundreds of events were queued after it."""
    idle = idle_of(name)
    assert idle.launch == pytest.approx(launch, abs=0.1)
    assert idle.unknown > delay
