"""Describes a recording: module tree, versions and options, as JSON in the trace file."""

from __future__ import annotations

import inspect
import linecache
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from tb_hookview.markers import MANIFEST_KEY, VERSION
from tb_hookview.recorder.module_filter import Pattern
from tb_hookview.recorder.roots import Assigned, WrappedRoot

# Describes the processor as this process may use it: threads of torch, cores, other ranks.


_LIMIT = Path("/sys/fs/cgroup/cpu.max")
"""Of a container: microseconds of processor time, or `max`, and the period in microseconds."""

_MAPPED = Path("/proc/self/maps")
_DEVICES = ("/dev/nvidia", "/dev/kfd", "/dev/dri", "/dev/accel", "/dev/davinci")
"""What a driver maps into a process that uses its device."""


def cores(limit: Path = _LIMIT) -> float:
    """Return the cores that this process may use, by its affinity and its container's limit."""
    affinity = getattr(os, "sched_getaffinity", None)
    there = float(len(affinity(0)) if affinity is not None else os.cpu_count() or 1)
    try:
        most, period = limit.read_text("ascii").split()
        return min(there, int(most) / int(period))
    except (OSError, ValueError, ZeroDivisionError):  # no such file, or no limit in it
        return there


def _processes() -> int:
    """Return the processes of the run on this machine, as a launcher counts them."""
    local = os.environ.get("LOCAL_WORLD_SIZE", "")
    return max(1, int(local)) if local.isdecimal() else 1


KEY = MANIFEST_KEY

_NOTHING_ATTACHED = {"calls": 0, "gradients": 0, "backward": 0}


def describe(
    assigned: list[Assigned], attached: Mapping[WrappedRoot, Mapping[str, int]]
) -> dict[str, Any]:
    """Return the manifest, for `markers.encode_manifest`.

    Args:
        assigned: every module that is recorded.
        attached: by root, how many calls, gradients and backwards leave marks, under the keys
            "calls", "gradients" and "backward"; a missing key counts as 0.
    """
    rank, world_size = place()
    return {
        "version": VERSION,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "tb_hookview": _own_version(),
        "markers": sorted({each.root.module_filter.markers for each in assigned}),
        "rank": rank,
        "world_size": world_size,
        "device": _device(assigned),
        "layouts": _layouts(assigned),
        "host": {"threads": torch.get_num_threads(), "cores": cores(), "processes": _processes()},
        # A root that is recorded as a part of another one does not count.
        "roots": [each.node.path for each in assigned if each.node.depth == 0],
        "options": [
            _options(root, attached.get(root, {}))
            for root in dict.fromkeys(each.root for each in assigned)
        ],
        "modules": list(_rows(assigned)),
        "shared": list(_shared(assigned)),
    }


def with_earlier(described: dict[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest with what only an earlier one of the same recording lists.

    Marks of a root that was unwrapped since are in the trace.
    """
    joined = dict(described)
    for key in ("options", "modules") if earlier else ():
        paths = {row["path"] for row in described[key]}
        joined[key] = described[key] + [row for row in earlier[key] if row["path"] not in paths]
    joined["roots"] = list(dict.fromkeys([*described["roots"], *earlier.get("roots", ())]))
    return joined


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


@cache
def _own_version() -> str | None:
    try:
        return metadata.version("tb-hookview")
    except metadata.PackageNotFoundError:  # used from a checkout that was not installed
        return None


def _device(assigned: list[Assigned]) -> dict[str, Any]:
    """Return where the parameters are, and the name of the first accelerator among them."""
    devices = dict.fromkeys(p.device for each in assigned for _, p in _parameters(each))
    names = (_accelerator(device) for device in devices if device.type not in ("cpu", "meta"))
    return {
        "parameters": [str(device) for device in devices],
        "accelerator": next((name for name in names if name), None),
    }


def uses_only_cpu(mapped: Path = _MAPPED) -> bool:
    """Return whether this process has certainly used nothing but the CPU so far.

    Whether a device is there is not asked: its driver starts with that question, and a child that
    is forked later could not use it.
    """
    # Libraries beside torch, such as TensorRT or JAX, use devices, too.
    libraries = mapped.read_text("utf-8", "replace") if mapped.is_file() else ""
    if any(device in libraries for device in _DEVICES):
        return False
    accelerator = torch.accelerator.current_accelerator()
    if accelerator is None:
        return "torch_xla" not in sys.modules
    initialized = getattr(torch.get_device_module(accelerator), "is_initialized", None)
    return initialized is not None and not initialized()


def _layouts(assigned: list[Assigned]) -> list[str]:
    """Return the memory formats of weights of convolutions, where they are of one alone."""
    found: dict[str, None] = {}
    for weight in (p for each in assigned for _, p in _parameters(each)):
        # A subclass, such as a sharded tensor, may answer by an operator.
        if type(weight) is nn.Parameter and weight.dim() == 4:
            last = weight.is_contiguous(memory_format=torch.channels_last)
            if last != weight.is_contiguous():
                found["channels_last" if last else "contiguous"] = None
    return list(found)


def _accelerator(device: torch.device) -> str | None:
    """Return the name that torch has for a device, None where it has none."""
    ask = getattr(getattr(torch, device.type, None), "get_device_name", None)
    try:
        return None if ask is None else str(ask(device))
    except (RuntimeError, ValueError, AssertionError):  # a driver without an answer
        return None


def _options(root: WrappedRoot, attached: Mapping[str, int]) -> dict[str, Any]:
    chosen = root.module_filter
    include = chosen.include
    return {
        "path": root.path,
        "name": root.path if root.named else None,
        "include": None if include is None else [_pattern(each) for each in include],
        "exclude": [_pattern(each) for each in chosen.exclude],
        "depth": chosen.depth,
        "markers": chosen.markers,
        "attached": {**_NOTHING_ATTACHED, **attached},
    }


def _pattern(pattern: Pattern) -> str:
    if isinstance(pattern, str):
        return pattern
    return f"{pattern.__module__}.{pattern.__qualname__}"


def _parameters(each: Assigned) -> Iterator[tuple[str, nn.Parameter]]:
    """Yield the parameters that a module holds itself, with their names in it."""
    for name, parameter in each.node.holder._parameters.items():
        if parameter is not None:
            yield name, parameter


def _shared(assigned: list[Assigned]) -> Iterator[dict[str, str]]:
    """Yield each place of a parameter after its first, with that first one."""
    owners: dict[int, tuple[str, str]] = {}
    for each in assigned:
        for name, parameter in _parameters(each):
            here = (each.node.path, name)
            owner = owners.setdefault(id(parameter), here)
            if owner != here:
                yield {
                    "path": here[0],
                    "parameter": here[1],
                    "owner": owner[0],
                    "owner_parameter": owner[1],
                }


def _rows(assigned: list[Assigned]) -> Iterator[dict[str, Any]]:
    """Yield one row per module; parameters count where they are first held, not below."""
    seen: set[int] = set()
    sources: dict[type, tuple[str | None, int | None]] = {}
    for each in assigned:
        own = [p for _, p in _parameters(each) if id(p) not in seen]
        seen.update(id(p) for p in own)
        sized = [p for p in own if not is_lazy(p)]
        cls = type(each.node.holder)
        if cls not in sources:
            sources[cls] = _source(cls)
        file, line = sources[cls]
        yield {
            "path": each.node.path,
            "class": each.node.class_name,
            "file": file,
            "line": line,
            "parameters": sum(p.numel() for p in sized),
            "bytes": sum(p.numel() * p.element_size() for p in sized),
            "trainable": any(p.requires_grad for p in own),
            "marked": each.marked and not each.node.compiled,
            **({"compiled": True} if each.node.compiled else {}),
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
    line = next((n for n, text in enumerate(lines, 1) if definition.match(text)), None)
    return importable(file), line


def importable(file: str) -> str:
    """Return a file's path below the entry of `sys.path` or working directory that holds it.

    Traces are shared, and a whole path shows someone's home folder. The longest entry counts;
    a file below none keeps its whole path.
    """
    path = _absolute(file) or Path(file)
    folders = [folder for entry in ["", *sys.path] if (folder := _absolute(entry))]
    holding = [folder for folder in folders if path.is_relative_to(folder)]
    if holding:
        path = path.relative_to(max(holding, key=lambda folder: len(folder.parts)))
    return path.as_posix()


def _absolute(entry: str) -> Path | None:
    """Return a folder's whole path; None where the working directory is gone."""
    try:
        return Path(entry).absolute()
    except OSError:
        return None
