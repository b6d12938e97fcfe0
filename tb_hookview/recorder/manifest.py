"""What a trace says of the recording: module tree, versions and options, as JSON in the file."""

from __future__ import annotations

import inspect
import linecache
import os
import re
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from tb_hookview.markers import MANIFEST_KEY, VERSION, encode_manifest
from tb_hookview.recorder.roots import Assigned

KEY = MANIFEST_KEY


def describe(assigned: list[Assigned]) -> str:
    """Return the manifest as JSON text that torch writes unchanged."""
    rank, world_size = place()
    content = {
        "version": VERSION,
        "torch": torch.__version__,
        "markers": sorted({each.root.selection.markers for each in assigned}),
        "rank": rank,
        "world_size": world_size,
        # A root that is recorded as a part of another one does not count.
        "roots": [each.node.path for each in assigned if each.node.depth == 0],
        "modules": list(_rows(assigned)),
    }
    return encode_manifest(content)


def place() -> tuple[int | None, int | None]:
    """Return (rank, world size) of a distributed run, (None, None) of any other.

    A launcher's environment counts too, because the process group is often made later.
    """
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    rank, world_size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    if rank.isdecimal() and world_size.isdecimal():
        return int(rank), int(world_size)
    return None, None


def _rows(assigned: list[Assigned]) -> Iterator[dict[str, Any]]:
    """Yield one row per module; parameters count where they are first held, not below."""
    seen: set[int] = set()
    for each in assigned:
        own = [p for p in each.node.holder._parameters.values() if p is not None]
        own = [p for p in own if id(p) not in seen]
        seen.update(id(p) for p in own)
        sized = [p for p in own if not is_lazy(p)]
        file, line = _source(type(each.node.holder))
        yield {
            "path": each.node.path,
            "class": each.node.class_name,
            "file": file,
            "line": line,
            "parameters": sum(p.numel() for p in sized),
            "bytes": sum(p.numel() * p.element_size() for p in sized),
            "trainable": any(p.requires_grad for p in own),
            "marked": each.marked,
        }


def _source(cls: type) -> tuple[str | None, int | None]:
    """Return where a class is defined, (None, None) for one that has no source file."""
    try:
        file = inspect.getsourcefile(cls)
    except (TypeError, OSError):
        return None, None
    if file is None:
        return None, None
    # inspect.getsourcelines parses the whole file, tens of milliseconds for a large one.
    definition = re.compile(rf"\s*class {re.escape(cls.__name__)}\b")
    lines = linecache.getlines(file)
    return file, next((n for n, text in enumerate(lines, 1) if definition.match(text)), None)
