"""Every table by name: its key, row type and source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from tb_hookview import schema
from tb_hookview.errors import NotFoundError
from tb_hookview.schema import kernels, memory
from tb_hookview.schema import tables as rows
from tb_hookview.schema.describe.fields import description
from tb_hookview.tables.model.columns import is_struct
from tb_hookview.tables.table import Table

if TYPE_CHECKING:
    from tb_hookview.analysis.selection import Selection
    from tb_hookview.tables.model.values import Arrays

KEY = "id"
_EVENT_TABLES: Mapping[str, type[msgspec.Struct]] = {
    "events": rows.Event,
    "device_events": rows.DeviceEvent,
    "host_rows": rows.HostRow,
    "node_evaluations": rows.NodeEvaluation,
    "gaps": rows.Gap,
    "cuda_syncs": rows.CudaSync,
    "runtime_calls": rows.RuntimeCall,
    "memory_blocks": memory.MemoryBlock,
    "memory_curve": memory.MemoryPoint,
    "critical_path": rows.CriticalPathPiece,
    "critical_path_modules": rows.CriticalPathModule,
    "operators_by_shape": rows.OperatorByShape,
    "operators_by_stack": rows.OperatorByStack,
    "operators_by_module": rows.OperatorByModule,
    "operator_calls": rows.OperatorCall,
    "kernels_by_launch": kernels.KernelByLaunch,
    "kernel_sequences": kernels.KernelSequence,
    "device_peaks": kernels.DevicePeak,
    "step_utilization": kernels.StepUtilization,
    "module_utilization": kernels.ModuleUtilization,
}
"""Rows of each table at event level; `events/NAME.py` computes them, in its function NAME."""


class TableEntry(NamedTuple):
    """One table."""

    name: str
    row_type: Any
    computed: bool
    """True for tables at event level, from the analysis; False for those of the report."""
    key: str = KEY

    @property
    def description(self) -> str:
        """Definition of a row, in one line."""
        return description(self.row_type)


def _catalogue() -> Mapping[str, TableEntry]:
    of_report = {
        name: get_args(hint)[0]
        for name, hint in get_type_hints(schema.ReportData).items()
        if get_origin(hint) is list and is_struct(get_args(hint)[0])
    }
    return {
        **{
            name: TableEntry(name, row_type, computed=False) for name, row_type in of_report.items()
        },
        **{
            name: TableEntry(name, row_type, computed=True)
            for name, row_type in _EVENT_TABLES.items()
        },
    }


CATALOGUE = _catalogue()


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
    compute: Callable[[Selection], Arrays] = getattr(
        import_module(f"tb_hookview.tables.events.{name}"), name
    )
    return compute(selection)


def report_table(name: str, report: schema.ReportData) -> Table[Any]:
    """A table of a report.

    Raises:
        NotFoundError: there is none of that name.
    """
    return Table(entry(name).row_type, getattr(report, name), name)


def computed_table(name: str, compute: Callable[[], Arrays]) -> Table[Any]:
    """A table whose rows are computed when they are first needed.

    Raises:
        NotFoundError: there is none of that name.
    """
    return Table(entry(name).row_type, compute, name)


def event_table(name: str, selection: Callable[[], Selection]) -> Table[Any]:
    """A table at event level; raises as `computed_table`."""
    return computed_table(name, lambda: event_rows(name, selection()))
