"""Records a run and reads the trace with json, without the analyzer."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook

import tb_hookview as hookview
from tb_hookview.markers import COMPILED_KEY, MANIFEST_KEY, Mark, decode, decode_manifest
from tb_hookview.recorder.hooks import Hook, is_inert

ACCUMULATE = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"


class Span(NamedTuple):
    """One complete event; times in ns."""

    name: str
    tid: int
    start: int
    end: int
    args: dict[str, Any]

    def holds(self, other: Span) -> bool:
        return self.tid == other.tid and self.start <= other.start and other.end <= self.end


class Trace:
    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        content = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
        self.manifest = decode_manifest(content.get(MANIFEST_KEY, {}))
        self.compiled = decode_manifest(content.get(COMPILED_KEY, {}))
        self.spans = [_span(e) for e in content["traceEvents"] if e.get("ph") == "X"]

    @cached_property
    def forward_marks(self) -> list[tuple[Mark, Span]]:
        return self.marks("forward")

    def marks(self, kind: str) -> list[tuple[Mark, Span]]:
        found = [(decode(span.name), span) for span in self.spans]
        return [(mark, span) for mark, span in found if mark is not None and mark.kind == kind]

    def paths(self, kind: str) -> Counter[str]:
        return Counter(mark.path for mark, _ in self.marks(kind))

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]


def record(run: Callable[[], object], **kwargs: Any) -> Trace:
    """Record one call under `hookview.profile`."""
    with tempfile.TemporaryDirectory() as folder:
        with hookview.profile(folder, **kwargs):
            run()
        return only_trace(Path(folder))


def record_bare(run: Callable[[], object], **kwargs: Any) -> Trace:
    """Record one call under torch's own profiler."""
    with tempfile.TemporaryDirectory() as folder:
        with torch.profiler.profile(**kwargs) as profiler:
            run()
        path = Path(folder, "trace.json")
        profiler.export_chrome_trace(str(path))
        return Trace(path)


def only_trace_path(folder: Path) -> Path:
    (path,) = folder.glob("*.pt.trace.json.gz")
    return path


def only_trace(folder: Path) -> Trace:
    return Trace(only_trace_path(folder))


def hooks_on(module: nn.Module) -> list[object]:
    """Every hook of ours on a module itself and its parameters."""
    on_parameters = (
        p._post_accumulate_grad_hooks or {} for p in module._parameters.values() if p is not None
    )
    tables = (
        module._forward_pre_hooks,
        module._forward_hooks,
        module._backward_pre_hooks,
        module._backward_hooks,
        *on_parameters,
    )
    found = [hook for table in tables for hook in table.values()]
    found.append(module.__dict__.get("_compiled_call_impl"))
    return [hook for hook in found if isinstance(hook, Hook) or is_inert(hook)]


def hooks_below(root: nn.Module) -> list[object]:
    return [hook for module in root.modules() for hook in hooks_on(module)]


def count_calls(root: nn.Module) -> tuple[Counter[str], Callable[[], None]]:
    """Count calls by path, without the recorder; return counts and a stop function."""
    calls: Counter[str] = Counter()
    paths = {id(module): path for path, module in root.named_modules()}

    def count(module: nn.Module, _: object) -> None:
        if id(module) in paths:
            calls[paths[id(module)]] += 1

    return calls, register_module_forward_pre_hook(count).remove


def _span(event: dict[str, Any]) -> Span:
    start = round(event["ts"] * 1000)
    return Span(
        event["name"],
        event.get("tid", 0),
        start,
        start + round(event.get("dur", 0) * 1000),
        event.get("args", {}),
    )


def model_and_step() -> tuple[nn.Module, Callable[[], None]]:
    """A small wrapped model, and a step of its training."""
    model = hookview.wrap(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    return model, lambda: model(torch.ones(1, 4)).sum().backward()


def traces(folder: Path) -> list[Path]:
    """Recorded traces of a folder, by name."""
    return sorted(folder.glob("*.pt.trace.json.gz"))
