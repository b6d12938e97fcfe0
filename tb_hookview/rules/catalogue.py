"""All rules, in order of priority.

A sync is explained, and a gap of the device charged, by the first rule that claims it: syncs, then
data loading, data movement, memory, host, launches. Rules that no trace can show come last.
"""

from __future__ import annotations

from tb_hookview.rules.compile import graphs, recompilation
from tb_hookview.rules.data import copies, loading
from tb_hookview.rules.distributed import collectives, data_parallel
from tb_hookview.rules.engine.rule import Rule
from tb_hookview.rules.host import (
    cpu,
    debug_apis_on,
    ensemble_loop,
    host_work,
    launching,
    operator_loop,
    python_time,
    repeated,
    slow_sibling,
)
from tb_hookview.rules.kernels import indexing, launches, layers
from tb_hookview.rules.memory import allocator, held, recomputation
from tb_hookview.rules.optimizer import updates
from tb_hookview.rules.precision import products
from tb_hookview.rules.sync import sync_loop, training, values

# Rules that no trace can show: advice under the findings of rules that name them.


ADVICE: tuple[Rule, ...] = (
    Rule(
        id="storage-io-bound",
        family="data-loading",
        title="Storage may limit the DataLoader",
        description="Nothing in a trace: workers are separate processes. iotop, py-spy on a "
        "worker or strace show time in reads.",
        fix="Stage the data on a local NVMe disk, or put a cache between storage and trainers. "
        "Pack small files into shards (tar, record, Parquet) that are read in order, several at a "
        "time.",
        reference="Amazon SageMaker Debugger, rule IOBottleneck",
        confidence="medium",
    ),
    Rule(
        id="cpu-preprocess-format",
        family="data-loading",
        title="Decoding and transforms may limit the DataLoader",
        description="Nothing in a trace: it shows no worker. More workers then help, until all "
        "cores work.",
        fix="Keep tables as Arrow batches in memory, or as Parquet where reading is the limit. "
        "Decode images with a build of Pillow that uses SIMD, or on the device. Transform arrays, "
        "not items.",
        reference="Pillow-SIMD; Apache Arrow documentation",
        confidence="medium",
    ),
    Rule(
        id="host-copy-torch-tensor",
        family="data-movement",
        title="torch.tensor may copy data on the host",
        description="Nothing in a trace: torch.tensor(array) copies inside one call of Python.",
        fix="torch.as_tensor and torch.from_numpy share the memory of an array whose type fits. "
        "Stack a list of arrays with numpy first. Of a tensor, torch.tensor makes a copy without "
        "its history: use detach().clone() where one is meant.",
        reference="torch.as_tensor",
        confidence="medium",
    ),
    Rule(
        id="host-cpu-tuning",
        family="host",
        title="CPU settings may slow the host",
        description="Nothing in a trace: only a run with other settings shows it.",
        fix="Try jemalloc or tcmalloc by LD_PRELOAD. Bind the process to the cores next to its "
        "device. Set OMP_NUM_THREADS, and torch.set_num_threads in workers, so that threads do not "
        "compete.",
        reference="PyTorch Performance Tuning Guide: CPU specific optimizations",
        confidence="medium",
    ),
    Rule(
        id="device-choice",
        family="host",
        title="A faster device would not help while the host is the limit",
        description="Nothing in a trace but its device's name, and how long it was busy.",
        fix="Remove what keeps the host busy first. Choose a device by compute, memory and price "
        "when this one is busy for nearly all of a step.",
        reference="torch.compile tutorial: devices of compute capability 7.0 and above",
        confidence="low",
    ),
    Rule(
        id="cudnn-autotune",
        family="kernels",
        title="cuDNN may run convolutions by a slower algorithm than needed",
        description="Nothing in a trace: the time of another algorithm is known once it is tried.",
        fix="Where shapes stay the same, set torch.backends.cudnn.benchmark = True and compare. "
        "Where they change leave it off, or pad to a few sizes. Deterministic mode limits the "
        "choice.",
        reference="PyTorch, Performance Tuning Guide: cuDNN auto-tuner",
        confidence="low",
    ),
    Rule(
        id="rank-straggler",
        family="distributed",
        title="One rank may delay the others",
        description="Nothing in one trace: it takes the starts of the same collective on all "
        "ranks.",
        fix="Compare the ranks' traces: the one whose collectives are short is the one that the "
        "others wait for. Balance tokens or sequence lengths of batches, drop logging and "
        "evaluation that only rank 0 does, pin processes to CPUs, and check clocks and "
        "temperature.",
        reference="Holistic Trace Analysis, straggler detection",
    ),
)


RULES: tuple[Rule, ...] = (
    debug_apis_on.RULE,
    recompilation.RECOMPILATION,  # syncs, collects garbage, and goes through Python
    allocator.ALLOCATOR_MALLOC_FREE_IN_STEP,
    sync_loop.RULE,  # its syncs are each explained by another rule
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
    training.SYNC_DDP_TIMERS,
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
    loading.PIN_MEMORY_INLINE,
    layers.CONVOLUTION_BENCHMARK,
    values.SYNC_IN_OPERATOR,
    # memory
    recomputation.RECOMPUTE_OVERHEAD,
    allocator.OUT_OF_MEMORY,
    allocator.MEMORY_GROWTH,
    allocator.MEMORY_NEAR_LIMIT_OR_IDLE,
    allocator.MEMORY_FRAGMENTATION,
    held.MEMORY_PEAK,
    held.GRADIENTS_KEPT,
    held.GRAPH_WITHOUT_BACKWARD,
    # host
    launching.KERNEL_FIRST_USE,
    cpu.GARBAGE_COLLECTION,
    operator_loop.RULE,
    ensemble_loop.RULE,
    repeated.REPEATED_BACKWARD,
    repeated.PARAMETRIZATION_REPEATED,
    cpu.THREADS_OVERSUBSCRIBED,
    # kernels, optimizer, precision, compile, distributed
    indexing.PYTHON_LOOP_OVER_BATCH,
    updates.OPTIMIZER_SINGLE_TENSOR,
    updates.OPTIMIZER_NOT_FUSED,
    updates.ZERO_GRAD_FILL,
    updates.DENSE_EMBEDDING_GRADIENT,
    python_time.RULE,
    graphs.GRAPH_BREAK,
    graphs.GUARD_CHECKS,
    launching.GRAPH_PAUSE,
    collectives.COLLECTIVE_PER_PARAMETER,
    data_parallel.DDP_BUCKET_OR_UNUSED,
    launches.TINY_KERNELS_LAUNCH_BOUND,
    layers.ATTENTION_UNFUSED,
    layers.CONV_LAYOUT_TRANSPOSE,
    layers.CHANNELS_LAST_ON_CPU,
    layers.CONV_BIAS_BEFORE_BN,
    indexing.INDEX_PUT_SORT_KERNELS,
    products.FP64_KERNELS,
    products.TF32_DISABLED,
    products.TENSOR_CORES_UNUSED,
    products.MATMUL_MISALIGNED,
    copies.DEVICE_LAYOUT_COPIES,
    launches.POINTWISE_UNFUSED,
    launches.SMALL_GRID_LOW_OCCUPANCY,
    products.FLOAT32_TRAINING,
    graphs.EAGER_COMPILE_CANDIDATE,
    data_parallel.DATAPARALLEL_USED,
    data_parallel.DDP_NON_NCCL,
    collectives.SYNC_BATCHNORM,
    collectives.COMM_EXPOSED,
    slow_sibling.RULE,
    cpu.CUSTOM_OPERATOR,
    # what is left of the gaps
    loading.STEP_OUTLIER,
    host_work.RULE,
    launching.LAUNCH_QUEUE_SHALLOW,
    launches.GPU_LOW_UTILIZATION,
    *ADVICE,
)
