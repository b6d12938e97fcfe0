"""What the recorder costs torch.compile: first steps of models, with us and without, in turn.

    python benchmarks/compiling.py [--rounds N] [--quick]

Each first step, forward and backward, runs in a process of its own with empty caches, after a tiny
model whose compilation loads the compiler. What is counted is CPU time: of the process alone, and
with the C++ compiler that it starts. Other processes on the machine change that by some percent, so
the part in our own functions is measured too, inside of the same processes.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from common import child, page
from common.markdown import table
from compiled import MODELS, train
from torch import nn

_PROGRAM = "compiling"
_ROUNDS = 8


def _mlp() -> nn.Module:
    layers = [nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.GELU()) for _ in range(12)]
    return nn.Sequential(*layers)


_ALL: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "MLP, 12 layers": (_mlp, (32, 64)),
    **MODELS,
}


def main(argv: Sequence[str]) -> int:
    """Measure each model with us and without, as often as asked for, and print the table."""
    if argv[:1] == ["--child"]:
        print(json.dumps(_first_step(*argv[1:])))
        return 0
    parser = page.arguments_of(__doc__)
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    options = parser.parse_args(argv)
    load_before = page.load_now()
    rows = []
    for name in _ALL:
        pairs = list(_pairs(name, 1 if options.quick else options.rounds))
        rows.append(_row(name, pairs))
    columns = (
        "model",
        "pairs",
        "CPU time",
        "process alone",
        "difference",
        "ours",
        "of the process",
    )
    parts = [page.measured_on(_PROGRAM, argv, load_before), table(columns, rows, left=1)]
    page.publish(_PROGRAM, parts, [], options.write)
    return 0


def _pairs(name: str, rounds: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """What first steps took with us and without, each pair in the other order."""
    for number in range(rounds):
        page.say(f"{name}: {number + 1} of {rounds}")
        order = ("with", "without") if number % 2 else ("without", "with")
        found = {ours: _measured(name, ours) for ours in order}
        yield found["with"], found["without"]


def _measured(name: str, ours: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as cache:
        variables = {"TORCHINDUCTOR_CACHE_DIR": cache, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        found = child.run([sys.executable, __file__, "--child", name, ours], **variables)
    if "fails" in found:
        raise SystemExit(f"{name}, {ours}: {found['fails']}")
    return found


def _row(name: str, pairs: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> list[str]:
    differences = [100 * (ours["own"] / without["own"] - 1) for ours, without in pairs]
    ours = statistics.median(each["ours"] for each, _ in pairs)
    own = statistics.median(without["own"] for _, without in pairs)
    return [
        name,
        str(len(pairs)),
        f"{statistics.median(without['all'] for _, without in pairs):.1f} s",
        f"{own:.1f} s",
        f"{statistics.median(differences):+.1f} %, "
        f"{min(differences):+.1f} to {max(differences):+.1f}",
        f"{1000 * ours:.1f} ms",
        f"{100 * ours / own:.2f} %",
    ]


def _first_step(name: str, ours: str) -> dict[str, float]:
    """CPU seconds of a first step: of the process, with its children, and in our functions."""
    torch.set_num_threads(1)
    spent = _counted() if ours == "with" else [0.0]
    if ("tb_hookview.recorder" in sys.modules) != (ours == "with"):
        raise SystemExit("the recorder is loaded where it should not be, or is not")
    train(torch.compile(nn.Linear(3, 3)), torch.ones(2, 3))
    make, shape = _ALL[name]
    torch.manual_seed(0)
    model, x = torch.compile(make()), torch.randn(shape)
    before, spent[0] = _cpu_seconds(), 0.0
    train(model, x)
    own, children = (now - then for now, then in zip(_cpu_seconds(), before, strict=True))
    return {"own": own, "all": own + children, "ours": spent[0]}


def _counted() -> list[float]:
    """Load the recorder; return a list whose one number grows by what its functions take."""
    from tb_hookview.recorder.compiled import installation

    guarded, spent = installation.guarded, [0.0]

    def timed(*args: Any, **kwargs: Any) -> None:
        begin = time.thread_time()
        guarded(*args, **kwargs)
        spent[0] += time.thread_time() - begin

    installation.guarded = timed
    return spent


def _cpu_seconds() -> tuple[float, float]:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    own, children = (each.ru_utime + each.ru_stime for each in used)
    return own, children


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
