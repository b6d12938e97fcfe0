"""Checks after every test that no hook, root or fault of ours is left."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install torch")

from support import torchvision_ops  # noqa: E402
from support.recording import hooks_on  # noqa: E402
from torch import nn  # noqa: E402

from tb_hookview.recorder import faults, roots, session, unwrap  # noqa: E402


@pytest.fixture
def expected_fault() -> None:
    """Marks a test that provokes a fault of the recorder's own."""


@pytest.fixture(autouse=True)
def nothing_left_over(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    monkeypatch.setattr(faults, "_warned", set())
    monkeypatch.setattr(faults, "_advised", set())
    torch.manual_seed(0)
    gc.freeze()  # what is there already need not be searched again, a matter of seconds in all
    yield
    gc.collect()
    # Not isinstance: it asks proxies for their class, and some answer with a warning.
    modules = [thing for thing in gc.get_objects() if issubclass(type(thing), nn.Module)]
    gc.unfreeze()
    hooked = [(type(m).__name__, hooks) for m in modules if (hooks := hooks_on(m))]
    left = roots.alive()
    for _, module in left:  # or each later test would fail for it too
        unwrap(module)
    assert hooked == []
    assert left == []
    assert session.current_manifest() == ""
    assert bool(faults._warned) == ("expected_fault" in request.fixturenames)


@pytest.fixture
def timm_vit() -> nn.Module:
    torchvision_ops.declare()
    timm = pytest.importorskip("timm", reason="needs timm: make setup")
    transformer = timm.models.vision_transformer.VisionTransformer
    return transformer(
        img_size=64,
        patch_size=16,
        embed_dim=48,
        depth=3,
        num_heads=4,
        num_classes=10,
        patch_drop_rate=0.5,
        drop_path_rate=0.1,
    )
