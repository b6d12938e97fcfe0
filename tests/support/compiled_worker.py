"""Compiles models in a process of its own and prints what came of it as JSON.

python tests/support/compiled_worker.py results|threads with|without MODEL...
python tests/support/compiled_worker.py record FOLDER MODEL...
"""

from __future__ import annotations

import gc
import hashlib
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from support.compiled_models import MODELS, batch, train
from torch import nn
from torch._dynamo.utils import counters


def record(name: str, folder: Path) -> dict[str, int]:
    """Record a second step of a compiled model; return what its first one found in the cache."""
    import tb_hookview as hookview

    name, _, wrap_first = name.partition(", ")
    before = cached()
    model, x = MODELS[name].make(), batch(MODELS[name])
    if wrap_first:
        hookview.wrap(model)
    call = torch.compile(model)
    if not wrap_first:
        hookview.wrap(call)
    train(call, x)
    with hookview.profile(folder, record_shapes=True):
        train(call, x)
    hookview.unwrap(model if wrap_first else call)
    return {key: count - before[key] for key, count in cached().items()}


def cached() -> dict[str, int]:
    return {key: counters["inductor"][f"fxgraph_cache_{key}"] for key in ("hit", "miss")}


def results(name: str) -> str:
    """Train for three steps; return a fingerprint of all outputs, gradients and buffers."""
    return trained(MODELS[name].make(), batch(MODELS[name]))


def trained(model: nn.Module, x: torch.Tensor) -> str:
    call = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    digest = hashlib.sha256()
    for _ in range(3):
        out = call(x)
        out.square().mean().backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        for tensor in [out, *gradients, *model.buffers()]:
            digest.update(tensor.detach().numpy().tobytes())
        optimizer.step()
        optimizer.zero_grad()
    return digest.hexdigest()


def results_of_threads(names: list[str]) -> dict[str, str]:
    """Train all models at once, each on a thread of its own."""
    models = [MODELS[name].make() for name in names]
    with ThreadPoolExecutor(len(names)) as pool:
        found = pool.map(trained, models, [batch(MODELS[name]) for name in names])
    return dict(zip(names, found, strict=True))


def answer(mode: str, argument: str, names: list[str]) -> dict[str, Any]:
    if mode == "record":
        return {name: record(name, Path(argument, name)) for name in names}
    if argument == "with":
        import tb_hookview.recorder  # noqa: F401
    found = {}
    torch.manual_seed(0)
    if mode == "threads":
        found = results_of_threads(names)
    for name in names if mode == "results" else ():
        torch.manual_seed(0)
        found[name] = results(name)
    return {"found": found, **cached(), "ours": "tb_hookview" in sys.modules}


def main() -> None:
    gc.unfreeze()  # what is frozen cannot be counted
    mode, argument, *names = sys.argv[1:]
    sys.stdout.write(f"\n{json.dumps(answer(mode, argument, names))}\n")
    gc.freeze()  # or the end takes a second


if __name__ == "__main__":
    main()
