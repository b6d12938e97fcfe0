"""One of two processes that train together under each library's DistributedDataParallel.

    RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=... python worker.py

Runs in the folder in which it is started, where each library leaves its traces under `runs/`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from integrations import documented, test_lightning, test_transformers
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    """Train with all three."""
    torch.set_num_threads(1)
    loader = DataLoader(TensorDataset(torch.randn(24, 8), torch.randint(4, (24,))), batch_size=2)
    callback = test_lightning.HookviewCallback("runs/lightning", schedule=test_lightning.TWO_STEPS)
    package = test_lightning.PACKAGES[0]
    test_lightning.fit(
        package, test_lightning.model_for(package), loader, callback, strategy="ddp", devices=2
    )
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    documented.run("Accelerate", model=model, optimizer=optimizer, loader=loader)
    documented.run(
        "transformers", model=test_transformers.bert(), data=test_transformers.Sentences()
    )
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
