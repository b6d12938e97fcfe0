"""Traces of small runs: ranks train a model of two modules, and meet once a step."""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Spell(NamedTuple):
    """What a rank does before the collective of each step, milliseconds."""

    a: float = 2.0
    b: float = 3.0
    """In modules `a` and `b`."""
    loader: float = 0.0
    backward: float = 0.0
    """In the backward of `b`."""


TRANSFER_MS = 1.0


def write_run(
    folder: Path,
    spells: Sequence[Spell],
    *,
    steps: int = 5,
    clocks: Sequence[float] = (),
    skipped: Mapping[int, int] | None = None,
    numbered: bool = False,
    names: Mapping[int, str] | None = None,
    grouped: bool = True,
    twice: Mapping[int, Collection[int]] | None = None,
    later: float = 0.0,
    process: str = "",
    marked: bool = True,
) -> Path:
    """Write the traces of a run.

    Args:
        folder: where they go.
        spells: what each rank does.
        steps: of each recording.
        clocks: milliseconds by which each rank's clock is ahead.
        skipped: steps that a rank's recording begins later than the others'.
        numbered: whether the traces number their collectives.
        names: another name of its collectives by rank.
        grouped: whether the traces name the process group.
        twice: steps in which a rank has a second collective.
        later: milliseconds by which all of it is later.
        process: follows the rank in the names of the files.
        marked: whether the traces mark their steps.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for rank, spell in enumerate(spells):
        first = (skipped or {}).get(rank, 0)
        clock = 1000.0 + later + (clocks[rank] if clocks else 0.0)
        longest = max(sum(other) for other in spells)
        traced: list[dict[str, Any]] = []
        for step in range(first, steps):
            begin = clock + step * (longest + TRANSFER_MS)
            name = (names or {}).get(rank, "allreduce")
            group = ({"Process Group Name": "0"} if grouped else {}) | (
                {"Seq": step} if numbered else {}
            )
            traced += _step(step, begin, spell, longest, name, group)
            if step in (twice or {}).get(rank, ()):
                traced += _collective(
                    step, begin + longest + 0.5, begin + longest + 0.9, name, group
                )
        if not marked:
            traced = [row for row in traced if not row["name"].startswith("ProfilerStep")]
        root = {"distributedInfo": {"backend": "gloo", "rank": rank, "world_size": len(spells)}}
        text = json.dumps({"schemaVersion": 1, **root, "traceEvents": traced})
        (folder / f"rank{rank}{process}.1.pt.trace.json.gz").write_bytes(
            gzip.compress(text.encode())
        )
    return folder


def drop_collectives(path: Path, *, device: bool) -> None:
    """Drop the collectives of a trace; make its device run a copy instead, or nothing."""
    traced = json.loads(gzip.decompress(path.read_bytes()))
    rows = [row for row in traced["traceEvents"] if row["name"] != "record_param_comms"]
    for row in rows:
        if row["cat"] == "kernel":
            row["name"] = "copy"
    traced["traceEvents"] = [row for row in rows if device or row["cat"] != "kernel"]
    path.write_bytes(gzip.compress(json.dumps(traced).encode()))


def _step(
    number: int, begin: float, spell: Spell, longest: float, name: str, group: Mapping[str, Any]
) -> list[dict[str, Any]]:
    at = begin
    rows = [_row("user_annotation", f"ProfilerStep#{number}", begin, longest + TRANSFER_MS)]
    if spell.loader:
        loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        rows.append(_row("user_annotation", loader, at, spell.loader))
        at += spell.loader
    for path, time in (("a", spell.a), ("b", spell.b)):
        rows.append(_row("cpu_op", f"{path} (Linear) forward ~hv1", at, time))
        rows.append(_row("cpu_op", "aten::mm", at, time / 2, **{"Sequence number": number}))
        at += time
    if spell.backward:
        of = {"Sequence number": number, "Fwd thread id": 1}
        node = "autograd::engine::evaluate_function: MmBackward0"
        rows.append(_row("cpu_op", node, at, spell.backward, **of))
        rows.append(_row("cpu_op", "MmBackward0", at, spell.backward / 2, **of))
        at += spell.backward
    return [*rows, *_collective(number, at, begin + longest + TRANSFER_MS, name, group)]


def _collective(
    number: int, at: float, end: float, name: str, group: Mapping[str, Any]
) -> list[dict[str, Any]]:
    parameters = {
        "Collective name": name,
        "In msg nelems": 1000,
        "Out msg nelems": 1000,
        "dtype": "Float",
        "Group size": 3,
    }
    launch = _row("cuda_runtime", "cudaLaunchKernel", at, 0.01, correlation=number + 1)
    kernel = _row("kernel", "ncclDevKernel_AllReduce", at + 0.02, end - at - 0.02)
    kernel |= {"pid": 0, "tid": 7, "args": {"correlation": number + 1, "device": 0, "stream": 7}}
    call = _row("cpu_op", "record_param_comms", at, 0.02, **parameters, **group)
    return [call, launch, kernel]


def _row(category: str, name: str, start: float, duration: float, **args: Any) -> dict[str, Any]:
    times = {"ts": start * 1000, "dur": duration * 1000}
    return {"ph": "X", "cat": category, "name": name, "pid": 9, "tid": 9, **times, "args": args}
