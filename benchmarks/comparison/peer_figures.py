"""One peer's figures as JSON: `python -I peer_figures.py {hta,tbp,hta_run,tbp_run} FILE...`.

The first two are of one trace file, the others of the traces of all ranks of a run.

Runs under the Python of the peers (`analyzer/peers.py`) and imports nothing of ours. Times in
microseconds, shares from 0 to 1.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

KERNEL_DELAY = 30
"""Longest pause that HolisticTraceAnalysis blames on launching, its default; microseconds, for it
compares with the times of the file as they are."""


def hta(path: str) -> dict[str, Any]:
    """HolisticTraceAnalysis, the last step included and without its rounding to microseconds."""
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    from hta.trace_analysis import TraceAnalysis

    made = TraceAnalysis(trace_files={0: path}, include_last_profiler_step=True)
    return {name: _answer(ask, made) for name, ask in _HTA.items()}


def _answer(ask: Callable[[Any], Any], made: Any) -> Any:
    try:
        return ask(made)
    except Exception as error:  # noqa: BLE001  # whatever it raises is its answer here
        return f"fails: {type(error).__name__}"


def _temporal(made: Any) -> dict[str, float]:
    row = made.get_temporal_breakdown(visualize=False).iloc[0]
    return {name: float(row[f"{name}_time(us)"]) for name in _TEMPORAL}


_TEMPORAL = ("idle", "compute", "non_compute", "kernel")


def _idle(made: Any) -> dict[str, float]:
    rows, _ = made.get_idle_time_breakdown(
        ranks=[0], visualize=False, consecutive_kernel_delay=KERNEL_DELAY
    )
    return {
        f"{int(row.stream)} {row.idle_category}": float(row.idle_time) for row in rows.itertuples()
    }


def _queue(made: Any) -> dict[str, list[float]]:
    summary = made.get_queue_length_summary(ranks=[0])["queue_length"]
    return {
        str(int(stream)): [float(row["count"]), float(row["mean"]), float(row["max"])]
        for (_, stream), row in summary.iterrows()
    }


def _overlap(made: Any) -> float | None:
    percent = float(made.get_comm_comp_overlap(visualize=False)["comp_comm_overlap_pctg"].iloc[0])
    return None if math.isnan(percent) else percent


_ALL_NAMES = {"visualize": False, "duration_ratio": 1.0, "num_kernels": 10**9}


def _kernel_types(made: Any) -> dict[str, float]:
    """Time with kernels of each type, and of several at once."""
    types, _ = made.get_gpu_kernel_breakdown(**_ALL_NAMES, include_memory_kernels=False)
    return {row.kernel_type: float(row.sum) for row in types.itertuples()}


def _kernel_names(made: Any) -> dict[str, list[float]]:
    """Sum, max, min and mean of the kernels, copies and sets of each name."""
    _, rows = made.get_gpu_kernel_breakdown(**_ALL_NAMES, include_memory_kernels=True)
    columns = [f"{name} (us)" for name in ("sum", "max", "min", "mean")]
    named = zip(rows["name"], rows[columns].to_numpy().tolist(), strict=True)
    return {str(name): [float(value) for value in row] for name, row in named}


def _launches(made: Any) -> list[list[float]]:
    """Time of the call, time on the device, and delay between them, of each launch."""
    rows = made.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]
    columns = ["cpu_duration", "gpu_duration", "launch_delay"]
    return [[float(value) for value in row] for row in rows[columns].to_numpy().tolist()]


_HTA = {
    "temporal": _temporal,
    "idle": _idle,
    "overlap": _overlap,
    "queue": _queue,
    "types": _kernel_types,
    "names": _kernel_names,
    "launches": _launches,
}


def tbp(path: str) -> dict[str, Any]:
    """torch_tb_profiler, before its charts round."""
    from torch_tb_profiler.profiler.data import RunProfileData

    with tempfile.TemporaryDirectory() as scratch:
        made = RunProfileData.parse("worker", None, path, scratch)
    gpus = made.gpu_metrics_parser
    return {
        "breakdown": [costs.costs for costs in made.steps_costs],
        "gpu": {
            str(gpu): [
                gpus.gpu_utilization[gpu],
                gpus.avg_approximated_sm_efficiency_per_device[gpu],
                gpus.avg_occupancy_per_device[gpu],
            ]
            for gpu in sorted(gpus.gpu_ids)
        },
        "tensor_core": made.tc_used_ratio,
        "eligible": made.tc_eligible_ops_kernel_ratio,
        "operators": {
            op.name: [
                op.calls,
                op.host_duration,
                op.self_host_duration,
                op.device_duration,
                op.self_device_duration,
            ]
            for op in made.op_list_groupby_name
        },
        "kernels": _kernels(made.kernel_stat),
    }


def _kernels(table: Any) -> dict[str, list[float]]:
    if table is None:
        return {}
    columns = ["count", "sum", "mean", "max", "min", "blocks_per_sm", "occupancy"]
    rows = zip(table.index, table[columns].to_numpy().tolist(), strict=True)
    return {str(name): [float(value) for value in row] for name, row in rows}


def hta_run(*paths: str) -> dict[str, Any]:
    """HolisticTraceAnalysis on the ranks of a run, by their order."""
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    from hta.trace_analysis import TraceAnalysis

    made = TraceAnalysis(trace_files=dict(enumerate(paths)), include_last_profiler_step=True)
    return {
        "overlap": _answer(_overlaps, made),
        "straggler": _answer(lambda made: made.get_potential_stragglers(num_candidates=1), made),
    }


def _overlaps(made: Any) -> list[float]:
    found = made.get_comm_comp_overlap(visualize=False).sort_values("rank")
    return [float(percent) for percent in found["comp_comm_overlap_pctg"]]


def tbp_run(*paths: str) -> dict[str, Any]:
    """torch_tb_profiler's distributed view, before its charts round."""
    from torch_tb_profiler.profiler.data import DistributedRunProfileData, RunProfileData
    from torch_tb_profiler.profiler.loader import RunLoader

    with tempfile.TemporaryDirectory() as scratch:
        ranks = [
            DistributedRunProfileData(RunProfileData.parse(f"w{rank}", None, path, scratch))
            for rank, path in enumerate(paths)
        ]
    RunLoader._process_distributed_profiles(object.__new__(RunLoader), ranks, None)
    return {
        "communication": [[c.communication for c in rank.comm_overlap_costs] for rank in ranks],
        "transfer": [
            [end - start for node in rank.comm_node_list for start, end in node.real_time_ranges]
            for rank in ranks
        ],
    }


PEERS = {"hta": hta, "tbp": tbp, "hta_run": hta_run, "tbp_run": tbp_run}


def main() -> None:
    """Print the figures, or why there are none."""
    name, *paths = sys.argv[1:]
    try:
        figures = PEERS[name](*paths)
    except Exception as error:  # noqa: BLE001  # whatever a peer raises is its answer here
        figures = {"fails": type(error).__name__}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
