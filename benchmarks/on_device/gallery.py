"""Syncs of public models: what the dry run predicts, against a GPU's recordings and warnings.

The models of `benchmarks/dry_run/models.py`, or with --only those of one library. Predictions come
from processes that see no GPU, with the same libraries. Recordings decide, by pass: they have every
sync. Warnings name the line, but for the backward pass, which is one place. Explicit
synchronization and operators called by `torch.ops` (`torchvision::nms`) raise none that Python can
catch.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

import tb_hookview as hookview
from benchmarks.dry_run import gallery
from benchmarks.dry_run.models import Trained, models
from sample_traces.scenario import UnavailableError
from tb_hookview.dryrun.recording import frames
from tb_hookview.schema.host import own_syncs

from .results import Results

_WARNING = "called a synchronizing CUDA operation"
_SHARES = 6
"""Processes that predict, and as many that use the GPU."""
_SECONDS = 200
_BACKWARD = "autograd/graph.py"
_QUICK = 4
"""Models of a quick run."""


def compared(results: Results) -> dict[str, Any]:
    """Return what each model's recording and places say, and the models that differ."""
    ways = ("predicted", *(("seen",) if results.setting.cuda else ()))
    with tempfile.TemporaryDirectory() as folder:
        found = {way: _merged(Path(folder), way) for way in _run(Path(folder), ways, results)}
    if "seen" not in found:
        raise UnavailableError(f"needs a CUDA device; {len(found['predicted'])} were predicted")
    rows = {name: _row(found["predicted"].get(name), row) for name, row in found["seen"].items()}
    both = [row for row in rows.values() if "equal" in row]
    return {
        "models": len(rows),
        "compared": len(both),
        "equal": sum(row["equal"] for row in both),
        "equal in warnings": sum(not row["not as warned"] for row in both),
        **{
            f"{what} per step": sum(sum(row[what].values()) for row in both)
            for what in ("predicted", "recorded", "warned")
        },
        "different": {name: row for name, row in rows.items() if not row.get("equal")},
        "rows": rows,
    }


def _row(predicted: dict[str, Any] | None, seen: dict[str, Any]) -> dict[str, Any]:
    """A model's syncs per step: predicted and warned by place, recorded by phase."""
    if predicted is None or "failed" in predicted or "failed" in seen:
        return {"predicted": predicted, "seen": seen, "failed": True}
    expected, warned = predicted["places"], seen["places"]
    uncertain: int = predicted["uncertain"]
    passes = zip(_passes(expected), _passes(seen["recorded"]), strict=True)
    return {
        "predicted": expected,
        "uncertain": uncertain,
        "warned": warned,
        "recorded": seen["recorded"],
        "equal": all(certain <= recorded <= certain + uncertain for certain, recorded in passes),
        "not as warned": {
            place: [expected.get(place, 0), warned.get(place, 0)]
            for place in sorted(expected.keys() | warned.keys())
            if expected.get(place, 0) != warned.get(place, 0)
        },
    }


def _passes(counts: dict[str, int]) -> tuple[int, int]:
    """Syncs in the backward pass, and others."""
    backward = counts.get("backward", 0)
    return backward, sum(counts.values()) - backward


def _run(folder: Path, ways: tuple[str, ...], results: Results) -> tuple[str, ...]:
    """Run all shares at once."""
    running = []
    for way in ways:
        for share in range(_SHARES):
            command = [sys.executable, "-m", f"{__package__}.gallery", str(folder), "--way", way]
            hidden = {"CUDA_VISIBLE_DEVICES": ""} if way == "predicted" else {}
            more = ["--quick"] if results.setting.small else []
            running.append(
                subprocess.Popen(
                    [*command, "--share", str(share), *more], env={**os.environ, **hidden}
                )
            )
    for process in running:
        _end(process)
    return ways


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def _merged(folder: Path, way: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in sorted(folder.glob(f"{way}.*.json")):
        found |= json.loads(path.read_text())
    return found


def share(folder: Path, way: str, number: int, library: str | None, *, quick: bool) -> None:
    """Run every sixth of the models one way, and write each result as it comes."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    measure = predicted if way == "predicted" else seen
    found: dict[str, Any] = {}
    known = [model for model in models() if library in (None, model.library)]
    chosen = known[:_QUICK] if quick else known
    for model in chosen[number::_SHARES]:
        try:
            result = measure(model)
        except Exception as error:  # noqa: BLE001 - part of the result; the others go on
            result = {"failed": f"{type(error).__name__}: {error}".partition("\n")[0]}
        found[f"{model.library} {model.name}"] = result
        path = folder / f"{way}.{number}.json"
        path.with_suffix(".partial").write_text(json.dumps(found))
        path.with_suffix(".partial").replace(path)


def predicted(model: Trained) -> dict[str, Any]:
    """Certain syncs per step of a dry run by place, and how many more there may be."""
    run = gallery.dry_trained(model)
    certain: Counter[str] = Counter()
    uncertain = 0
    for sync in run.report.syncs:
        if sync.step == gallery.STEPS - 1:
            if sync.certain:
                place = gallery.place_of(sync.file, sync.line)
                certain["backward" if sync.phase == "backward" else place] += sync.count
            else:
                uncertain += sync.count
    return {"places": dict(certain), "uncertain": uncertain}


def seen(model: Trained) -> dict[str, Any]:
    """Warnings of the last step by place, and syncs of a recording of one more step by phase."""
    torch.manual_seed(0)
    net = model.make().to("cuda").train()
    step = gallery.training_step(model, net)
    for number in range(gallery.STEPS - 1):
        step(number)
    with _noted() as places:
        step(gallery.STEPS - 1)
    with tempfile.TemporaryDirectory() as folder:
        hookview.wrap(net)
        with hookview.profile(folder, record_shapes=True):
            step(gallery.STEPS)
        hookview.unwrap(net)
        report = hookview.analyze(folder).data
    phases = Counter(sync.phase for sync in own_syncs(report.syncs))
    return {"places": dict(places), "recorded": dict(phases)}


@contextmanager
def _noted() -> Iterator[Counter[str]]:
    """Count the warnings of the block by the program's innermost line."""
    found: Counter[str] = Counter()

    def note(message: Warning | str, *_: object, **__: object) -> None:
        if _WARNING in str(message):
            found[_place(sys._getframe(1))] += 1

    torch.cuda.synchronize()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note  # type: ignore[assignment]
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield found
        finally:
            torch.cuda.set_sync_debug_mode("default")


def _place(frame: Any) -> str:
    around = [each for each, _ in traceback.walk_stack(frame)]
    if any(each.f_code.co_filename.endswith(_BACKWARD) for each in around):
        return "backward"
    for each in around:
        if frames.owner(each.f_code) is frames.Owner.PROGRAM:
            return gallery.place_of(each.f_code.co_filename, f":{each.f_lineno}")
    return "unknown line"


def main() -> int:
    """Run the part, or a share of it."""
    if "--way" not in sys.argv:
        results = Results("gallery", __doc__)
        return results.measure({"models": lambda: compared(results)})
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--way", choices=("predicted", "seen"))
    parser.add_argument("--share", type=int)
    parser.add_argument("--only", metavar="LIBRARY")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    share(options.folder, options.way, options.share, options.only, quick=options.quick)
    return 0


if __name__ == "__main__":
    sys.exit(main())
