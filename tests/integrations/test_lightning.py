"""The callback in Lightning's own Trainer, of either package."""

from __future__ import annotations

import copy
import importlib.util
import pickle
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from support import torchvision_ops
from support.attribution import nodes_of_nobody
from support.recording import Trace, hooks_below, only_trace, only_trace_path
from torch import nn
from torch.profiler import schedule
from torch.utils.data import DataLoader, TensorDataset

import tb_hookview as hookview
from tb_hookview.errors import UsageError

if importlib.util.find_spec("torchvision"):
    torchvision_ops.declare()  # torchmetrics, which Lightning imports, imports it
PACKAGES = [
    pytest.importorskip(name, reason=f"needs {name}: pip install {name}")
    for name in ("lightning.pytorch", "pytorch_lightning")
]
from tb_hookview.history.answer import read_history  # noqa: E402
from tb_hookview.integrations.lightning import (  # noqa: E402
    HookviewCallback,
    HookviewWatchCallback,
)

# What its warnings are is its own; the process that prints them would have to import it.
pytestmark = pytest.mark.filterwarnings("ignore::Warning")
LAYERS = ["net", "net.0", "net.1", "net.2", "loss"]
TWO_STEPS = schedule(wait=1, warmup=1, active=2, repeat=1)


def model_for(package: ModuleType, failing_batch: int = -1) -> Any:
    class Classifier(package.LightningModule):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
            self.loss = nn.CrossEntropyLoss()

        def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
            if index == failing_batch:
                raise RuntimeError("a batch that cannot be")
            loss: torch.Tensor = self.loss(self.net(batch[0]), batch[1])
            return loss

        def validation_step(self, batch: list[torch.Tensor], _index: int) -> None:
            self.net(batch[0])

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters(), lr=0.1)

    return Classifier()


@pytest.fixture(params=PACKAGES, ids=lambda package: package.__name__)
def package(request: pytest.FixtureRequest) -> ModuleType:
    return request.param


@pytest.fixture
def loader() -> DataLoader:
    return DataLoader(TensorDataset(torch.randn(14, 8), torch.randint(4, (14,))), batch_size=2)


def fit(package: ModuleType, model: Any, loader: Any, *callbacks: Any, **options: Any) -> None:
    quiet = dict.fromkeys(
        ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False
    )
    trainer = package.Trainer(
        max_epochs=1, accelerator="cpu", callbacks=list(callbacks), **quiet, **options
    )
    trainer.fit(model, loader, loader)


def names_of_steps(trace: Trace) -> list[str]:
    return [span.name for span in trace.spans if span.name.startswith("ProfilerStep")]


def test_it_records_and_changes_nothing(package, loader, tmp_path):
    plain = model_for(package)
    recorded = copy.deepcopy(plain)
    fit(package, plain, loader)
    heard: list[int] = []
    callback = HookviewCallback(
        tmp_path / "runs",
        schedule=TWO_STEPS,
        on_trace_ready=lambda _: heard.append(len(list((tmp_path / "runs").iterdir()))),
    )
    fit(package, recorded, loader, callback)

    trained = recorded.state_dict()
    assert all(torch.equal(trained[name], value) for name, value in plain.state_dict().items())
    assert hooks_below(recorded) == []
    assert heard == [1]
    trace = only_trace(tmp_path / "runs")
    assert names_of_steps(trace) == ["ProfilerStep#2", "ProfilerStep#3"]
    assert trace.paths("forward") == dict.fromkeys(LAYERS, 2)
    assert trace.paths("gradient") == {"net.0": 4, "net.2": 4}


def test_it_watches_every_batch_and_changes_nothing(package, loader, tmp_path):
    plain = model_for(package)
    watched = copy.deepcopy(plain)
    fit(package, plain, loader)
    fit(package, watched, loader, HookviewWatchCallback(tmp_path, first=None, scalars=False))

    trained = watched.state_dict()
    assert all(torch.equal(trained[name], value) for name, value in plain.state_dict().items())
    assert hooks_below(watched) == []
    (rank,) = read_history(str(tmp_path)).ranks
    assert (rank.steps, rank.blocks) == (7, ["net.0", "net.2"])
    assert rank.data_us is not None
    assert rank.optimizer_us is not None


def test_an_exception_ends_a_watch_too(package, loader, tmp_path):
    model = model_for(package, failing_batch=3)
    with pytest.raises(RuntimeError, match="a batch that cannot be"):
        fit(package, model, loader, HookviewWatchCallback(tmp_path, first=None, scalars=False))
    assert hooks_below(model) == []
    assert read_history(str(tmp_path)).ranks[0].steps == 3


def test_all_of_backward_but_the_scaling_of_the_loss_belongs_to_a_layer(loader, tmp_path):
    package = PACKAGES[0]
    fit(package, model_for(package), loader, HookviewCallback(tmp_path / "runs"))
    path = only_trace_path(tmp_path / "runs")
    assert nodes_of_nobody(path) == {"DivBackward0": 3}
    report = hookview.analyze(path).data
    assert len(report.steps) == 3
    times = {row.path: row.backward.self_host_us for row in report.modules}
    assert all(times[path] > 0 for path in ("net.0", "net.1", "net.2", "loss"))


def test_without_a_schedule_a_recorded_step_is_compared_with_another(loader, tmp_path):
    package = PACKAGES[0]
    fit(package, model_for(package), loader, HookviewCallback(tmp_path / "runs"))
    path = only_trace_path(tmp_path / "runs")
    assert names_of_steps(Trace(path)) == ["ProfilerStep#4", "ProfilerStep#5", "ProfilerStep#6"]
    recording = hookview.analyze(path).data.trace.recording
    assert (recording.unrecorded_steps, recording.recorded_steps) == (2, 3)


def test_under_ddp_paths_stay_and_training_step_is_the_roots(loader, tmp_path):
    if not torch.distributed.is_gloo_available():
        pytest.skip("this torch has no gloo")
    package = PACKAGES[0]
    try:
        callback = HookviewCallback(tmp_path / "runs", schedule=TWO_STEPS)
        fit(package, model_for(package), loader, callback, strategy="ddp", devices=1)
    finally:
        torch.distributed.destroy_process_group()
    assert only_trace(tmp_path / "runs").paths("forward") == dict.fromkeys(["", *LAYERS], 2)


def test_an_exception_leaves_a_trace_and_nothing_else(package, loader, tmp_path):
    model = model_for(package, failing_batch=4)
    callback = HookviewCallback(tmp_path / "runs", schedule=schedule(wait=2, warmup=1, active=9))
    with pytest.raises(RuntimeError, match="a batch that cannot be"):
        fit(package, model, loader, callback)
    assert hooks_below(model) == []
    trace = only_trace(tmp_path / "runs")
    assert names_of_steps(trace) == ["ProfilerStep#3", "ProfilerStep#4"]
    assert trace.paths("forward") == dict.fromkeys(LAYERS, 1)


def test_every_fit_is_recorded_under_the_options(loader, tmp_path):
    package = PACKAGES[0]
    model = model_for(package)
    callback = HookviewCallback(
        tmp_path / "runs", exclude=["net.1"], markers="forward", schedule=TWO_STEPS
    )
    for profiler in ("simple", "advanced"):  # they measure by other means than torch's profiler
        fit(package, model, loader, callback, profiler=profiler)
    paths = sorted((tmp_path / "runs").iterdir())
    assert len(paths) == 2
    for trace in map(Trace, paths):
        assert set(trace.paths("forward")) == set(LAYERS) - {"net.1"}
        assert trace.marks("gradient") == []


def test_a_model_that_its_user_wrapped_stays_wrapped(loader, tmp_path):
    package = PACKAGES[0]
    model = hookview.wrap(model_for(package), name="mine", exclude=["mine.net.1"])
    fit(package, model, loader, HookviewCallback(tmp_path / "runs", schedule=TWO_STEPS))
    expected = {f"mine.{path}": 2 for path in LAYERS if path != "net.1"}
    assert only_trace(tmp_path / "runs").paths("forward") == expected
    assert hooks_below(model) == []
    hookview.unwrap(model)


# Lightning's profiler stumbles in its __del__ where training ends before it recorded anything.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_lightnings_own_profiler_next_to_it_is_refused(package, loader, tmp_path):
    model = model_for(package)
    with pytest.raises(UsageError, match="leave out one of them"):
        fit(package, model, loader, HookviewCallback(tmp_path / "runs"), profiler="pytorch")
    assert hooks_below(model) == []


def test_while_another_profiler_records_training_goes_on(loader, tmp_path):
    model = model_for(PACKAGES[0])
    before = model.net[0].weight.clone()
    callback = HookviewCallback(tmp_path / "runs")
    with torch.profiler.profile() as other, pytest.warns(RuntimeWarning, match="not recorded"):
        fit(PACKAGES[0], model, loader, callback)
    assert any(event.key == "aten::addmm" for event in other.key_averages())
    assert not torch.equal(model.net[0].weight, before)
    assert hooks_below(model) == []
    assert not (tmp_path / "runs").exists()


def test_a_wrong_keyword_is_an_error_at_once(tmp_path):
    with pytest.raises(TypeError, match="no_such_option"):
        HookviewCallback(tmp_path, no_such_option=1)
    with pytest.raises(UsageError, match="ranks"):
        HookviewCallback(tmp_path, ranks=[-1])


def test_a_rank_that_is_not_chosen_writes_nothing(loader, tmp_path):
    model = model_for(PACKAGES[0])
    fit(PACKAGES[0], model, loader, HookviewCallback(tmp_path / "runs", ranks=[1]))
    assert hooks_below(model) == []
    assert not (tmp_path / "runs").exists()


def test_a_callback_can_be_sent_to_another_process(tmp_path):
    callback = pickle.loads(pickle.dumps(HookviewCallback(tmp_path / "runs")))
    callback.on_train_start(None, nn.Linear(2, 2))
    callback.on_train_end(None, None)


def test_the_documented_code_runs(run_documented, loader):
    import lightning

    run_documented("Lightning", model=model_for(lightning.pytorch), loader=loader)
    trace = only_trace(Path("runs/lightning"))
    assert trace.paths("forward") == dict.fromkeys(LAYERS, 3)
