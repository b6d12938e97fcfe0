"""A log directory to ask hostile questions about, and what there is to ask for in it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import grid
from flask import Flask

from tb_hookview.server import create_app
from tb_hookview.server.openapi import build

RECORDED = Path(__file__).parents[1] / "data" / "recorder_v1.pt.trace.json.gz"
SMALL = """
    main     notes   [ProfilerStep#1                           ]
    main     ops      [mm seq=1 ]
    autograd ops                   [node seq=1 F=1]
    main     calls                 [launch corr=7]
    gpu      kernel                     [k corr=7]
"""
NODE = {"node": "autograd::engine::evaluate_function: MmBackward0", "launch": "cudaLaunchKernel"}
HOSTILE = [
    "..",
    "../outside",
    "../../etc/passwd",
    "/etc",
    "a\0b",
    "x" * 10_000,
    "%2e%2e%2f",
    "\\..\\",
]


def make_logdir(folder: Path) -> Path:
    """Two runs with a good trace each, one with a bad one, and files beside that are not served."""
    logdir = folder / "logs"
    for name in ("vit", "deep/mlp", "broken"):
        (logdir / name).mkdir(parents=True)
    shutil.copy(RECORDED, logdir / "vit" / "rank0.1.pt.trace.json.gz")
    grid.write(logdir / "deep/mlp" / "rank1.2.pt.trace.json", grid.events(SMALL, NODE))
    (logdir / "broken" / "rank2.3.pt.trace.json").write_bytes(b"%PDF-1.7")
    (folder / "outside").mkdir(parents=True)
    shutil.copy(RECORDED, folder / "outside" / "rank0.1.pt.trace.json.gz")
    (logdir / "vit" / "linked.4.pt.trace.json.gz").symlink_to(
        folder / "outside" / "rank0.1.pt.trace.json.gz"
    )
    return logdir


KNOWN: dict[str, list[Any]] = {
    "run": ["vit", "vit", "deep/mlp", "broken", *HOSTILE],
    "worker": ["rank0", "rank0", "rank1", "rank2", *HOSTILE],
    "trace": ["1", "2", "3", *HOSTILE],
    "step": ["ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3", *HOSTILE],
    "path": ["", "embed", "blocks.0", *HOSTILE],
    "lanes": ["0,1", "", "0", "999", ",,", *HOSTILE],
    "name": [*HOSTILE],
    "without": ["sync-scalar-item", "launch-bound", *HOSTILE],
    "scale": ["host=0.5", "kernels=2", "syncs=0", "kind:matrix=0", "module:embed=0", "host=1e999"],
}


def make_app(logdir: Path) -> Flask:
    """The application, with its description as a further route; where that says no more of a
    parameter than that it is text, some that exist are offered too."""
    app = create_app(logdir)
    description = build()
    for path in description["paths"].values():
        for parameter in path["get"]["parameters"]:
            known = KNOWN.get(parameter["name"].removeprefix("other_"))
            if known:
                parameter["schema"] = _often(parameter["schema"], known)
    app.add_url_rule("/openapi.json", view_func=lambda: description)
    return app


def _often(schema: dict[str, Any], known: list[str]) -> dict[str, Any]:
    if schema.get("type") == "array":
        return {**schema, "items": _often(schema["items"], known)}
    allowed = [text for text in dict.fromkeys(known) if len(text) >= schema.get("minLength", 0)]
    return {"anyOf": [{"enum": allowed}, schema]}
