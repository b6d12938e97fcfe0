"""Record the small training run that `tests/report/test_earlier_recorder.py` reads.

    python tests/data/make_recorder_trace.py tests/data/recorder_v1.pt.trace.json.gz

The file shows what the recorder wrote in the version its name tells. Once that version has been
released the file is never made anew: a later format gets a file of its own beside it.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

import tb_hookview as hookview

_WORDS = 7
_WIDTH = 4
_OF_THIS_MACHINE = ("traceName", "host_name", "deviceProperties")


class Block(nn.Module):
    """A normalised linear layer, added to its input."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(_WIDTH)
        self.fc = nn.Linear(_WIDTH, _WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Keep the shape."""
        changed: torch.Tensor = self.fc(self.norm(x))
        return x + changed


class Net(nn.Module):
    """Word numbers to scores of words; the head has the weight of the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(_WORDS, _WIDTH)
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(_WIDTH, _WORDS, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Return scores, shape (words, _WORDS)."""
        scores: torch.Tensor = self.head(self.blocks(self.embed(words)))
        return scores


def record(folder: Path) -> Path:
    """Record two training steps; return the file."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = hookview.wrap(Net())
    loss_fn = hookview.wrap(nn.CrossEntropyLoss(), name="loss")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    words = torch.tensor([1, 2, 3])
    with hookview.profile(
        folder, schedule=torch.profiler.schedule(wait=0, warmup=1, active=2)
    ) as p:
        for _ in range(3):
            optimizer.zero_grad()
            scaler.scale(loss_fn(model(words), words)).backward()
            scaler.unscale_(optimizer)
            clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            p.step()
    (path,) = folder.glob("*.pt.trace.json.gz")
    return path


def main() -> None:
    """Write the file, without what tells of the machine."""
    with tempfile.TemporaryDirectory() as folder:
        content = json.loads(gzip.decompress(record(Path(folder)).read_bytes()))
    for key in _OF_THIS_MACHINE:
        content.pop(key, None)
    data = json.dumps(content, separators=(",", ":")).encode()
    Path(sys.argv[1]).write_bytes(gzip.compress(data, 9, mtime=0))


if __name__ == "__main__":
    main()
