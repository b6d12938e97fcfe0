"""Modules that the ranges of `fully_shard` name, whichever module's call or node they are in.

FSDP gathers a module's parameters before its call, and ahead of it while another module runs:

    main ops   [root forward                                                    ]
    main ops     [FSDP::pre_forward (blocks.0)   ] [blocks.0 forward       ]
    main ops       [FSDP::all_gather (blocks.0)]
    auto ops   [node of head                                                    ]
    auto ops     [FSDP::backward_prefetch for blocks.0 > FSDP::all_gather (blocks.0)]

A path is below the module to which `fully_shard` was applied last, whose own ranges name nothing.
"""

from __future__ import annotations

import re

import numpy as np

from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.modules.tree import Modules
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import ModuleIndex, TreeRow

_RANGE = re.compile(r"FSDP::(?!cast_)\w+(?: \((?P<path>[^ ,]*)\)| for (?P<next>[^ ,]+))?")


def sharding_ranges(host: HostRows, modules: Modules) -> tuple[TreeRow, ModuleIndex]:
    """Innermost range around each row whose module is known, and the module; -1 for none."""
    rows = host.named(_RANGE.fullmatch)
    strings = unique(host.string[rows]).tolist()
    paths = [_path(host.trace.strings[string]) for string in strings]
    module = np.full(len(host.trace.strings), -1, np.int64)
    module[strings] = _modules(modules, paths)
    known = np.zeros(len(host), bool)
    known[rows] = module[host.string[rows]] >= 0
    innermost = host.call_tree.nearest(known)
    return innermost, lookup(module, lookup(host.string, innermost))


def _path(text: str) -> str:
    found = _RANGE.fullmatch(text)
    return (found["path"] or found["next"] or "") if found else ""


def _modules(modules: Modules, paths: list[str]) -> list[int]:
    """The module of each path below the root of the sharding, -1 for none.

    That root is the module below which all paths are found, one at the end of ours each.
    """
    index = {path: number for number, path in enumerate(modules.path)}
    found = [_ending(modules.path, path) if path else None for path in paths]
    roots = {
        whole[: -len(path)].rstrip(".")
        for whole, path in zip(found, paths, strict=True)
        if whole is not None
    }
    root = roots.pop() if len(roots) == 1 else None
    places = (root if path == "" else whole for whole, path in zip(found, paths, strict=True))
    return [-1 if place is None else index.get(place, -1) for place in places]


def _ending(known: tuple[str, ...], path: str) -> str | None:
    """The one known path that is another one, or ends with it."""
    found = [each for each in known if each == path or each.endswith(f".{path}")]
    return path if path in found else found[0] if len(found) == 1 else None
