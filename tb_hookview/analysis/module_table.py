"""The module table: what each module's forward, backward and recomputation cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tb_hookview.analysis import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.forest import lookup, nearest_above, self_time
from tb_hookview.analysis.selection import Selection
from tb_hookview.trace import Kind
from tb_hookview.trace.columns import Bool, Int


@dataclass(frozen=True)
class _Sums:
    """Self numbers of one direction per module; times in nanoseconds, shape (m,)."""

    host: Int
    device: Int
    kernels: Int


def module_rows(selection: Selection) -> list[schema.Module]:
    """One row per module instance, parents before children."""
    analysis = selection.analysis
    modules = analysis.modules
    calls = _Calls(selection)
    directions = {
        "forward": _forward(selection, calls),
        "backward": _backward(selection),
        "recompute": _recompute(selection, calls),
    }
    totals = {name: _rolled_up(analysis, sums) for name, sums in directions.items()}
    recomputed = _above(analysis.modules.parent, calls.counts(calls.again)) > 0
    syncs = _sync_rows(selection)
    count = calls.counts(~calls.again)
    has_device = analysis.launches_known

    def work(name: str, i: int) -> schema.Work:
        return _work(directions[name], totals[name], i, has_device)

    return [
        schema.Module(
            path=modules.path[i],
            module_class=modules.module_class[i],
            parent=modules.path[parent] if (parent := int(modules.parent[i])) >= 0 else None,
            calls=int(count[i]),
            forward=work("forward", i),
            backward=work("backward", i),
            recompute=work("recompute", i) if recomputed[i] else None,
            sync=syncs[i],
        )
        for i in range(len(modules))
    ]


class _Calls:
    """Calls of modules: forest rows in the selection, with the host time of each."""

    def __init__(self, selection: Selection) -> None:
        analysis = selection.analysis
        forest, ranges = analysis.forest, analysis.ranges
        is_call = ranges.module >= 0
        position = np.flatnonzero(is_call)
        index = np.full(len(forest), -1, np.int64)
        index[position] = np.arange(len(position))
        above = lookup(index, nearest_above(forest.parent, is_call)[position])
        chosen = selection.rows[position]
        self.module: Int = ranges.module[position][chosen]
        self.again: Bool = analysis.attribution.row_recompute[position][chosen]
        self.self_host: Int = self_time(forest.start[position], forest.end[position], above)[chosen]
        self._size = len(analysis.modules)

    def counts(self, wanted: Bool) -> Int:
        """Calls per module."""
        return np.bincount(self.module[wanted], minlength=self._size)

    def host(self, wanted: Bool) -> Int:
        """Self host time per module, nanoseconds."""
        return _sum(self.module, self.self_host, wanted, self._size)


def _forward(selection: Selection, calls: _Calls) -> _Sums:
    owners = selection.analysis.owners
    return _device_sums(selection, (owners.node < 0), calls.host(~calls.again))


def _recompute(selection: Selection, calls: _Calls) -> _Sums:
    return _device_sums(selection, selection.analysis.owners.recompute, calls.host(calls.again))


def _backward(selection: Selection) -> _Sums:
    analysis = selection.analysis
    module = analysis.attribution.node_module
    wanted = selection.nodes & (module >= 0)
    host = _sum(module, analysis.nodes.self_host, wanted, len(analysis.modules))
    return _device_sums(selection, analysis.owners.node >= 0, host)


def _device_sums(selection: Selection, wanted: Bool, host: Int) -> _Sums:
    analysis = selection.analysis
    work, size = analysis.work, len(analysis.modules)
    module = analysis.owners.module
    mine = selection.work & wanted & (module >= 0)
    kernels = mine & (analysis.trace.events.kind[work.event] == Kind.KERNEL)
    return _Sums(
        host=host,
        device=_sum(module, work.duration, mine, size),
        kernels=np.bincount(module[kernels], minlength=size),
    )


def _sum(module: Int, nanoseconds: Int, wanted: Bool, size: int) -> Int:
    """Exact sums per module: integers throughout, never through a double."""
    total = np.zeros(size, np.int64)
    np.add.at(total, module[wanted], nanoseconds[wanted])
    return total


def _rolled_up(analysis: Analysis, sums: _Sums) -> _Sums:
    up: Callable[[Int], Int] = lambda column: _above(analysis.modules.parent, column)  # noqa: E731
    return _Sums(up(sums.host), up(sums.device), up(sums.kernels))


def _above(parent: Int, column: Int) -> Int:
    """Each module's own value plus those of all modules below it."""
    total = column.tolist()
    above = parent.tolist()
    for i in range(len(total) - 1, -1, -1):
        if above[i] >= 0:
            total[above[i]] += total[i]
    return np.array(total, np.int64)


def _work(own: _Sums, total: _Sums, i: int, has_device: bool) -> schema.Work:
    return schema.Work(
        host_us=int(total.host[i]) / 1000,
        device_us=int(total.device[i]) / 1000 if has_device else None,
        self_host_us=int(own.host[i]) / 1000,
        self_device_us=int(own.device[i]) / 1000 if has_device else None,
        kernels=int(total.kernels[i]) if has_device else None,
    )


def _sync_rows(selection: Selection) -> list[schema.ModuleSync]:
    """Waits of each module and the modules below it."""
    analysis = selection.analysis
    syncs, size = analysis.syncs, len(analysis.modules)
    module = analysis.attribution.row_module[syncs.position]
    wanted = selection.syncs & (module >= 0)
    blocked = _sum(module, syncs.end - syncs.start, wanted, size)
    idle = analysis.sync_idle
    lost = np.zeros(size, np.int64) if idle is None else _sum(module, idle, wanted, size)
    columns = [
        _above(analysis.modules.parent, column)
        for column in (np.bincount(module[wanted], minlength=size), blocked, lost)
    ]
    return [
        schema.ModuleSync(int(n), int(b) / 1000, None if idle is None else int(i) / 1000)
        for n, b, i in zip(*columns, strict=True)
    ]
