"""The rules: what can cost time in a training step, each in a file of its own.

`RULES` lists them in order of priority. A wait is explained, and a gap of the device paid for, by
the first rule that claims it: waits, then data loading, data movement, memory, host, launches.
"""

from __future__ import annotations

from typing import NamedTuple

from tb_hookview.analysis import schema
from tb_hookview.analysis.rules import (
    allocator_malloc_free_in_step,
    attention_unfused,
    comm_exposed,
    conv_bias_before_bn,
    conv_layout_transpose,
    cpu_preprocess_format,
    create_on_cpu_then_move,
    cudnn_autotune,
    dataparallel_used,
    ddp_bucket_or_unused,
    ddp_non_nccl,
    debug_apis_on,
    device_choice,
    device_layout_copies,
    eager_compile_candidate,
    fp64_kernels,
    gpu_low_utilization,
    graph_pause,
    h2d_many_small,
    h2d_nonblocking_unpinned,
    h2d_not_overlapped,
    h2d_pageable_blocking,
    h2d_pinned_but_blocking,
    host_copy_torch_tensor,
    host_cpu_tuning,
    index_put_sort_kernels,
    launch_queue_shallow,
    loader_single_process,
    loader_wait,
    matmul_misaligned,
    memory_near_limit_or_idle,
    optimizer_single_tensor,
    pin_memory_inline,
    pointwise_unfused,
    python_loop_over_batch,
    rank_straggler,
    recompile_graph_break,
    recompute_overhead,
    small_grid_low_occupancy,
    step_outlier,
    storage_io_bound,
    sync_batchnorm,
    sync_bool_branch,
    sync_d2h_copy,
    sync_data_dependent_size,
    sync_explicit,
    sync_gather_backward_deterministic,
    sync_grad_clip,
    sync_grad_scaler,
    sync_host_index_or_slice,
    sync_in_operator,
    sync_mask_index,
    sync_nonzero_variable_shape,
    sync_optimizer_scalar_state,
    sync_scalar_item,
    tensor_cores_unused,
    tf32_disabled,
    tiny_kernels_launch_bound,
    zero_grad_fill,
)
from tb_hookview.analysis.rules.billing import find
from tb_hookview.analysis.rules.context import Context
from tb_hookview.analysis.rules.rule import Rule
from tb_hookview.analysis.schema import PROFILER
from tb_hookview.analysis.selection import Selection

RULES: tuple[Rule, ...] = (
    debug_apis_on.RULE,
    sync_gather_backward_deterministic.RULE,
    sync_optimizer_scalar_state.RULE,
    sync_grad_scaler.RULE,
    sync_grad_clip.RULE,
    sync_mask_index.RULE,
    sync_data_dependent_size.RULE,
    sync_nonzero_variable_shape.RULE,
    sync_bool_branch.RULE,
    sync_host_index_or_slice.RULE,
    sync_scalar_item.RULE,
    sync_d2h_copy.RULE,
    sync_explicit.RULE,
    # data-loading
    loader_single_process.RULE,
    loader_wait.RULE,
    storage_io_bound.RULE,
    cpu_preprocess_format.RULE,
    # data-movement
    create_on_cpu_then_move.RULE,
    h2d_many_small.RULE,
    h2d_pageable_blocking.RULE,
    h2d_pinned_but_blocking.RULE,
    h2d_nonblocking_unpinned.RULE,
    h2d_not_overlapped.RULE,
    host_copy_torch_tensor.RULE,
    pin_memory_inline.RULE,
    sync_in_operator.RULE,
    # memory
    allocator_malloc_free_in_step.RULE,
    recompute_overhead.RULE,
    memory_near_limit_or_idle.RULE,
    # host
    host_cpu_tuning.RULE,
    device_choice.RULE,
    # kernels, optimizer, precision, compile, distributed
    python_loop_over_batch.RULE,
    optimizer_single_tensor.RULE,
    zero_grad_fill.RULE,
    recompile_graph_break.RULE,
    graph_pause.RULE,
    ddp_bucket_or_unused.RULE,
    tiny_kernels_launch_bound.RULE,
    attention_unfused.RULE,
    conv_layout_transpose.RULE,
    cudnn_autotune.RULE,
    conv_bias_before_bn.RULE,
    index_put_sort_kernels.RULE,
    fp64_kernels.RULE,
    tf32_disabled.RULE,
    tensor_cores_unused.RULE,
    matmul_misaligned.RULE,
    device_layout_copies.RULE,
    pointwise_unfused.RULE,
    small_grid_low_occupancy.RULE,
    eager_compile_candidate.RULE,
    dataparallel_used.RULE,
    ddp_non_nccl.RULE,
    sync_batchnorm.RULE,
    comm_exposed.RULE,
    rank_straggler.RULE,
    # what is left of the gaps
    step_outlier.RULE,
    launch_queue_shallow.RULE,
    gpu_low_utilization.RULE,
)


class Diagnosis(NamedTuple):
    """What the rules say of a trace."""

    causes: list[str]
    """Id of the rule that explains each wait of the trace; `profiler` for the profiler's own."""
    findings: list[schema.Finding]


def diagnose(selection: Selection, step_rows: list[schema.Step]) -> Diagnosis:
    """Ask every rule about the selected steps of a trace."""
    context = Context(selection, step_rows, RULES)
    causes = [RULES[rule].id if rule >= 0 else PROFILER for rule in context.explained.tolist()]
    return Diagnosis(causes, find(context))
