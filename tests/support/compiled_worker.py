"""Compiles models in a process of its own and prints what came of it as JSON.

python tests/support/compiled_worker.py truth|results|threads with|without MODEL...
"""

from __future__ import annotations

import hashlib
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from support.compiled_models import MODELS, batch, served, train, true_modules
from torch import nn
from torch._dynamo.utils import counters


def truth(name: str) -> dict[str, Any]:
    """Compare the events of a recorded step with the modules that their operands name."""
    from support.recording import record

    import tb_hookview as hookview

    known = MODELS[name]
    model, x = known.make(), batch(known)
    call = torch.compile(model)
    hookview.wrap(call)
    train(call, x)
    trace = record(lambda: train(call, x), record_shapes=True)
    found: dict[str, Any] = {"right": [0, 0], "wrong": [], "near": 0}
    if not trace.compiled["missing"]:
        for each in served(trace):
            true = true_modules(model, known, each.event)
            if len(each.modules) == 1 and each.modules[0] in true:
                found["right"][each.backward] += 1
                found["near"] += sum(each.how)
            else:
                found["wrong"].append([each.event.name, each.modules, sorted(true)])
    found["missing"] = [row["why"] for row in trace.compiled["missing"]]
    hookview.unwrap(call)
    return found


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


def main() -> None:
    mode, ours, *names = sys.argv[1:]
    if ours == "with":
        import tb_hookview.recorder  # noqa: F401
    found: dict[str, Any] = {}
    torch.manual_seed(0)
    if mode == "threads":
        found.update(results_of_threads(names))
    for name in names if mode != "threads" else ():
        torch.manual_seed(0)
        found[name] = truth(name) if mode == "truth" else results(name)
    inductor = counters["inductor"]
    hits = {key: inductor[f"fxgraph_cache_{key}"] for key in ("hit", "miss")}
    answer = {"found": found, **hits, "ours": "tb_hookview" in sys.modules}
    sys.stdout.write(f"\n{json.dumps(answer)}\n")


if __name__ == "__main__":
    main()
