"""All rules, in order of priority.

A sync is explained, and a gap of the device charged, by the first rule that claims it: syncs, then
data loading, data movement, memory, host, launches. Rules that no trace can show come last.
"""

from __future__ import annotations

from tb_hookview.rules.advice import ADVICE
from tb_hookview.rules.compile import graphs
from tb_hookview.rules.data import copies, loading, pin_memory_inline
from tb_hookview.rules.distributed import collectives, data_parallel
from tb_hookview.rules.engine.rule import Rule
from tb_hookview.rules.host import (
    custom_operator,
    debug_apis_on,
    ensemble_loop,
    garbage_collection,
    graph_pause,
    host_work,
    kernel_first_use,
    launch_queue_shallow,
    operator_loop,
    parametrization_repeated,
    python_time,
    repeated_backward,
    slow_sibling,
    threads_oversubscribed,
)
from tb_hookview.rules.kernels import channels_last_on_cpu, indexing, launches, layers
from tb_hookview.rules.memory import allocator, held
from tb_hookview.rules.optimizer import updates
from tb_hookview.rules.precision import products
from tb_hookview.rules.sync import training, values

RULES: tuple[Rule, ...] = (
    debug_apis_on.RULE,
    allocator.ALLOCATOR_MALLOC_FREE_IN_STEP,
    training.SYNC_GATHER_BACKWARD_DETERMINISTIC,
    training.SYNC_OPTIMIZER_SCALAR_STATE,
    training.SYNC_GRAD_SCALER,
    training.SYNC_GRAD_CLIP,
    values.SYNC_MASK_INDEX,
    values.SYNC_DATA_DEPENDENT_SIZE,
    values.SYNC_NONZERO_VARIABLE_SHAPE,
    values.SYNC_BOOL_BRANCH,
    values.SYNC_HOST_INDEX_OR_SLICE,
    values.SYNC_SCALAR_ITEM,
    values.SYNC_D2H_COPY,
    training.SYNC_EXPLICIT,
    # data loading
    loading.LOADER_SINGLE_PROCESS,
    loading.LOADER_WAIT,
    # data movement
    copies.CREATE_ON_CPU_THEN_MOVE,
    copies.H2D_MANY_SMALL,
    copies.H2D_PAGEABLE_BLOCKING,
    copies.H2D_PINNED_BUT_BLOCKING,
    copies.H2D_NONBLOCKING_UNPINNED,
    copies.H2D_NOT_OVERLAPPED,
    pin_memory_inline.RULE,
    layers.CONVOLUTION_BENCHMARK,
    values.SYNC_IN_OPERATOR,
    # memory
    held.RECOMPUTE_OVERHEAD,
    allocator.OUT_OF_MEMORY,
    allocator.MEMORY_GROWTH,
    allocator.MEMORY_NEAR_LIMIT_OR_IDLE,
    allocator.MEMORY_FRAGMENTATION,
    held.MEMORY_PEAK,
    held.GRADIENTS_KEPT,
    held.GRAPH_WITHOUT_BACKWARD,
    # host
    kernel_first_use.RULE,
    graphs.RECOMPILATION,  # collects garbage, and goes through Python
    garbage_collection.RULE,
    operator_loop.RULE,
    ensemble_loop.RULE,
    repeated_backward.RULE,
    parametrization_repeated.RULE,
    threads_oversubscribed.RULE,
    # kernels, optimizer, precision, compile, distributed
    indexing.PYTHON_LOOP_OVER_BATCH,
    updates.OPTIMIZER_SINGLE_TENSOR,
    updates.ZERO_GRAD_FILL,
    updates.DENSE_EMBEDDING_GRADIENT,
    python_time.RULE,
    graphs.GRAPH_BREAK,
    graphs.GUARD_CHECKS,
    graph_pause.RULE,
    collectives.COLLECTIVE_PER_PARAMETER,
    data_parallel.DDP_BUCKET_OR_UNUSED,
    launches.TINY_KERNELS_LAUNCH_BOUND,
    layers.ATTENTION_UNFUSED,
    layers.CONV_LAYOUT_TRANSPOSE,
    channels_last_on_cpu.RULE,
    layers.CONV_BIAS_BEFORE_BN,
    indexing.INDEX_PUT_SORT_KERNELS,
    products.FP64_KERNELS,
    products.TF32_DISABLED,
    products.TENSOR_CORES_UNUSED,
    products.MATMUL_MISALIGNED,
    copies.DEVICE_LAYOUT_COPIES,
    launches.POINTWISE_UNFUSED,
    launches.SMALL_GRID_LOW_OCCUPANCY,
    graphs.EAGER_COMPILE_CANDIDATE,
    data_parallel.DATAPARALLEL_USED,
    data_parallel.DDP_NON_NCCL,
    collectives.SYNC_BATCHNORM,
    collectives.COMM_EXPOSED,
    slow_sibling.RULE,
    custom_operator.RULE,
    # what is left of the gaps
    loading.STEP_OUTLIER,
    host_work.RULE,
    launch_queue_shallow.RULE,
    launches.GPU_LOW_UTILIZATION,
    *ADVICE,
)
