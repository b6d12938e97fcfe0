"""Compares the report on a recorded run with independently found truth.

The truth for a node is the module that was running when autograd gave out its number: torch's own
counter, read at module boundaries. For gradients it is what hooks on the parameters themselves say.
Times are taken from the file by a plain reading of it.
"""

from __future__ import annotations

import tempfile
import threading
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from support.harmless import Options, Run, execute
from support.recording import Span, Trace, only_trace_path
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

import tb_hookview as hookview
from tb_hookview import markers
from tb_hookview.analysis.host.rows import node_name
from tb_hookview.loading import load
from tb_hookview.schema import Module

EVALUATE = "autograd::engine::evaluate_function: "
NOBODYS = {f"{EVALUATE}torch::autograd::{name}" for name in ("AccumulateGrad", "GraphRoot")}
"""Nodes that no operator made: no number of theirs means anything."""
OUTSIDE = "(outside)"
THREAD = "truth, thread "
GRADIENT = "truth, gradient of "
Times = Counter[str]
"""Microseconds of backward host time by the path of the module."""


class Verdict(NamedTuple):
    """How a report compares with the truth."""

    nodes: int
    """Evaluations of autograd nodes that ran."""
    agreeing: float
    """Part of the backward host time that the report attributes to the true module."""
    inside: float
    """Part of the backward host time that belongs to some module."""
    found: Times
    wanted: Times


def assert_attributed(
    model: nn.Module, run: Run, profile: Options | None = None, *, bare: bool = False
) -> Verdict:
    """Check that the report attributes all backward host time to the true module."""
    verdict = judge(model, run, profile, bare=bare)
    wrong = {
        path: (verdict.found[path], verdict.wanted[path])
        for path in verdict.found | verdict.wanted
        if abs(verdict.found[path] - verdict.wanted[path]) > 0.02
    }
    assert wrong == {}, f"found and wanted: {wrong}"
    assert verdict.nodes > 0
    return verdict


def judge(
    model: nn.Module, run: Run, profile: Options | None = None, *, bare: bool = False
) -> Verdict:
    """Wrap and record a model, and compare the report with the truth.

    Args:
        model: not wrapped yet.
        run: what is recorded.
        profile: keywords for the profiler.
        bare: record with torch's own profiler.
    """
    hookview.wrap(model)
    truth = Truth(model)
    try:
        return compare(lambda: execute(model, run), truth, profile or {}, bare=bare)
    finally:
        truth.stop()
        hookview.unwrap(model)


def compare(
    run: Callable[[], object], truth: Truth, profile: Options, *, bare: bool = False
) -> Verdict:
    """Record a wrapped model's run and compare the report with the truth."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "bare.pt.trace.json.gz")
        profiled = torch.profiler.profile if bare else partial(hookview.profile, folder)
        with profiled(**profile) as profiler:
            run()
        if bare:
            profiler.export_chrome_trace(str(file))
        path = only_trace_path(Path(folder))
        trace, report = Trace(path), hookview.analyze(path).data
    threads = truth.threads(profiler)
    nodes = evaluations(trace)
    wanted = true_times(nodes, truth, threads)
    found: Times = Counter()
    for module in filter(is_module, report.modules):
        found[truth.shown(module.path)] += own_backward(module)
    found[OUTSIDE] = (report.coverage.unattributed_host_us or 0.0) + sum(
        own_backward(m) for m in report.modules if not is_module(m)
    )
    total = wanted.total()
    agreeing = sum(min(found[path], time) for path, time in wanted.items())
    return Verdict(len(nodes), agreeing / total, 1 - wanted[OUTSIDE] / total, found, wanted)


def own_backward(row: Module) -> float:
    """Return what is attributed to a module, 0 for one inside of a compiled region."""
    return row.backward.self_host_us or 0.0


def is_module(row: Module) -> bool:
    """Return whether a row is a module's, not an annotation's."""
    return row.module_class != "annotation"


class Truth:
    """Which module made which autograd node, and whose gradient came when."""

    def __init__(self, model: nn.Module) -> None:
        modules = dict(model.named_modules())
        self._regions = [path for path, module in modules.items() if is_compiled(module)]
        self._paths = {id(m): self.shown(path) for path, m in modules.items()}
        self._inside: defaultdict[int, list[str]] = defaultdict(list)
        self._numbers: defaultdict[int, list[int]] = defaultdict(list)
        self._modules: defaultdict[int, list[str]] = defaultdict(list)
        self._compiled: list[nn.Module] = []
        self.gradients = 0
        """How many gradients came to parameters."""
        self._handles = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave, always_call=True),
        ]
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                owner = self.shown(name.rpartition(".")[0])
                self._handles.append(parameter.register_hook(partial(self._received, owner)))
        for module in model.modules():
            if module._compiled_call_impl is not None:  # it calls no hooks that are not compiled
                module._compiled_call_impl = partial(self._call, module, module._compiled_call_impl)
                self._compiled.append(module)

    def shown(self, path: str) -> str:
        """The module that is known to be the one: of a compiled region, the region as a whole."""
        around = [r for r in self._regions if not r or f"{path}.".startswith(f"{r}.")]
        return min(around, key=len, default=path)

    def _received(self, owner: str, _gradient: torch.Tensor) -> None:
        self.gradients += 1
        with torch._C._profiler._RecordFunctionFast(f"{GRADIENT}{owner}"):
            pass

    def _enter(self, module: nn.Module, _: object) -> None:
        if torch.compiler.is_compiling() or id(module) not in self._paths:
            return
        thread = threading.get_native_id()
        if not self._numbers[thread]:
            with torch.profiler.record_function(f"{THREAD}{thread}"):
                pass
        self._inside[thread].append(self._paths[id(module)])
        self._note(thread)

    def _leave(self, module: nn.Module, *_: object) -> None:
        if torch.compiler.is_compiling() or id(module) not in self._paths:
            return
        thread = threading.get_native_id()
        self._inside[thread].pop()
        self._note(thread)

    def _call(self, module: nn.Module, call: Callable[..., Any], *args: Any) -> object:
        self._enter(module, args)
        result = call(*args)
        self._leave(module)
        return result

    def _note(self, thread: int) -> None:
        inside = self._inside[thread]
        self._numbers[thread].append(torch._C._autograd._get_sequence_nr())
        self._modules[thread].append(inside[-1] if inside else OUTSIDE)

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()
        for module in self._compiled:
            module._compiled_call_impl = module._compiled_call_impl.args[1]

    def threads(self, profiler: torch.profiler.profile) -> dict[int, int]:
        """Threads that ran modules, by the profiler's own number, which nodes carry."""
        events = profiler.profiler.kineto_results.events()
        named = [event for event in events if event.name().startswith(THREAD)]
        return {e.start_thread_id(): int(e.name().removeprefix(THREAD)) for e in named}

    def module_of(self, thread: int, number: int) -> str:
        passed = bisect_right(self._numbers[thread], number)
        return self._modules[thread][passed - 1] if passed else OUTSIDE


def is_compiled(module: nn.Module) -> bool:
    return module._compiled_call_impl is not None or hasattr(module, "_orig_mod")


class Evaluation(NamedTuple):
    """One row of autograd's engine, or the call of a module that runs again in one."""

    span: Span
    time: float
    """Less the evaluations and calls nested in it; microseconds."""
    number: int
    forward_thread: int
    """The profiler's number of it; 0 where torch gives none."""
    gradient: str | None
    """Owner of the parameter that received a gradient here."""
    around: Span | None
    """The evaluation in which this one is nested."""
    called: str | None
    """Path of the module of a call."""


def nodes_of_nobody(path: Path) -> Counter[str]:
    """Names and counts of the nodes that the analysis attributes to no module."""
    analysis = load(path)
    nodes = zip(analysis.nodes.row, analysis.attribution.node_module, strict=True)
    return Counter(node_name(analysis.host.name(row)) for row, module in nodes if module < 0)


def evaluations(trace: Trace) -> list[Evaluation]:
    """All evaluations of nodes and calls of modules in them, by start."""
    rows = sorted(trace.spans, key=lambda span: (span.start, -span.end))
    open_rows: defaultdict[int, list[Span]] = defaultdict(list)
    nested: Counter[int] = Counter()
    outer: dict[int, Span] = {}
    inner: dict[int, Span] = {}
    gradients: dict[int, str] = {}
    called: dict[int, str] = {}
    nodes = []
    for row in rows:
        above = open_rows[row.tid]
        while above and above[-1].end <= row.start:
            above.pop()
        around = above[-1] if above else None
        if row.name.startswith(EVALUATE):
            if around is not None:
                nested[id(around)] += row.end - row.start
                outer[id(row)] = next(each for each in reversed(above) if id(each) not in called)
            above.append(row)
            nodes.append(row)
        elif around is not None and (path := _path_of_call(row)) is not None:
            nested[id(around)] += row.end - row.start
            called[id(row)] = path
            above.append(row)
            nodes.append(row)
        elif around is not None and around.name == EVALUATE + row.name:
            inner.setdefault(id(around), row)
        elif around is not None and row.name.startswith(GRADIENT):
            gradients[id(around)] = row.name.removeprefix(GRADIENT)
    return [
        Evaluation(
            row,
            (row.end - row.start - nested[id(row)]) / 1000,
            *_number(row, inner.get(id(row))),
            gradients.get(id(row)),
            outer.get(id(row)),
            called.get(id(row)),
        )
        for row in nodes
    ]


def _path_of_call(row: Span) -> str | None:
    mark = markers.decode(row.name)
    return mark.path if mark is not None and mark.kind == "forward" else None


def _number(row: Span, inner: Span | None) -> tuple[int, int]:
    # torch leaves the number out of the row of the evaluation where a hook of the node ran
    # something that is in the trace too; the row of the node itself always has it.
    arguments = {**(inner.args if inner else {}), **row.args}
    return arguments.get("Sequence number", -1), arguments.get("Fwd thread id", 0)


def true_times(nodes: list[Evaluation], truth: Truth, threads: dict[int, int]) -> Times:
    """Backward host time by module, as the truth has it.

    What a reentrant checkpoint recomputes outside of every module belongs to the module whose
    node recomputes it.
    """
    times: Times = Counter()
    owners: dict[int, str] = {}
    assert sum(node.gradient is not None for node in nodes) == truth.gradients
    for node in nodes:
        if node.called is not None:
            times[truth.shown(node.called)] += node.time
            continue
        if node.gradient is not None:
            owner = node.gradient
        elif node.span.name in NOBODYS or node.forward_thread not in threads:
            owner = OUTSIDE  # a thread without modules is not among the threads
        else:
            owner = truth.module_of(threads[node.forward_thread], node.number)
        made = node.span.name not in NOBODYS
        if owner == OUTSIDE and made and node.around is not None:
            owner = owners[id(node.around)]
        owners[id(node.span)] = owner
        times[owner] += node.time
    return times
