"""What a report warns of."""

from __future__ import annotations

from invariants.analysis import RANGES_ALONE
from invariants.case import Case
from invariants.registry import Of, invariant

from tb_hookview.formats import format_share

WITHOUT_LAUNCH = {
    "gpu.gpt_reference.healthy": "16.5%",
    "gpu.loader_bound.after": "13.7%",
    "gpu.pageable_copy.after": "32.4%",
    "gpu.precision.fp32": "15.0%",
    "gpu.resnet_reference.healthy": "15.9%",
    "hta_a100_cuda_graphs_rank0": "13.2%",
    "hta_compare_base": "99.5%",
    "hta_compare_test": "99.8%",
    "hta_mtia_inference": "26.0%",
    "tracelens_h100_qwen": "30.1%",
    "tracelens_mi300_qwen": "30.9%",
    "tracelens_mi300_resnet_checkpointing": "31.8%",
}
"""Traces of which a tenth or more of device time has no launch; HTA's two are cut to a few rows,
ours begin while the device works on what was launched before."""
IN_MEASURED_STEPS = (
    *("hta_compare_base", "hta_compare_test", "hta_mtia_inference"),
    *("tracelens_h100_qwen", "tracelens_mi300_qwen"),
)
"""Those of them whose measured steps, or the whole trace where none are marked, lack launches."""
UNSEEN = (
    *("hta_backward_thread_tiny", "tracelens_mi300_sglang_decode"),
    *("tracelens_mi300_vllm_graph_execution", "tracelens_mi300_vllm_piecewise"),
)
"""Traces of which a tenth or more passes while a queue holds what is not in the file."""
REPLAYED = (
    *("gpu.launch_bound.cuda_graph", "tracelens_mi300_sglang_decode"),
    "tracelens_mi300_vllm_graph_execution",
)
"""Traces of steps that are replayed as CUDA or HIP graphs."""
ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset", "mtia_ccp_events")
CALLS = ("cuda_runtime", "cuda_driver", "Runtime", "mtia_runtime")


@invariant(Of.RECORDINGS)
def severe_ones_are_those_of_traces_that_lack_something(case: Case) -> None:
    severe = [row for row in case.data.trace.warnings if row.severity == "high"]
    if case.name.startswith(RANGES_ALONE):
        assert [row.code for row in severe] == ["no-device-events"]
        return
    share = _share_without_launch(case)
    codes = ["lost-at-end"] if case.name.startswith("hta_compare_test") else []
    codes += ["no-launch"] if case.name.startswith(IN_MEASURED_STEPS) else []
    codes += ["replayed-graphs"] if case.name.startswith(REPLAYED) else []
    codes += ["unseen-queue"] if case.name.startswith(UNSEEN) else []
    assert [row.code for row in severe] == codes
    lost = [row for row in severe if row.code == "no-launch"]
    assert all(f", {share} of device time" in row.message for row in lost)


@invariant(Of.RECORDINGS)
def device_time_without_a_launch_is_that_of_the_file_s_rows(case: Case) -> None:
    if not (share := _share_without_launch(case)):
        return
    rows = [event for event in case.events if event.get("ph") == "X"]
    calls = {row.get("args", {}).get("correlation") for row in rows if row.get("cat") in CALLS}
    calls.discard(None)
    device = [row for row in rows if row.get("cat", "").lower() in ON_DEVICE]
    lost = [row for row in device if row["args"].get("correlation") not in calls]
    part = sum(row["dur"] for row in lost) / sum(row["dur"] for row in device)
    assert format_share(part, 1) == share
    found = {row.code: row.count for row in case.data.trace.warnings}
    assert found["no-launch"] == len(lost)


def _share_without_launch(case: Case) -> str | None:
    known = (share for name, share in WITHOUT_LAUNCH.items() if case.name.startswith(name))
    return next(known, None)


@invariant(Of.RECORDINGS)
def no_forward_is_unknown_without_a_reason(case: Case) -> None:
    """Of device time, the whole trace; of host time, each step."""
    unknown = any(step.forward_us is None for step in case.data.steps)
    codes = {warning.code for warning in case.data.trace.warnings}
    assert bool({"no-host", "no-forward", "no-forward-host"} & codes) == unknown
