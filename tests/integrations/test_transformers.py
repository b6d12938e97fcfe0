"""The callback in the Trainer of transformers."""

from __future__ import annotations

import copy
import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch
from support import torchvision_ops
from support.attribution import nodes_of_nobody
from support.recording import Trace, hooks_below, only_trace, only_trace_path
from torch import nn
from torch.profiler import schedule

import tb_hookview as hookview

if importlib.util.find_spec("torchvision"):
    torchvision_ops.declare()  # transformers imports it
transformers = pytest.importorskip("transformers", reason="needs transformers, Python 3.11")
pytest.importorskip("accelerate", reason="needs accelerate: make setup")
from tb_hookview.integrations.transformers import HookviewCallback  # noqa: E402

TWO_STEPS = schedule(wait=1, warmup=1, active=2, repeat=1)
STEPS = 7


def bert() -> Any:
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, num_labels=3,
    )  # fmt: skip
    return transformers.BertForSequenceClassification(config)


class Sentences(torch.utils.data.Dataset):
    def __init__(self, failing: int = -1) -> None:
        self.tokens = torch.randint(50, (64, 7))
        self.failing = failing

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, Any]:
        if index == self.failing:
            raise RuntimeError("a sentence that cannot be")
        return {"input_ids": self.tokens[index], "labels": index % 3}


def train(model: nn.Module, data: Sentences, *callbacks: Any, **options: Any) -> None:
    arguments = transformers.TrainingArguments(
        "checkpoints", max_steps=STEPS, per_device_train_batch_size=2, save_strategy="no",
        use_cpu=True, disable_tqdm=True, report_to="none", seed=7, **options,
    )  # fmt: skip
    transformers.Trainer(model, arguments, train_dataset=data, callbacks=list(callbacks)).train()


def names_of_steps(trace: Trace) -> list[str]:
    return [span.name for span in trace.spans if span.name.startswith("ProfilerStep")]


@pytest.mark.slow
@pytest.mark.parametrize("accumulated", [1, 2])
def test_it_records_and_changes_nothing(accumulated, tmp_path):
    data = Sentences()
    plain = bert()
    recorded = copy.deepcopy(plain)
    train(plain, data, gradient_accumulation_steps=accumulated)
    heard: list[int] = []
    callback = HookviewCallback(
        tmp_path / "runs",
        schedule=TWO_STEPS,
        on_trace_ready=lambda _: heard.append(len(list((tmp_path / "runs").iterdir()))),
    )
    train(recorded, data, callback, gradient_accumulation_steps=accumulated)

    trained = recorded.state_dict()
    assert all(torch.equal(trained[name], value) for name, value in plain.state_dict().items())
    assert hooks_below(recorded) == []
    assert heard == [1]
    trace = only_trace(tmp_path / "runs")
    assert names_of_steps(trace) == ["ProfilerStep#2", "ProfilerStep#3"]
    calls = trace.paths("forward")
    layers = [path for path, module in recorded.named_modules() if isinstance(module, nn.Linear)]
    assert {path: calls[path] for path in ["", *layers]} == dict.fromkeys(
        ["", *layers], 2 * accumulated
    )


@pytest.mark.slow
def test_all_of_backward_but_the_scaling_of_the_loss_belongs_to_a_module(tmp_path):
    train(bert(), Sentences(), HookviewCallback(tmp_path / "runs"), gradient_accumulation_steps=2)
    path = only_trace_path(tmp_path / "runs")
    assert nodes_of_nobody(path) == {"DivBackward0": 6, "MulBackward0": 6}
    report = hookview.analyze(path).data
    assert len(report.steps) == 3
    times = {row.path: row.backward.self_host_us for row in report.modules}
    assert times["bert.encoder.layer.1.output.dense"] > 0


def test_an_exception_leaves_a_trace_and_nothing_else(tmp_path):
    model, data = bert(), Sentences(failing=10)
    endless = schedule(wait=1, warmup=1, active=99)
    with (
        pytest.raises(RuntimeError, match="a sentence that cannot be"),
        HookviewCallback(tmp_path / "runs", schedule=endless) as callback,
    ):
        train(model, data, callback, train_sampling_strategy="sequential")
    assert hooks_below(model) == []
    calls = only_trace(tmp_path / "runs").paths("forward")
    assert calls[""] == calls["classifier"] > 0


@pytest.mark.slow
def test_a_recording_left_by_an_exception_ends_when_the_next_begins(tmp_path):
    left, model = bert(), bert()
    everything = HookviewCallback(tmp_path / "left", schedule=None)
    with pytest.raises(RuntimeError, match="a sentence that cannot be"):
        train(left, Sentences(failing=10), everything, train_sampling_strategy="sequential")
    assert hooks_below(left) != []
    with pytest.warns(RuntimeWarning, match="an earlier recording was still running"):
        train(model, Sentences(), HookviewCallback(tmp_path / "runs", schedule=TWO_STEPS))
    assert hooks_below(left) == hooks_below(model) == []
    assert only_trace(tmp_path / "left").paths("forward")[""] > 0
    assert only_trace(tmp_path / "runs").paths("forward")[""] == 2


def test_the_documented_code_runs(run_documented):
    run_documented("transformers", model=bert(), data=Sentences())
    trace = only_trace(Path("runs/transformers"))
    assert trace.paths("forward")["classifier"] == 3


def test_a_training_is_watched_by_its_callback(tmp_path):
    from tb_hookview.history.answer import read_history
    from tb_hookview.integrations.transformers import HookviewWatchCallback

    arguments = transformers.TrainingArguments(
        str(tmp_path), max_steps=8, report_to=[], use_cpu=True, disable_tqdm=True
    )
    model = bert()
    with HookviewWatchCallback(tmp_path / "run", first=None, scalars=False) as callback:
        transformers.Trainer(
            model, arguments, train_dataset=Sentences(), callbacks=[callback]
        ).train()
    (rank,) = read_history(str(tmp_path / "run")).ranks
    assert (rank.steps, rank.blocks[0]) == (8, "bert.embeddings.word_embeddings")
    assert None not in (rank.data_us, rank.forward_us, rank.backward_us, rank.optimizer_us)
    assert hooks_below(model) == []
