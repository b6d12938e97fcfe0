"""Dry-runs a training step of each of many public models, and writes what syncs and where.

    python -m benchmarks.dry_run.gallery [--only TEXT] [--resume]
        [--write benchmarks/results/dry_run_gallery.md]

Each model trains three steps with AdamW, clipping and pinned batches, in a process of its own;
what is listed is of the second and third step. Results are kept in
benchmarks/results/dry_run_gallery.json, so that --only runs some of them again, and --resume those
that an earlier run has not come to. `make gallery` installs the libraries and runs all.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchmarks.common.markdown import table, text
from sample_traces.libraries import load
from tb_hookview.dryrun import DryRun, dry_run
from tb_hookview.dryrun.outlets.text import places

from .models import Trained, models
from .reported import reported

STORE = Path(__file__).resolve().parents[1] / "results" / "dry_run_gallery.json"
LIMIT_S = 900
LIBRARIES = ("torch", "torchvision", "timm", "transformers", "diffusers")
STEPS = 3
_HEAD = """# Syncs of public models

Made on {date} by
`python -m benchmarks.dry_run.gallery --write benchmarks/results/dry_run_gallery.md`, with
{versions}. Each of {count} models trains {steps} steps in a dry run, with random weights, small
inputs, AdamW, clipping and pinned batches; what is listed is of the steps after the first. A count
is per step. What a dry run cannot know holds here too: nothing was timed, a sync may cost nothing,
and other sizes and data can sync elsewhere. A library may have changed since. "Reported" names the
issue or pull request on GitHub that is about the line, where one is known.
"""


def main() -> int:
    """Run the command; return 1 where a model failed."""
    parser = argparse.ArgumentParser("benchmarks.dry_run.gallery", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="models with this in the name")
    parser.add_argument("--resume", action="store_true", help="models that are not in the store")
    parser.add_argument("--write", type=Path, metavar="FILE")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for library in LIBRARIES[1:]:
        load(library)  # once, for all processes
    known = json.loads(STORE.read_text()) if STORE.exists() else {}
    found = known if options.only or options.resume else {}
    for each in models():
        key = f"{each.library} {each.name}"
        if options.only not in key or (options.resume and key in found):
            continue
        found[key] = result = _in_process(each)
        count = result.get("per_step", result.get("failed"))
        print(f"{key}: {count} ({result['seconds']:.1f} s)", flush=True)
        if options.write:
            _store(found)
    if options.write:
        options.write.write_text(page(json.loads(STORE.read_text())), encoding="utf-8")
    return int(any("failed" in result for result in found.values()))


def _store(found: dict[str, dict[str, Any]]) -> None:
    order = [f"{each.library} {each.name}" for each in models()]
    kept = {key: found[key] for key in order if key in found}
    STORE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def _in_process(model: Trained) -> dict[str, Any]:
    """Run a model in a fork, which is ended after a while."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "result.json")
        child = os.fork()
        if child == 0:
            _child(model, path)
        _wait(child, began + LIMIT_S)
        result = json.loads(path.read_text()) if path.exists() else {"failed": "did not end"}
    return {**result, "seconds": time.monotonic() - began}


def _child(model: Trained, path: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        result = trained(model)
    except BaseException as error:  # noqa: BLE001 - a row of the page
        result = {"failed": f"{type(error).__name__}: {str(error).strip()}".partition("\n")[0]}
    path.write_text(json.dumps(result))
    os._exit(0)


def _wait(child: int, until: float) -> None:
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.02)


def training_step(model: Trained, net: nn.Module) -> Callable[[int], None]:
    """Return a step of training: AdamW, with clipping."""
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3)

    def step(number: int) -> None:
        optimizer.zero_grad()
        model.loss(net, number).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()

    return step


def dry_trained(model: Trained) -> DryRun:
    """Train a model in a dry run, and return that."""
    torch.manual_seed(0)
    with dry_run() as run:
        step = training_step(model, model.make().to("cuda").train())
        for number in range(STEPS):
            step(number)
            run.step()
    return run


def trained(model: Trained) -> dict[str, Any]:
    """Train a model in a dry run; return its syncs."""
    warnings.simplefilter("ignore")
    run = dry_trained(model)
    report = run.report
    rows = [
        {
            "count": place.total / len(report.measured),
            "line": place_of(place.sync.file, place.sync.line),
            "code": place.sync.code,
            "phase": place.sync.phase,
            "node": place.sync.node,
            "cause": place.sync.cause,
            "reason": place.sync.reason,
        }
        for place in places(report)
        if place.sync.certain
    ]
    return {"per_step": report.sync_count / len(report.measured), "places": rows}


def place_of(file: str | None, line: str | None) -> str:
    """A line below the library's own folder, wherever it is installed."""
    if file is None or line is None:
        return "unknown line"
    number = line.rpartition(":")[2]
    parts = Path(file).parts
    roots = [n for n, part in enumerate(parts) if part in {"site-packages", "benchmarks"}]
    return f"{'/'.join(parts[roots[-1] + 1 :])}:{number}" if roots else line


def page(found: dict[str, dict[str, Any]]) -> str:
    """Return the page."""
    versions = ", ".join(f"{name} {_version(name)}" for name in LIBRARIES)
    head = _HEAD.format(date=date.today(), versions=versions, count=len(found), steps=STEPS)
    return "\n".join([head, *_summary(found), *_models(found), ""])


def _version(name: str) -> str:
    try:
        return version(name).partition("+")[0]
    except PackageNotFoundError:
        return "(not installed)"


def _summary(found: dict[str, dict[str, Any]]) -> Iterator[str]:
    ran = {key: result for key, result in found.items() if "places" in result}
    clean = sum(result["per_step"] == 0 for result in ran.values())
    total = sum(result["per_step"] for result in ran.values())
    known = sum(
        place["count"]
        for result in ran.values()
        for place in result["places"]
        if reported(place["line"], place["code"])
    )
    rest = f"the others have {total:g} per step in all, {known:g} of them reported publicly"
    yield f"{len(ran)} ran, {clean} of them without a sync; {rest}.\n"
    causes = Counter(
        {
            cause: sum(
                place["count"]
                for result in ran.values()
                for place in result["places"]
                if place["cause"] == cause
            )
            for cause in {p["cause"] for result in ran.values() for p in result["places"]}
        }
    )
    rows = (
        [f"[{c}](../../docs/reference/findings.md#{c})", f"{count:g}"]
        for c, count in causes.most_common()
    )
    yield table(["cause", "syncs per step, all models"], rows)


def _models(found: dict[str, dict[str, Any]]) -> Iterator[str]:
    for library in LIBRARIES[1:]:
        mine = {
            key.partition(" ")[2]: result
            for key, result in found.items()
            if key.startswith(f"{library} ")
        }
        clean = [name for name, result in mine.items() if result.get("per_step") == 0]
        yield f"\n## {library}\n"
        if clean:
            yield f"Without a sync: {', '.join(clean)}.\n"
        failed = {name: r["failed"] for name, r in mine.items() if "failed" in r}
        if failed:
            yield (
                "\n".join(f"Did not run: {n} ({text(why)[:160]})" for n, why in failed.items())
                + "\n"
            )
        rows = [
            [name, _code(place), place["phase"], place["node"] or "", place["cause"],
             reported(place["line"], place["code"]), f"{place['count']:g}"]
            for name, result in mine.items()
            for place in result.get("places", ())
        ]  # fmt: skip
        if rows:
            head = ["model", "line", "phase", "node", "cause", "reported", "per step"]
            yield table(head, rows, left=6)


def _code(place: dict[str, Any]) -> str:
    code = text(place["code"]).replace("`", "'")
    return f"`{place['line']}`: `{code if len(code) <= 90 else code[:87] + '...'}`"


if __name__ == "__main__":
    sys.exit(main())
