"""FLOPs and utilization of steps, and of modules with those below each."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.activity import Utilization, utilization
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.replayed_modules import unknown_device_times
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import pair_key, unique
from tb_hookview.arrays.types import Bool, Float
from tb_hookview.tables.events.names import Columns, Names
from tb_hookview.tables.events.operators import ratio
from tb_hookview.tables.model.columns import Arrays, Numbers, Texts, microseconds


def utilization_columns(
    analysis: Analysis, of: Utilization, whole: Float, in_graph: Bool | None = None
) -> Columns:
    """The columns of `schema.kernels.Utilization`.

    Args:
        analysis, of: what was summed up.
        whole: time that `mfu` is a share of.
        in_graph: whether a replayed graph may hold more of each row; None for none.
    """
    known = of.flops > 0
    possible = ~(of.at_peak > of.spent)  # else calls whose later kernels the trace lacks
    mostly = possible & (of.unknown <= of.spent)
    launches = np.full(len(known), analysis.launches_known)
    ran = launches if in_graph is None else launches & ~in_graph
    return {
        "device_us": lambda i: Numbers(of.device[i] / 1000, ran[i]),
        "flops": lambda i: Numbers(of.flops[i], known[i]),
        "recomputed_flops": lambda i: Numbers(of.recomputed[i], known[i]),
        "flops_us": lambda i: Numbers(of.spent[i] / 1000, (of.spent > 0)[i]),
        "unknown_us": lambda i: Numbers(of.unknown[i] / 1000, launches[i]),
        "tflop_per_s": lambda i: ratio(of.flops[i], of.spent[i] * 1000),
        "peak_share": lambda i: ratio(np.where(possible, of.at_peak, np.nan)[i], of.spent[i]),
        "flop_per_byte": lambda i: ratio(of.flops[i], of.moved[i]),
        "mfu": lambda i: ratio(np.where(mostly, of.model_at_peak, np.nan)[i], whole[i]),
    }


def step_utilization(selection: Selection) -> Arrays:
    """The table `step_utilization`: the selected steps in order."""
    analysis = selection.analysis
    steps, names, count = analysis.steps, Names(analysis), len(analysis.steps.name)
    step = analysis.device_event_step
    of = utilization(selection, steps.at(analysis.call_tree.start), step, count)
    mine = step >= 0
    pairs = unique(pair_key(step[mine], analysis.device_events.device[mine] + 1))
    devices = np.maximum(np.bincount(pairs >> 32, minlength=count), 1)
    length = steps.window[:, 1] - steps.window[:, 0]
    whole = np.maximum(length * devices, of.device)  # a host that runs ahead ends a step early
    any_event = len(analysis.call_tree) + len(analysis.device_events) > 0
    return Arrays(
        np.array(selection.steps if any_event else [], np.int64),
        {
            **utilization_columns(analysis, of, whole.astype(np.float64)),
            "id": Numbers,
            "step": lambda i: names.step(i),
            "duration_us": lambda i: microseconds(length[i]),
        },
    )


def module_utilization(selection: Selection) -> Arrays:
    """The table `module_utilization`: every module, parents before children."""
    analysis = selection.analysis
    modules, names = analysis.modules, Names(analysis)
    of_row, of_event = analysis.attribution.row_module, analysis.device_attribution.module
    own = utilization(selection, of_row, of_event, len(modules))
    unknown, parents = unknown_device_times(selection), modules.parent.tolist()
    of = Utilization(*(_with_children(getattr(own, f), parents) for f in own.__struct_fields__))
    return Arrays(
        np.arange(len(modules)),
        {
            **utilization_columns(analysis, of, of.device, np.logical_or(*unknown)),
            "id": Numbers,
            "path": names.module,
            "module_class": lambda i: Texts(modules.module_class, i),
        },
    )


def _with_children(values: Float, parents: list[int]) -> Float:
    """Sum over each module and those below it; parents stand before their children."""
    total = values.copy()
    for module in reversed(range(len(parents))):
        if parents[module] >= 0:
            total[parents[module]] += total[module]
    return total
