"""Exceptions in the middle of a step reach the script; the next step is recorded."""

from __future__ import annotations

import shutil
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch
from support.harmless import one_thread, same
from support.recording import Span, Trace, hooks_below, only_trace, record, record_bare
from torch import nn

import tb_hookview as hookview
from tb_hookview.recorder import faults

RECORDER = str(Path(faults.__file__).parent)
PATHS = ["", "0", "1", "1.0", "1.1"]


class AlarmError(Exception):
    """What the script's own signal handler raises."""


@pytest.fixture(autouse=True)
def users_handler(ctrl_c: None) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise AlarmError

    before = signal.signal(signal.SIGUSR1, ring)
    yield
    signal.signal(signal.SIGUSR1, before)


def small_model(**options: Any) -> nn.Sequential:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    return hookview.wrap(model, **options)


def step(model: nn.Module) -> None:
    model.zero_grad()
    model(torch.ones(2, 4)).sum().backward()


def roots(trace: Trace) -> list[Span]:
    spans = (span for mark, span in trace.marks("forward") if mark.path == "")
    return sorted(spans, key=lambda span: span.start)


def assert_apart(spans: list[Span]) -> None:
    for one, other in pairwise(spans):
        assert one.end <= other.start


@contextmanager
def visiting(act: Callable[[tuple[str, int]], None]) -> Iterator[None]:
    """Call a function before each line of the recorder's code, with file and line."""

    def each(frame: FrameType, event: str, _arg: object) -> Any:
        if event == "line":
            act((frame.f_code.co_filename, frame.f_lineno))
        return each

    def enter(frame: FrameType, _event: str, _arg: object) -> Any:
        return each if frame.f_code.co_filename.startswith(RECORDER) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


@contextmanager
def alarm_at_line(number: int) -> Iterator[Callable[[], int]]:
    """Send the signal at the n-th line of the recorder's code; yield how many ran."""
    passed = 0

    def act(_line: tuple[str, int]) -> None:
        nonlocal passed
        passed += 1
        if passed == number:
            sys.settrace(None)
            signal.raise_signal(signal.SIGUSR1)

    with visiting(act):
        yield lambda: passed


@pytest.mark.slow
@pytest.mark.parametrize("recorded_by", [record, record_bare])
@pytest.mark.filterwarnings("error")
def test_a_signal_at_any_line_of_ours_is_the_scripts(recorded_by):
    """A handler runs between any two lines; ours must not report it as a fault."""
    model, lines = small_model(), 0

    def run() -> None:
        nonlocal lines
        step(model)
        while True:
            with alarm_at_line(lines + 1) as passed:
                try:
                    step(model)
                except AlarmError:
                    reached = True
                else:
                    reached = False
            if passed() <= lines:
                return
            assert reached, f"line {lines + 1} of a step swallows the script's exception"
            lines += 1
            assert lines < 2000, "a step grows with every one that was interrupted"
            step(model)

    trace = recorded_by(run)
    assert lines > 200
    expected = torch.autograd.grad(model(torch.ones(2, 4)).sum(), list(model.parameters()))
    assert all(same(p.grad, g) for p, g in zip(model.parameters(), expected, strict=True))
    if recorded_by is record:  # else the range of an interrupted call stays open
        assert_apart(roots(trace))
        # Every other step is whole: all that its modules leave.
        assert all(trace.paths("after backward")[path] >= lines for path in PATHS)
    hookview.unwrap(model)


@contextmanager
def alarm_at_visit(line: tuple[str, int], number: int) -> Iterator[None]:
    """Send the signal at the n-th visit of a line."""
    visits = 0

    def act(visited: tuple[str, int]) -> None:
        nonlocal visits
        visits += visited == line
        if visits == number:
            sys.settrace(None)
            signal.raise_signal(signal.SIGUSR1)

    with visiting(act):
        yield


def visits_of_an_end(model: nn.Module, folder: Path) -> Counter[tuple[str, int]]:
    """How often the end of a recording comes to each line."""
    visits = Counter[tuple[str, int]]()
    for _ in range(2):  # the first one of a process does more
        visits.clear()
        profiler = hookview.profile(folder)
        profiler.start()
        step(model)
        with visiting(lambda line: visits.update([line])):
            profiler.stop()
    return visits


@pytest.mark.slow
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_signal_at_any_line_as_a_recording_ends(tmp_path):
    """Hooks are off, torch does not record, and there is a whole trace or none.

    In a loop: in its first two turns, and in the last.
    """
    model = small_model()
    visits = visits_of_an_end(model, tmp_path / "whole")
    places = [(line, n) for line, most in visits.items() for n in sorted({1, min(2, most), most})]
    assert len(places) > 300
    for place in places:
        folder = tmp_path / "interrupted"
        profiler = hookview.profile(folder)
        profiler.start()
        step(model)
        with alarm_at_visit(*place), pytest.raises(AlarmError):
            profiler.stop()
        if torch.autograd._profiler_enabled():  # it came before anything was done
            profiler.stop()
        assert not torch.autograd._profiler_enabled()
        assert hooks_below(model) == []
        assert all(Trace(path).paths("forward") for path in folder.glob("*.gz"))
        shutil.rmtree(folder, ignore_errors=True)
    with hookview.profile(tmp_path / "next"):
        step(model)
    assert only_trace(tmp_path / "next").paths("forward") == dict.fromkeys(PATHS, 1)
    hookview.unwrap(model)


class Interrupted(nn.Module):
    """Raises in forward, or in backward, once."""

    def __init__(self, raises: Callable[[], None], where: str) -> None:
        super().__init__()
        self.raises: Callable[[], None] | None = raises
        self.where = where

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.where == "forward":
            self.act()
        elif x.requires_grad:
            x = x * 1
            x.register_hook(lambda _: self.act())
        return x

    def act(self) -> None:
        raises, self.raises = self.raises, None
        if raises is not None:
            raises()


def press_ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def ring_the_alarm() -> None:
    signal.raise_signal(signal.SIGUSR1)


def fail() -> None:
    raise ValueError("the script's own")


RAISING = [(press_ctrl_c, KeyboardInterrupt), (ring_the_alarm, AlarmError), (fail, ValueError)]


@pytest.mark.parametrize("markers", ["auto", "module", "forward"])
@pytest.mark.parametrize("where", ["forward", "backward"])
@pytest.mark.parametrize(("raises", "error"), RAISING)
def test_the_step_after_an_interrupted_one_is_recorded_right(raises, error, where, markers):
    module = Interrupted(raises, where)
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), module))
    hookview.wrap(model, markers=markers)
    plain = torch.autograd.grad(
        model[1][0](model[0](torch.ones(2, 4))).sum(), [*model.parameters()]
    )

    def run() -> None:
        with pytest.raises(error) as raised:
            step(model)
        assert raised.value.__cause__ is raised.value.__context__ is None
        step(model)

    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch's, of module hooks on such a model
        trace = record(run)
    assert all(same(p.grad, g) for p, g in zip(model.parameters(), plain, strict=True))
    assert trace.paths("forward") == dict.fromkeys(PATHS, 2)
    assert_apart(roots(trace))
    last = roots(trace)[1]
    inner = [span for mark, span in trace.marks("forward") if mark.path and span.start > last.start]
    assert len(inner) == 4
    assert all(last.holds(span) for span in inner)
    hookview.unwrap(model)


@pytest.mark.parametrize(
    "where", ["forward pre", "forward", "backward pre", "backward", "gradient"]
)
@pytest.mark.parametrize(("raises", "error"), RAISING)
def test_a_users_hook_that_raises(raises, error, where):
    model = small_model()
    module = model[1][0]
    register = {
        "forward pre": module.register_forward_pre_hook,
        "forward": module.register_forward_hook,
        "backward pre": module.register_full_backward_pre_hook,
        "backward": module.register_full_backward_hook,
        "gradient": module.weight.register_post_accumulate_grad_hook,
    }[where]

    def run() -> None:
        handle = register(lambda *_: raises())
        with pytest.raises(error):
            step(model)
        handle.remove()
        step(model)

    trace = record(run)
    assert_apart(roots(trace))
    last = roots(trace)[1]
    after = [mark.path for mark, span in trace.marks("forward") if span.start >= last.start]
    assert sorted(after) == PATHS
    done = [m.path for m, span in trace.marks("after backward") if span.start > last.end]
    assert sorted(done) == PATHS
    hookview.unwrap(model)


def test_a_module_that_calls_itself_is_not_taken_for_an_interrupted_one():
    class Twice(nn.Module):
        def forward(self, x: torch.Tensor, again: bool = True) -> torch.Tensor:
            return self(x, again=False) if again else x

    model = hookview.wrap(Twice())
    outer, inner = roots(record(lambda: model(torch.ones(1))))
    assert outer.holds(inner)
    hookview.unwrap(model)


def test_what_keeps_attaching_from_the_end_takes_off_what_is_attached(expected_fault, monkeypatch):
    """Also where the fault is in walking the model, after hooks were attached."""

    model = small_model()
    monkeypatch.setattr(hookview.recorder.session, "_accumulates", lambda _: 1 // 0)
    with pytest.warns(RuntimeWarning, match="attaching hooks failed"):
        record(lambda: step(model))
    assert all(not module._forward_hooks for module in model.modules())
    hookview.unwrap(model)
