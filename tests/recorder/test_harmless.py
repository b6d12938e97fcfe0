"""Outputs and gradients are equal bit for bit with and without the recorder."""

from __future__ import annotations

import threading

import pytest
import torch
from support import autograd_cases, module_cases
from support.harmless import assert_harmless
from support.recording import record
from torch import nn

import tb_hookview as hookview

CASES = {**module_cases.CASES, **autograd_cases.CASES}


@pytest.mark.parametrize("users_hooks", [False, True], ids=["", "with the user's hooks"])
@pytest.mark.parametrize("case", CASES)
def test_nothing_changes(case, users_hooks):
    make, run, profile = CASES[case]
    model = make()
    for module in model.modules() if users_hooks else ():
        module.register_forward_pre_hook(UsersHook())
    assert_harmless(model, run, profile)


class UsersHook:
    def __call__(self, *call: object) -> None:
        assert isinstance(call[0], nn.Module)


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_without_gradients(context):
    def run(model: nn.Module) -> object:
        with context():
            return model(torch.randn(3, 4))

    trace = assert_harmless(nn.Sequential(nn.Linear(4, 4)), run)
    assert trace.marks("gradient") == []


@pytest.mark.parametrize("layers", [0, 2])
def test_inference_on_the_fast_path_of_torchs_transformer(layers):
    """torch leaves its fast path for a layer with a hook on it or below."""
    model = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    if layers:
        model = nn.TransformerEncoder(model, layers)

    def run(model: nn.Module) -> object:
        with torch.no_grad():
            return model(torch.randn(2, 5, 16))

    trace = assert_harmless(model.eval(), run)
    assert len(trace.named("aten::_transformer_encoder_layer_fwd")) == (layers or 1)


def test_one_gradient_mark_for_each_accumulation():
    make, run, _ = CASES["several backwards, `retain_graph`, accumulation"]
    trace = assert_harmless(make(), run)
    assert trace.paths("gradient") == {"0": 8, "1.1": 8}


def test_forward_in_many_threads_while_recording_starts_and_stops():
    model = hookview.wrap(nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4))))
    failures: list[BaseException] = []
    done = threading.Event()

    def train() -> None:
        try:
            while not done.is_set():
                model(torch.ones(1, 4)).sum().backward()
        except BaseException as failure:  # noqa: BLE001 - reported by the assertion below
            failures.append(failure)

    threads = [threading.Thread(target=train) for _ in range(4)]
    for thread in threads:
        thread.start()
    traces = [record(lambda: model(torch.ones(1, 4))) for _ in range(5)]
    done.set()
    for thread in threads:
        thread.join()
    hookview.unwrap(model)
    assert failures == []
    assert all(trace.paths("forward")["1.0"] >= 1 for trace in traces)


def test_an_exception_in_backward_reaches_the_caller():
    def fail(_: torch.Tensor) -> None:
        raise ValueError("in backward")

    model = hookview.wrap(nn.Sequential(nn.Linear(4, 4)))

    def run() -> None:
        out = model(torch.ones(1, 4))
        out.register_hook(fail)
        with pytest.raises(ValueError, match="in backward"):
            out.sum().backward()
        model(torch.ones(1, 4)).sum().backward()

    assert record(run).paths("gradient") == {"0": 2}
    hookview.unwrap(model)


def test_a_lazy_module_becomes_what_it_would():
    model = hookview.wrap(nn.Sequential(nn.LazyLinear(3)))
    trace = record(lambda: model(torch.ones(2, 5)).sum().backward())
    assert trace.paths("forward") == {"": 1, "0": 1}
    assert type(model[0]) is nn.Linear
    hookview.unwrap(model)


def test_data_parallel_replicas_run_themselves_under_the_marks_of_their_original():
    model = hookview.wrap(nn.Sequential(nn.Linear(4, 4)))
    outputs: list[torch.Tensor] = []

    def run() -> None:  # what DataParallel does in every forward, without its second device
        replica = model._replicate_for_data_parallel()
        replica._modules = {"0": model[0]._replicate_for_data_parallel()}
        for name, parameter in model[0].named_parameters():
            setattr(replica._modules["0"], name, parameter * 2)
        outputs.extend([replica(torch.ones(1, 4)), model(torch.ones(1, 4))])

    trace = record(run)
    assert trace.paths("forward") == {"": 2, "0": 2}
    assert torch.equal(outputs[0], outputs[1] * 2)
    hookview.unwrap(model)
