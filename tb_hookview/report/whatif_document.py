"""A step replayed with something changed, as a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import asdict

from tb_hookview.document.document import Document, Lines, Row, Table
from tb_hookview.formats import (
    format_count,
    format_kind,
    format_number,
    format_per,
    format_share,
    format_step,
    format_us,
)
from tb_hookview.schema import PathModule, ReportData, WhatIf, module_label

_COLUMNS = ("on the path", "slack")


def what_if_document(
    data: ReportData,
    answer: WhatIf,
    without: Iterable[str],
    scale: Mapping[str, float],
    rows: int | None = None,
) -> Document:
    """The predicted step, what it consists of, and the modules on its critical path.

    Args:
        data: the report of the trace.
        answer: the prediction.
        without: findings that were taken out.
        scale: factors by what was scaled.
        rows: most modules that are listed; all that the answer has where it is None.
    """
    asked = [f"without {each}" for each in without]
    asked += [f"{what} x {factor:g}" for what, factor in scale.items()]
    lines = [f"{data.trace.path}: {', '.join(asked) or 'nothing changed'}"]
    lines += [data.verdict.sentence] if data.verdict.bound == "unknown" else []
    marked = data.per_step.marked
    if answer.refused is not None or answer.predicted_us is None:
        return Document("What if", [Lines([*lines, f"not replayed: {answer.refused}"])])
    modules = _modules(answer, rows)
    said = Lines([*lines, *_lines(answer, bool(asked), marked)])
    paths, kinds = _paths(answer, marked), _kinds(answer, marked)
    return Document("What if", (said, paths, modules, kinds), modules)


def _lines(answer: WhatIf, changed: bool, marked: bool) -> Iterator[str]:
    if answer.as_recorded:
        yield f"as recorded, as their gain is unknown: {', '.join(answer.as_recorded)}"
    step, replayed = answer.step_us or 0.0, answer.replayed_us or 0.0
    error = format_share(replayed / step - 1 if step else None, 1)
    device = "" if answer.launches_known is None else ", host and device"
    mean = f", mean of {format_count(answer.steps, 'step')}" if marked else ""
    yield (
        f"{format_step(marked)} {format_us(step)}{device}, replayed as {format_us(replayed)} "
        f"({error} off){mean}"
    )
    if changed:
        change = format_share((answer.predicted_us or 0.0) - replayed, replayed)
        low, high = format_us(answer.low_us), format_us(answer.high_us)
        bounds = "both bounds agree" if low == high else f"between {low} and {high}"
        yield (
            f"with the change {format_us(answer.predicted_us)} ({change}), {bounds}: "
            "estimated by trace replay"
        )
    if answer.unrecorded_us is not None:
        then = f", {format_us(answer.unrecorded_predicted_us)} with the change" if changed else ""
        yield f"without the profiler (estimate): {format_us(answer.unrecorded_us)}{then}"


def _paths(answer: WhatIf, marked: bool) -> Table:
    before, after = answer.replayed_path, answer.critical_path
    rows: list[Row] = []
    if before is not None and after is not None:
        later = asdict(after)
        rows = [
            (name, format_us(us), format_us(later[name]))
            for name, us in asdict(before).items()
            if us or later[name]
        ]
    return Table(f"Critical path {format_per(marked)}", ("", "replayed", "changed"), rows)


def _modules(answer: WhatIf, most: int | None) -> Table:
    """Modules on the path, then those off it with the least slack."""
    modules = answer.path_modules or []
    shown = modules[:most]
    more = len(modules) - len(shown) + (answer.path_modules_left_out or 0)
    return Table(
        "Modules on the critical path, and the slack of the others",
        ("", *_COLUMNS),
        list(map(_module, shown)),
        hidden=f"{format_number(more)} more; all are in the table critical_path_modules"
        if more
        else "",
    )


def _module(row: PathModule) -> Row:
    name = "not in a module" if row.module is None else module_label(row.module)
    return (name, format_us(sum(asdict(row.path).values())), format_us(row.slack_us))


def _kinds(answer: WhatIf, marked: bool) -> Table:
    rows = [
        (format_kind(row.kind), *map(format_us, (row.device_us, row.path_us, row.slack_us)))
        for row in answer.path_kinds or []
    ]
    return Table("Kinds of device events", ("", format_per(marked), *_COLUMNS), rows)
