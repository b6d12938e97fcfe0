"""Every table by name: its key, row type and source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from tb_hookview import schema
from tb_hookview.errors import NotFoundError
from tb_hookview.schema import kernels, memory
from tb_hookview.schema import tables as rows
from tb_hookview.schema.describe import description
from tb_hookview.tables.model.columns import is_struct
from tb_hookview.tables.table import Table

if TYPE_CHECKING:
    from tb_hookview.analysis.selection import Selection
    from tb_hookview.tables.model.columns import Arrays

_EVENT_TABLES: Mapping[str, Mapping[str, type[msgspec.Struct]]] = {
    "rows": {
        "events": rows.Event,
        "device_events": rows.DeviceEvent,
        "host_rows": rows.HostRow,
        "node_evaluations": rows.NodeEvaluation,
        "gaps": rows.Gap,
        "cuda_syncs": rows.CudaSync,
        "runtime_calls": rows.RuntimeCall,
    },
    "memory": {"memory_blocks": memory.MemoryBlock, "memory_curve": memory.MemoryPoint},
    "critical_path": {
        "critical_path": rows.CriticalPathPiece,
        "critical_path_modules": rows.CriticalPathModule,
    },
    "operators": {
        "operators_by_shape": rows.OperatorByShape,
        "operators_by_stack": rows.OperatorByStack,
        "operators_by_module": rows.OperatorByModule,
        "operator_calls": rows.OperatorCall,
    },
    "kernels": {
        "kernels_by_launch": kernels.KernelByLaunch,
        "kernel_sequences": kernels.KernelSequence,
        "device_peaks": kernels.DevicePeak,
    },
    "utilization": {
        "step_utilization": kernels.StepUtilization,
        "module_utilization": kernels.ModuleUtilization,
    },
}
"""Rows of each table at event level by the file of `events/` that computes them, in a function of
the table's name."""


class TableEntry(NamedTuple):
    """One table."""

    row_type: Any
    file: str = ""
    """Of a table at event level the file that computes it; empty for tables of the report."""

    @property
    def computed(self) -> bool:
        """True for tables at event level, from the analysis; False for those of the report."""
        return bool(self.file)

    @property
    def description(self) -> str:
        """Definition of a row, in one line."""
        return description(self.row_type)


def _of_report() -> Iterator[tuple[str, TableEntry]]:
    for name, hint in get_type_hints(schema.ReportData).items():
        if get_origin(hint) is list and is_struct(get_args(hint)[0]):
            yield name, TableEntry(get_args(hint)[0])


CATALOGUE: Mapping[str, TableEntry] = {
    **dict(_of_report()),
    **{n: TableEntry(t, file) for file, of in _EVENT_TABLES.items() for n, t in of.items()},
}


def entry(name: str) -> TableEntry:
    """The table of a name.

    Raises:
        NotFoundError: there is none.
    """
    if name not in CATALOGUE:
        raise NotFoundError(f"no table {name[:100]!r}; there are {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


def empty_table(name: str) -> Table[Any]:
    """A table of a name without rows: what its columns are.

    Raises:
        NotFoundError: there is none of that name.
    """
    return Table(entry(name).row_type, (), name)


def event_rows(name: str, selection: Selection) -> Arrays:
    """The rows of a table at event level; what computes them needs numpy."""
    file = import_module(f"tb_hookview.tables.events.{entry(name).file}")
    compute: Callable[[Selection], Arrays] = getattr(file, name)
    return compute(selection)


def named_table(
    name: str, report: Callable[[], schema.ReportData], rows: Callable[[str], Arrays]
) -> Table[Any]:
    """A table of a report, or one at event level, computed when its rows are first needed.

    Raises:
        NotFoundError: there is none of that name.
    """
    found = entry(name)
    given = (lambda: rows(name)) if found.computed else getattr(report(), name)
    return Table(found.row_type, given, name)
