"""`wrap` and `unwrap`: wrong calls, paths of roots, what stays on a module."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import sys
import weakref
from functools import partial
from types import FrameType

import pytest
import torch
from support.forked_python import run_python
from support.recording import hooks_below, hooks_on, record, record_bare
from torch import nn
from torch.nn import functional

import tb_hookview as hookview
from tb_hookview import UsageError
from tb_hookview.markers import decode
from tb_hookview.recorder import session


def small_model() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU()))


def run_step(model: nn.Module) -> None:
    model(torch.ones(2, 4)).sum().backward()


@pytest.mark.parametrize(
    ("module", "options", "message"),
    [
        (functional.cross_entropy, {}, "not the function cross_entropy"),
        (nn.Linear, {}, "not the type Linear; give it an instance"),
        (None, {}, "not a NoneType"),
        (small_model(), {"markers": "all"}, "unknown markers 'all'; one of 'auto'"),
        (small_model(), {"depth": -1}, "depth is -1"),
        (small_model(), {"depth": True}, "depth is True"),
        (small_model(), {"include": 3}, "include is 3"),
        (small_model(), {"exclude": [int]}, "exclude holds <class 'int'>"),
        (
            small_model(),
            {"include": ["1.2"]},
            "include='1.2' matches no module (close: 1.1, 1.0, 1)",
        ),
        (small_model(), {"include": [nn.LSTM]}, "include='LSTM' matches no module"),
        (small_model(), {"name": ""}, "name is ''"),
    ],
)
def test_bad_use_is_one_clear_line(module, options, message):
    with pytest.raises(UsageError) as caught:
        hookview.wrap(module, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not isinstance(module, nn.Module) or hooks_below(module) == []


def test_a_refused_second_wrap_leaves_the_first():
    model = hookview.wrap(small_model())
    with pytest.raises(UsageError):
        hookview.wrap(model, include=["nothing"])
    assert record(lambda: run_step(model)).paths("forward")["1.0"] == 1
    hookview.unwrap(model)


def test_wrapping_twice_marks_once_and_takes_the_later_options():
    model = small_model()
    assert hookview.wrap(hookview.wrap(model)) is model
    assert record(lambda: run_step(model)).paths("forward") == {
        "": 1,
        "0": 1,
        "1": 1,
        "1.0": 1,
        "1.1": 1,
    }
    hookview.wrap(model, depth=1)
    assert record(lambda: run_step(model)).paths("forward") == {"": 1, "0": 1, "1": 1}
    assert hooks_on(model) == []
    assert hookview.unwrap(model) is model
    hookview.unwrap(model)


def test_unnamed_roots_do_not_share_a_path():
    roots = [hookview.wrap(nn.Sequential(nn.Linear(4, 4))) for _ in range(3)]
    trace = record(lambda: [run_step(root) for root in roots])
    assert set(trace.paths("forward")) == {
        "",
        "0",
        "Sequential",
        "Sequential.0",
        "Sequential-2",
        "Sequential-2.0",
    }
    hookview.unwrap(roots[0])
    again = hookview.wrap(nn.Linear(4, 4))
    assert record(lambda: run_step(again)).paths("forward") == {"": 1}
    for root in (*roots, again):
        hookview.unwrap(root)


def test_a_name_that_another_root_covers_is_refused():
    model = hookview.wrap(nn.ModuleDict({"loss": nn.Identity()}))
    with pytest.raises(UsageError, match="name='loss' gives two wrapped modules the same path"):
        hookview.wrap(nn.CrossEntropyLoss(), name="loss")
    hookview.wrap(model["loss"], name="loss")
    hookview.unwrap(model["loss"])
    hookview.unwrap(model)


def test_a_root_inside_a_root_is_marked_once_and_by_the_outer():
    model = small_model()
    hookview.wrap(model[1], name="tail")
    hookview.wrap(model)
    trace = record(lambda: run_step(model))
    assert trace.paths("forward") == {"": 1, "0": 1, "1": 1, "1.0": 1, "1.1": 1}
    hookview.wrap(model, depth=0)
    trace = record(lambda: run_step(model))
    assert trace.paths("forward") == {"": 1, "tail": 1, "tail.0": 1, "tail.1": 1}
    hookview.unwrap(model)
    assert record_bare(lambda: run_step(model[1])).paths("forward")["tail.0"] == 1
    hookview.unwrap(model[1])


def test_nothing_is_hooked_while_nothing_records():
    model = hookview.wrap(small_model())
    seen: list[int] = []
    model[0].register_forward_hook(lambda *_: seen.append(len(hooks_below(model))))
    run_step(model)
    record_bare(lambda: run_step(model))
    run_step(model)
    assert seen[0] == 0
    assert seen[1] > 5
    assert seen[2] == 0
    hookview.unwrap(model)


def test_unwrap_while_recording_takes_all_hooks_off():
    model, other = hookview.wrap(small_model()), hookview.wrap(small_model())

    def run() -> None:
        run_step(model)
        hookview.unwrap(model)
        assert hooks_below(model) == []
        run_step(model)
        run_step(other)

    trace = record(run)
    assert trace.paths("forward")[""] == 1
    assert trace.paths("forward")["Sequential.1.0"] == 1
    hookview.unwrap(other)


def test_wrap_while_recording_attaches_at_once():
    model = small_model()
    trace = record(lambda: run_step(hookview.wrap(model)))
    assert trace.paths("forward")["1.0"] == 1
    hookview.unwrap(model)


def test_nothing_of_ours_stays_on_module_or_parameter():
    model = small_model()
    before = {id(m): sorted(m.__dict__) for m in model.modules()}
    flags = [m._is_full_backward_hook for m in model.modules()]
    hookview.wrap(model, markers="module")
    record(lambda: run_step(model))
    hookview.unwrap(model)
    assert {id(m): sorted(m.__dict__) for m in model.modules()} == before
    assert [m._is_full_backward_hook for m in model.modules()] == flags
    assert all(not m._forward_pre_hooks and not m._forward_hooks for m in model.modules())
    assert all(not m._forward_hooks_always_called for m in model.modules())
    assert all(p._post_accumulate_grad_hooks is None for p in model.parameters())


def test_the_users_own_hooks_stay():
    model = small_model()
    calls: list[str] = []
    model[0].register_forward_pre_hook(lambda *_: calls.append("pre"))
    model[0].weight.register_post_accumulate_grad_hook(lambda _: calls.append("grad"))
    hookview.wrap(model)
    record(lambda: run_step(model))
    hookview.unwrap(model)
    run_step(model)
    assert calls == ["pre", "grad"] * 2


def test_a_graph_that_outlives_unwrap_leaves_no_marks():
    model = hookview.wrap(small_model())
    losses: list[torch.Tensor] = []
    record(lambda: losses.append(model(torch.ones(2, 4)).sum()))
    hookview.unwrap(model)
    trace = record_bare(lambda: losses[0].backward())
    assert [span.name for span in trace.spans if decode(span.name)] == []


@pytest.mark.parametrize("markers", ["auto", "module", "forward"])
def test_a_dropped_model_is_collected(markers):
    model = hookview.wrap(small_model(), markers=markers)
    record(partial(run_step, model))
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_a_model_dropped_while_recorded_is_collected():
    def run() -> None:
        model = hookview.wrap(small_model())
        run_step(model)
        gone = weakref.ref(model)
        del model
        gc.collect()
        assert gone() is None

    record(run)
    record_bare(run)
    session.end()


def copies(model: nn.Module) -> list[nn.Module]:
    stored = io.BytesIO()
    torch.save(model, stored)
    stored.seek(0)
    return [
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        torch.load(stored, weights_only=False),
    ]


@pytest.mark.parametrize("recording", [False, True])
def test_a_copy_is_an_unwrapped_working_model(recording):
    model = hookview.wrap(small_model(), markers="module")
    made: list[nn.Module] = []
    if recording:
        record(lambda: (run_step(model), made.extend(copies(model))))
    else:
        made = copies(model)
    x = torch.ones(2, 4)
    for each in made:
        assert torch.equal(each(x), model(x))
        run_step(each)
        assert record(lambda each=each: run_step(each)).paths("forward") == {}
        hookview.wrap(each, name="copy")
        assert record(lambda each=each: run_step(each)).paths("forward")["copy.1.0"] == 1
        hookview.unwrap(each)
        assert hooks_below(each) == []
    hookview.unwrap(model)


@pytest.mark.slow
def test_a_pickled_model_loads_where_this_package_is_not_installed():
    model = hookview.wrap(small_model())
    data: list[bytes] = []
    record(lambda: (run_step(model), data.append(pickle.dumps(model))))
    hookview.unwrap(model)
    script = """
import pickle, sys
sys.modules["tb_hookview"] = None
import torch
model = pickle.load(sys.stdin.buffer)
print(model(torch.ones(2, 4)).shape)
"""
    done = run_python("-c", script, given=data[0])
    assert done.stdout.strip() == "torch.Size([2, 4])", done.stderr


def test_state_dict_is_unchanged():
    model = small_model()
    before = model.state_dict()
    hookview.wrap(model)
    seen: list[dict[str, torch.Tensor]] = []
    record(lambda: (model(torch.ones(1, 4)), seen.append(model.state_dict())))
    assert list(seen[0]) == list(before)
    model.load_state_dict(before)
    hookview.unwrap(model)


def test_a_fault_of_ours_is_one_warning_and_training_goes_on(expected_fault, monkeypatch):
    def broken(name: str) -> object:
        raise RuntimeError("broken on purpose")

    model = hookview.wrap(small_model())
    monkeypatch.setattr("tb_hookview.recorder.hooks.new_range", broken)
    with pytest.warns(RuntimeWarning, match="broken on purpose") as caught:
        record(lambda: (run_step(model), run_step(model)))
    assert len(caught) == 1
    assert model[0].weight.grad is not None
    hookview.unwrap(model)


@pytest.mark.filterwarnings("error")
def test_a_fault_of_ours_does_not_raise_even_where_warnings_do(expected_fault, monkeypatch):
    def broken(name: str) -> object:
        raise RuntimeError("broken on purpose")

    model = hookview.wrap(small_model())
    monkeypatch.setattr("tb_hookview.recorder.hooks.new_range", broken)
    record(lambda: run_step(model))
    hookview.unwrap(model)


def test_attaching_to_twice_as_many_modules_makes_twice_as_many_calls() -> None:
    assert calls_to_attach(400) < 2.5 * calls_to_attach(200)


def calls_to_attach(modules: int) -> int:
    """Calls of functions while the hooks of a model are attached."""
    model = hookview.wrap(nn.Sequential(*(nn.Linear(1, 1) for _ in range(modules))))
    calls = 0

    def count(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        session.begin()
    finally:
        sys.setprofile(None)
        session.end()
        hookview.unwrap(model)
    return calls
