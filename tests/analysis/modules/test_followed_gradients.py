"""Gradients without marks, given to the module of the node they follow: how often that is true.

A step is recorded with gradient marks, which say whose each gradient is. The same file without
these marks, as `markers="forward"` leaves it, has to be explained by what follows what.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tb_hookview as hookview
from tb_hookview import markers
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.modules.attribution import EVIDENCE
from tb_hookview.loading import load

torch = pytest.importorskip("torch", reason="needs torch: pip install torch")
from support import torchvision_ops  # noqa: E402  # needs torch


def disagreements(model: Any, step: Callable[[], None], folder: Path) -> list[tuple[str, str]]:
    """Owner and found module of every gradient that is given to another than its owner."""
    hookview.wrap(model)
    step()
    with hookview.profile(str(folder)):
        step()
    hookview.unwrap(model)
    (path,) = folder.glob("*.pt.trace.json.gz")
    marked, unmarked = load(path), load(without_gradient_marks(path))
    by_mark = marked.attribution.node_evidence == EVIDENCE.index("mark")
    assert by_mark.any()
    follows = unmarked.attribution.node_evidence == EVIDENCE.index("follows")
    assert np.array_equal(by_mark, follows)
    pairs = zip(owners(marked, by_mark), owners(unmarked, by_mark), strict=True)
    return [(owner, found) for owner, found in pairs if owner != found]


def owners(analysis: Analysis, nodes: Any) -> list[str]:
    return [analysis.modules.path[m] for m in analysis.attribution.node_module[nodes].tolist()]


def without_gradient_marks(path: Path) -> Path:
    trace = json.loads(gzip.decompress(path.read_bytes()))
    trace["traceEvents"] = [e for e in trace["traceEvents"] if not is_gradient_mark(e)]
    trace[markers.MANIFEST_KEY]["markers"] = ["forward"]
    stripped = path.with_name("stripped.json")
    stripped.write_text(json.dumps(trace))
    return stripped


def is_gradient_mark(event: dict[str, Any]) -> bool:
    mark = markers.decode(str(event.get("name")))
    return mark is not None and mark.kind == "gradient"


def test_a_vision_transformer_and_its_autocast(tmp_path: Path) -> None:
    torchvision_ops.declare()
    timm = pytest.importorskip("timm", reason="needs timm: make setup")
    model = timm.models.VisionTransformer(
        img_size=32, patch_size=8, embed_dim=48, depth=2, num_heads=3
    )
    data = torch.randn(2, 3, 32, 32)

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16):
            out = model(data)
        out.float().square().mean().backward()

    assert disagreements(model, step, tmp_path) == []


def test_a_residual_network(tmp_path: Path) -> None:
    torchvision_ops.declare()
    torchvision = pytest.importorskip("torchvision", reason="needs torchvision: make setup")
    model, data = torchvision.models.resnet18(), torch.randn(1, 3, 64, 64)
    assert disagreements(model, lambda: model(data).sum().backward(), tmp_path) == []


def test_a_parameter_that_another_module_uses_goes_to_the_user(tmp_path: Path) -> None:
    """The known limit: attention computes with the weights of its `out_proj` without calling it."""
    nn = torch.nn
    model = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    data = torch.randn(2, 4, 16)
    found = disagreements(model, lambda: model(data).sum().backward(), tmp_path)
    assert found == [("self_attn.out_proj", "self_attn")] * 2
