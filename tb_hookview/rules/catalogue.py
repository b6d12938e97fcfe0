"""All rules, in order of priority.

A sync is explained, and a gap of the device charged, by the first rule that claims it: syncs, then
data loading, data movement, memory, host, launches. Rules that no trace can show come last.
"""

from __future__ import annotations

from tb_hookview.rules.advice import ADVICE
from tb_hookview.rules.compile import (
    eager_compile_candidate,
    graph_break,
    guard_checks,
    recompilation,
)
from tb_hookview.rules.data import (
    create_on_cpu_then_move,
    device_layout_copies,
    h2d_many_small,
    h2d_nonblocking_unpinned,
    h2d_not_overlapped,
    h2d_pageable_blocking,
    h2d_pinned_but_blocking,
    loader_single_process,
    loader_wait,
    pin_memory_inline,
    step_outlier,
)
from tb_hookview.rules.distributed import (
    collective_per_parameter,
    comm_exposed,
    dataparallel_used,
    ddp_bucket_or_unused,
    ddp_non_nccl,
    sync_batchnorm,
)
from tb_hookview.rules.engine.rule import Rule
from tb_hookview.rules.host import (
    debug_apis_on,
    garbage_collection,
    graph_pause,
    host_work,
    kernel_first_use,
    launch_queue_shallow,
    operator_loop,
    python_time,
    slow_sibling,
    threads_oversubscribed,
)
from tb_hookview.rules.kernels import (
    attention_unfused,
    channels_last_on_cpu,
    conv_bias_before_bn,
    conv_layout_transpose,
    convolution_benchmark,
    gpu_low_utilization,
    index_put_sort_kernels,
    pointwise_unfused,
    python_loop_over_batch,
    small_grid_low_occupancy,
    tiny_kernels_launch_bound,
)
from tb_hookview.rules.memory import (
    allocator_malloc_free_in_step,
    gradients_kept,
    graph_without_backward,
    memory_fragmentation,
    memory_growth,
    memory_near_limit_or_idle,
    memory_peak,
    out_of_memory,
    recompute_overhead,
)
from tb_hookview.rules.optimizer import (
    dense_embedding_gradient,
    optimizer_single_tensor,
    zero_grad_fill,
)
from tb_hookview.rules.precision import (
    fp64_kernels,
    matmul_misaligned,
    tensor_cores_unused,
    tf32_disabled,
)
from tb_hookview.rules.sync import (
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
)

RULES: tuple[Rule, ...] = (
    debug_apis_on.RULE,
    allocator_malloc_free_in_step.RULE,
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
    # data loading
    loader_single_process.RULE,
    loader_wait.RULE,
    # data movement
    create_on_cpu_then_move.RULE,
    h2d_many_small.RULE,
    h2d_pageable_blocking.RULE,
    h2d_pinned_but_blocking.RULE,
    h2d_nonblocking_unpinned.RULE,
    h2d_not_overlapped.RULE,
    pin_memory_inline.RULE,
    convolution_benchmark.RULE,
    sync_in_operator.RULE,
    # memory
    recompute_overhead.RULE,
    out_of_memory.RULE,
    memory_growth.RULE,
    memory_near_limit_or_idle.RULE,
    memory_fragmentation.RULE,
    memory_peak.RULE,
    gradients_kept.RULE,
    graph_without_backward.RULE,
    # host
    kernel_first_use.RULE,
    garbage_collection.RULE,
    operator_loop.RULE,
    threads_oversubscribed.RULE,
    # kernels, optimizer, precision, compile, distributed
    python_loop_over_batch.RULE,
    optimizer_single_tensor.RULE,
    zero_grad_fill.RULE,
    dense_embedding_gradient.RULE,
    python_time.RULE,
    recompilation.RULE,
    graph_break.RULE,
    guard_checks.RULE,
    graph_pause.RULE,
    collective_per_parameter.RULE,
    ddp_bucket_or_unused.RULE,
    tiny_kernels_launch_bound.RULE,
    attention_unfused.RULE,
    conv_layout_transpose.RULE,
    channels_last_on_cpu.RULE,
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
    slow_sibling.RULE,
    # what is left of the gaps
    step_outlier.RULE,
    host_work.RULE,
    launch_queue_shallow.RULE,
    gpu_low_utilization.RULE,
    *ADVICE,
)
