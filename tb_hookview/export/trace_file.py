"""An analysis as a Perfetto trace: the trace's rows and the analysis' lanes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tb_hookview.export.destination import Counter
from tb_hookview.export.lanes import write_lanes
from tb_hookview.export.packets import PacketWriter
from tb_hookview.export.threads import write_threads
from tb_hookview.progress import Progress
from tb_hookview.report.open_trace import OpenTrace
from tb_hookview.tables.events.rows import events


def write_perfetto(
    path: Path, trace: OpenTrace, steps: Sequence[str] | None, progress: Progress
) -> None:
    """Write a Perfetto trace (protobuf) of some steps, or of all of a trace.

    Raises:
        OSError: the file cannot be written.
    """
    selection = trace.steps(steps)
    rows, start = events(selection), selection.analysis.trace.events.start
    origin = int(start.min()) if len(start) else 0
    counter = Counter("writing", len(rows), progress)
    with path.open("xb") as file:
        writer = PacketWriter(file, origin, counter.add)
        write_lanes(writer, selection, trace.report(steps))
        write_threads(writer, trace.simulator(), rows)
        writer.finish()
