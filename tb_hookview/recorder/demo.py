"""Records a small training run: a vision transformer with patch dropout."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tb_hookview.errors import HookviewError, UsageError
from tb_hookview.recorder.profiling import profile
from tb_hookview.recorder.wrapping import unwrap, wrap

_IMAGE = 64
_CLASSES = 10
_BATCH = 16


def record_demo(
    logdir: str | os.PathLike[str],
    *,
    steps: int = 3,
    device: str | torch.device | None = None,
    say: Callable[[str], None] | None = None,
) -> Path:
    """Train a small vision transformer on random images and record it.

    Args:
        logdir: folder for the trace, made if missing.
        steps: steps to record, at least one; two more run before them.
        device: where to train; CUDA if there is one, else the CPU, by default.
        say: called with each line of progress.

    Returns:
        The trace file.

    Raises:
        UsageError: an argument has a wrong value.
        HookviewError: no trace could be written.
    """
    if steps < 1:
        raise UsageError(f"steps is {steps}; at least one step is needed")
    say = say or (lambda _: None)
    chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    folder = Path(logdir)
    before = set(_traces(folder))
    with _seeded(), _deterministic(chosen):
        _train(folder, chosen, steps, say)
    written = [path for path in _traces(folder) if path not in before]
    if not written:
        raise HookviewError(f"{folder}: no trace was written; is the folder writable?")
    say(f"wrote {written[-1].name}")
    return written[-1]


def _train(folder: Path, device: torch.device, steps: int, say: Callable[[str], None]) -> None:
    model = wrap(VisionTransformer().to(device).train())
    loss_fn = wrap(nn.CrossEntropyLoss(label_smoothing=0.1), name="loss")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    total = 2 + steps
    schedule = torch.profiler.schedule(wait=1, warmup=1, active=steps, repeat=1)
    say(f"training a vision transformer with patch dropout on {device.type}, {total} steps")
    try:
        with profile(folder, schedule=schedule) as profiler:
            for step, (images, labels) in enumerate(_random_batches(total), 1):
                optimizer.zero_grad()
                loss = loss_fn(model(images.to(device)), labels.to(device))
                loss.backward()
                optimizer.step()
                profiler.step()
                say(f"step {step} of {total}: {'recorded' if step > 2 else 'not recorded'}")
    finally:
        unwrap(loss_fn)
        unwrap(model)


def _random_batches(count: int) -> DataLoader[tuple[torch.Tensor, ...]]:
    images = torch.randn(count * _BATCH, 3, _IMAGE, _IMAGE)
    labels = torch.randint(_CLASSES, (count * _BATCH,))
    return DataLoader(TensorDataset(images, labels), batch_size=_BATCH)


def _traces(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.pt.trace.json.gz"), key=lambda path: path.stat().st_mtime_ns)


@contextmanager
def _seeded() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@contextmanager
def _deterministic(device: torch.device) -> Iterator[None]:
    """On CUDA, choose the deterministic kernels: the backward of gather then waits or sorts."""
    if device.type != "cuda":
        yield
        return
    # Read by cuBLAS when it is first used; without it the deterministic mode is refused.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    was_on = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(was_on)


class VisionTransformer(nn.Module):
    """Maps images (batch, 3, 64, 64) to scores (batch, 10), dropping half the patches."""

    def __init__(self, width: int = 128, depth: int = 4, heads: int = 4, patch: int = 8) -> None:
        super().__init__()
        self.patch_embed = PatchEmbed(width, patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.randn(1, (_IMAGE // patch) ** 2, width) * 0.02)
        self.patch_drop = PatchDropout(0.5)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, _CLASSES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the class scores."""
        tokens = self.patch_drop(self.patch_embed(images) + self.pos_embed)
        tokens = torch.cat([self.cls_token.expand(len(tokens), -1, -1), tokens], dim=1)
        scores: torch.Tensor = self.head(self.norm(self.blocks(tokens))[:, 0])
        return scores


class PatchEmbed(nn.Module):
    """Maps images to one token per patch."""

    def __init__(self, width: int, patch: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, width, kernel_size=patch, stride=patch)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return (batch, patches, width)."""
        tokens: torch.Tensor = self.proj(images).flatten(2).transpose(1, 2)
        return tokens


class PatchDropout(nn.Module):
    """Keeps a random part of the tokens of each image while training."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return (batch, 1 or more tokens, width)."""
        if not self.training:
            return tokens
        batch, length, width = tokens.shape
        count = max(1, int(length * (1 - self.rate)))
        order = torch.randn(batch, length, device=tokens.device).argsort(dim=-1)
        return tokens.gather(1, order[:, :count, None].expand(-1, -1, width))


class Block(nn.Module):
    """Adds attention and a two-layer perceptron to its input, each on normalized tokens."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return tokens of the same shape."""
        tokens = tokens + self.attn(self.norm1(tokens))
        result: torch.Tensor = tokens + self.mlp(self.norm2(tokens))
        return result


class Attention(nn.Module):
    """Multi-head self-attention, spelled out so that a trace shows its parts."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.attn_drop = nn.Dropout(0.1)
        self.proj = nn.Linear(width, width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return tokens of the same shape."""
        batch, length, width = tokens.shape
        split = self.qkv(tokens).reshape(batch, length, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4).unbind(0)
        scores = query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5
        mixed = self.attn_drop(scores.softmax(dim=-1)) @ value
        result: torch.Tensor = self.proj(mixed.transpose(1, 2).reshape(batch, length, width))
        return result


class Mlp(nn.Module):
    """Two linear layers, four times as wide between them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, 4 * width)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return tokens of the same shape."""
        result: torch.Tensor = self.drop(self.fc2(self.act(self.fc1(tokens))))
        return result
