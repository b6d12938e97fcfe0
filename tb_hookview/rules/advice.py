"""Rules that no trace can show: advice under the findings of rules that name them."""

from __future__ import annotations

from tb_hookview.rules.engine.rule import Rule

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
