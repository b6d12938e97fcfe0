"""The description of the recording in the trace file."""

from __future__ import annotations

import json
import linecache
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import torch
from support.recording import record
from torch import nn

import tb_hookview as hookview
from tb_hookview.markers import decode_manifest, encode_manifest
from tb_hookview.recorder import manifest, roots


def described(attached: dict[Any, dict[str, int]] | None = None) -> dict[str, Any]:
    """The manifest as an analyzer gets it."""
    text = encode_manifest(manifest.describe(roots.assign(), attached or {}))
    return decode_manifest(json.loads(text))


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5)
        self.head.weight = self.embedding.weight
        self.head.alias = self.head.bias

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.embedding(ids))


def test_it_lists_what_a_later_module_shares_with_an_earlier_one():
    model = hookview.wrap(Tied())
    trace = record(lambda: model(torch.tensor([1])).sum().backward())
    assert trace.manifest["shared"] == [
        {
            "path": "head",
            "parameter": "weight",
            "owner": "embedding",
            "owner_parameter": "weight",
        },
        {"path": "head", "parameter": "alias", "owner": "head", "owner_parameter": "bias"},
    ]
    hookview.unwrap(model)


def test_nothing_shared_is_an_empty_list():
    shared = nn.Linear(4, 4)
    model = hookview.wrap(nn.Sequential(shared, nn.Linear(4, 4), shared))
    assert described()["shared"] == []
    hookview.unwrap(model)


def test_it_says_where_the_parameters_are():
    model = hookview.wrap(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2, device="meta")))
    assert described()["device"] == {"parameters": ["cpu", "meta"], "accelerator": None}
    hookview.unwrap(model)


@pytest.mark.parametrize(
    ("formats", "layouts"),
    [
        ([torch.contiguous_format], ["contiguous"]),
        ([torch.channels_last], ["channels_last"]),
        ([torch.contiguous_format, torch.channels_last], ["contiguous", "channels_last"]),
    ],
)
def test_it_says_in_which_order_weights_of_convolutions_are(formats, layouts):
    convolutions = [nn.Conv2d(2, 2, 3).to(memory_format=each) for each in formats]
    # A filter of one pixel has both orders.
    model = hookview.wrap(nn.Sequential(*convolutions, nn.Conv2d(2, 2, 1), nn.Linear(2, 2)))
    assert described()["layouts"] == layouts
    hookview.unwrap(model)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_it_names_the_accelerator():
    model = hookview.wrap(nn.Linear(2, 2, device="cuda"))
    name = torch.cuda.get_device_name(0)
    assert described()["device"] == {"parameters": ["cuda:0"], "accelerator": name}
    hookview.unwrap(model)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_it_says_that_torch_used_only_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quantized modules hold no parameters, and those of a functional model may be on "meta"."""
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: None)
    model = hookview.wrap(nn.ReLU())
    assert record(lambda: model(torch.ones(2))).manifest["only_cpu"] is True
    hookview.unwrap(model)


@pytest.mark.parametrize("used", [False, True])
def test_a_device_that_is_there_and_idle_is_not_used(used, monkeypatch):
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: used)
    assert manifest.uses_only_cpu() is not used


def test_a_device_that_another_library_uses_is_used(monkeypatch, tmp_path):
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: None)
    maps = tmp_path / "maps"
    maps.write_text("7f00-7f01 rw-s 00000000 00:06 464 /dev/nvidia0\n")
    assert manifest.uses_only_cpu(tmp_path / "missing")
    assert not manifest.uses_only_cpu(maps)


def test_a_root_that_was_unwrapped_while_recording_stays_listed():
    """Its marks are in the trace, where no other root's module has them."""
    other = hookview.wrap(nn.Sequential(nn.Linear(2, 2)))
    model = hookview.wrap(nn.Sequential(nn.Linear(2, 2)), name="model")

    def run() -> None:
        model(torch.ones(1, 2)).sum().backward()
        hookview.unwrap(model)

    noted = record(run).manifest
    assert noted["roots"] == ["", "model"]
    assert [row["path"] for row in noted["modules"]] == ["", "0", "model", "model.0"]
    assert [row["path"] for row in noted["options"]] == ["", "model"]
    hookview.unwrap(other)


def test_a_driver_that_will_not_tell_its_name_is_no_fault(monkeypatch):
    def refuse(_: object) -> str:
        raise RuntimeError("no driver")

    monkeypatch.setattr(torch.cuda, "get_device_name", refuse)
    assert manifest._accelerator(torch.device("cuda:0")) is None


def test_it_tells_the_versions_of_all_that_took_part():
    manifest = described()
    assert manifest["python"] == platform.python_version()
    installed = [d.version for d in metadata.distributions(name="tb-hookview")]
    assert manifest["tb_hookview"] == (installed[0] if installed else None)
    assert manifest["torch"] == torch.__version__


def test_it_repeats_the_options_of_every_root():
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    hookview.wrap(model, include=["0", nn.ReLU], exclude='a"b', depth=2)
    loss = hookview.wrap(nn.MSELoss(), name="loss", markers="forward")
    first, second = described()["options"]
    assert first == {
        "path": "",
        "name": None,
        "include": ["0", "torch.nn.modules.activation.ReLU"],
        "exclude": ['a"b'],
        "depth": 2,
        "markers": "auto",
        "attached": {"calls": 0, "gradients": 0, "backward": 0},
    }
    assert (second["path"], second["name"], second["markers"]) == ("loss", "loss", "forward")
    assert (second["include"], second["exclude"], second["depth"]) == (None, [], None)
    hookview.unwrap(model)
    hookview.unwrap(loss)


def test_it_counts_what_was_attached_by_root():
    model = hookview.wrap(nn.Linear(4, 4))
    loss = hookview.wrap(nn.MSELoss(), name="loss")
    counts = {roots.find(model): {"calls": 1, "gradients": 2}}
    first, second = described(attached=counts)["options"]
    assert first["attached"] == {"calls": 1, "gradients": 2, "backward": 0}
    assert second["attached"] == {"calls": 0, "gradients": 0, "backward": 0}
    hookview.unwrap(model)
    hookview.unwrap(loss)


def test_a_recording_tells_what_was_attached_and_what_a_mark_cost():
    model = hookview.wrap(nn.Linear(4, 4))
    trace = record(lambda: model(torch.ones(1, 4)).sum().backward())
    (root,) = trace.manifest["options"]
    assert root["attached"] == {"calls": 1, "gradients": 2, "backward": 1}
    cost_us = trace.manifest["cost_us"]
    assert set(cost_us) == {"forward", "gradient", "backward"}
    assert cost_us["backward"] == 0  # its marks are added once the recording is over
    assert min(cost_us["forward"], cost_us["gradient"]) > 0
    hookview.unwrap(model)


def test_the_file_of_a_class_is_given_without_the_folder_it_is_installed_in():
    model = hookview.wrap(nn.Linear(2, 2))
    (row,) = described()["modules"]
    assert row["file"] == "torch/nn/modules/linear.py"
    source = linecache.getlines(str(Path(torch.__file__).parents[1] / row["file"]))
    assert source[row["line"] - 1].startswith("class Linear(")
    hookview.unwrap(model)


def test_the_longest_folder_that_holds_a_file_counts(tmp_path, monkeypatch):
    inner = tmp_path / "project" / "src"
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(inner), "/"])
    assert manifest.importable(str(inner / "nets" / "a.py")) == "nets/a.py"
    assert manifest.importable(str(tmp_path / "project" / "b.py")) == "project/b.py"
    assert manifest.importable(str(tmp_path / "project" / "src.py")) == "project/src.py"


def test_the_working_folder_counts_too(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.chdir(tmp_path)
    assert manifest.importable(str(tmp_path / "train.py")) == "train.py"
    assert manifest.importable("train.py") == "train.py"


def test_a_file_below_no_folder_keeps_its_whole_path(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path / "other")])
    monkeypatch.chdir(tmp_path / "..")
    outside = Path(tmp_path.anchor, "elsewhere", "net.py")
    assert manifest.importable(str(outside)) == outside.as_posix()


def test_a_class_without_a_source_has_no_file():
    made = type("Made", (nn.Linear,), {"__module__": "nowhere"})
    model = hookview.wrap(made(2, 2))
    (row,) = described()["modules"]
    assert (row["file"], row["line"]) == (None, None)
    hookview.unwrap(model)
