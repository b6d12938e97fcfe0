"""What decides the steps of real traces, next to what an engineer reads off their timelines.

    python benchmarks/verdicts.py [--write benchmarks/results/validation.md]

The readings are from loops over the JSON that know nothing of this package: time in which a device
is busy, time from launch to start, gaps, time in syncs, in collectives, in data loaders and in the
rows of the host. They were written before any verdict was computed. The rule of the verdict was
then settled with these traces in view, so that the table is no test on unseen ones.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from common import page
from common.markdown import table
from common.traces import FOLDER

from tb_hookview.loading import load as load_trace
from tb_hookview.report.build import build_report

_PROGRAM = "verdicts"


class Reading(NamedTuple):
    """What the timeline of a trace says to an engineer; milliseconds per step."""

    trace: str
    bound: str
    why: str
    explained: str = ""
    """Why the verdict differs."""


READINGS = (
    Reading(
        "kineto_resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
        "data",
        "loader 69 of 175, in which the device drains; other host work 90, device 98",
    ),
    Reading(
        "kineto_resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz",
        "host",
        "narrowly: rows of the host 109, device 101, many short gaps",
    ),
    Reading("kineto_2020_resnet50_list_root", "host", "host 145, device 107, loader 52"),
    Reading("hta_v100_training", "device", "busy for 120 of 124, 42 behind the launches"),
    Reading("hta_a100_nccl_training", "host", "device 53 of 222, kernels start 12 us after launch"),
    Reading(
        "hta_a100_cuda_graphs_rank0",
        "unknown",
        "device idle for 139 of 215 although work has been queued for 163",
    ),
    Reading(
        "hta_a100_dlrm_trace_diff_control",
        "host",
        "host 64, compute 50, collectives 27",
        "narrowly: compute and collectives together are within 5% of the host, the limit of even",
    ),
    Reading("hta_v100_df_index_resolver", "host", "host 333, compute 129, collectives 71"),
    Reading("hta_sampled_rank-0", "host", "host 606 without a sync, compute 106, collectives 198"),
    Reading("hta_cpu_only", "unknown", "no device rows"),
    Reading("hta_a100_cupti_ranges", "unknown", "launches, but no device rows"),
    Reading(
        "tracelens_mi300_resnet_checkpointing_ddp",
        "communication",
        "device 21 to 28 behind the host, 13.4 of its 15.4 in collectives; host close with 16.2",
    ),
    Reading("tracelens_h100_bert_small", "host", "host 4.4, device 0.3"),
    Reading("tracelens_h100_owlv2", "data", "loader 619 of 1,211, device 567, in turns"),
    Reading("tracelens_mi300_owlv2", "data", "loader 704 of 1,096, device 332"),
    Reading("tracelens_mi300_timesformer", "host", "host 294, device 120"),
    Reading("tracelens_mi300_sd35_with_stacks", "host", "host 1,153, device 712"),
    Reading("tracelens_mi300_flux_sage", "device", "device 201 of 250, host 136"),
    Reading("tracelens_mi300_compile_triton", "device", "device 12.5 of 12.9"),
    Reading(
        "tracelens_h100_qwen",
        "device",
        "device 43.3 of 47.2, host 33",
        "13.5 ms of the device's work were launched before the recording, which the host waits for "
        "at first: without them both need about as much",
    ),
    Reading(
        "deepseek_h800_dualpipe_training",
        "device",
        "busy for 111 of 112, 17 behind launches",
        "narrowly: four fifths of the critical path are the host's, and a tenth less of host and "
        "device saves 14 ms together, 0.4 and 3.4 alone",
    ),
    Reading(
        "param_dlrm_8_ranks/worker1_step_12.1694128201556.pt.trace.json.gz",
        "even",
        "host 11.1, collectives 11.3",
    ),
    Reading(
        "llama_4layers_4090",
        "communication",
        "host 610, 517 of it first launches, which no later step has; collectives 313",
    ),
    Reading("tracelens_mi300_vllm_graph_execution", "device", "device 10.7 of 19.1, host 2.4"),
    Reading("param_rtx2080ti_resnet", "data", "loader 8,205 of 16,172, device 4,734"),
    Reading(
        "tracelens_mi210_gpu_only",
        "device",
        "device 5.3 of 6.0, rows of the host 0.9",
    ),
    Reading(
        "hta_mtia_inference",
        "device",
        "busy for 424 of 460",
        "a quarter of the device's time has no launch, and a replay needs nine tenths",
    ),
)


def main() -> None:
    """Compute the verdicts and print the table."""
    parser = page.arguments_of(__doc__)
    options = page.parsed(parser, _PROGRAM)
    load, rows, agreed, open_ = page.load_now(), [], 0, 0
    for reading in READINGS:
        name = reading.trace if "/" in reading.trace else f"{reading.trace}.json.gz"
        found = build_report(load_trace(FOLDER / name)).verdict
        same = found.bound == reading.bound
        agreed += same
        open_ += not same and not reading.explained
        label = name.removesuffix(".json.gz").removesuffix(".pt.trace")
        rest = "" if same else reading.explained or "not explained"
        rows.append([label, reading.bound, reading.why, found.bound, found.sentence, rest])
    head = ("trace", "read", "why, ms", "verdict", "sentence", "why they differ")
    parts = [page.measured_on(_PROGRAM, sys.argv[1:], load), table(head, rows, left=6)]
    aim = page.Aim(
        "verdicts on real traces are what an engineer reads off the timeline, or the difference is "
        "explained",
        f"{agreed} of {len(rows)} agree, {len(rows) - agreed - open_} are explained",
        not open_,
    )
    page.publish(_PROGRAM, parts, [aim], options.write)


if __name__ == "__main__":
    main()
