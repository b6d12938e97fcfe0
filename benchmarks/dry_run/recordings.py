"""Runs programs again, without a GPU, whose recordings are public, and compares their syncs.

    python -m benchmarks.dry_run.recordings [FOLDER] [--write benchmarks/results/dry_run_checks.md]

FOLDER holds the traces (`../shared/traces`). Compared are syncs per step inside of operators, by
operator. Those of libraries and of the caching allocator and those outside of operators are counted
apart: no dry run can see the former, and the latter are calls of the program that its recording
does not name.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

import tb_hookview as hookview
from benchmarks.common.markdown import table
from sample_traces.libraries import load
from tb_hookview.dryrun import DryRun, dry_run
from tb_hookview.schema.host import own_syncs

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "traces"
BEGIN, END = "<!-- recordings -->\n", "<!-- end of recordings -->\n"
_OPERATORS = {"aten::copy_", "aten::_local_scalar_dense", "aten::nonzero"}
"""Operators of torch that sync in these recordings; in the others a library does."""
Counts = Counter[str]


class Reenacted(NamedTuple):
    """A program, and the recordings of what it does."""

    program: str
    traces: tuple[str, ...]
    steps: Callable[[DryRun], None]
    """Runs it; what follows the first `run.step()` is compared, per step."""
    iterations: int = 0
    """Iterations of a recording that marks no steps; 0: by its marks."""


def _alexnet(run: DryRun) -> None:
    model = load("torchvision.models").alexnet()
    run.step()
    model.to("cuda")
    run.step()


def _resnet(run: DryRun) -> None:
    model = load("torchvision.models").resnet50(num_classes=10).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(3):
        x, y = torch.randn(2, 3, 64, 64).to("cuda"), torch.randint(10, (2,)).to("cuda")
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        run.step()


def _minitoy(run: DryRun) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    target = torch.randn(5, 4, device="cuda")
    for _ in range(3):
        optimizer.zero_grad()
        F.mse_loss(model(torch.randn(5, 8).to("cuda")), target).backward()
        optimizer.step()
        run.step()


def _ddp_resnet(run: DryRun) -> None:
    model = load("torchvision.models").resnet18(num_classes=10).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x, y = torch.randn(2, 3, 64, 64, device="cuda"), torch.zeros(2, device="cuda").long()
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        loss.item()
        run.step()


def _interactions(run: DryRun) -> None:
    """DLRM's pairwise products below the diagonal, picked by indices on the host."""
    first, second = torch.tril_indices(4, 4, -1)
    features = torch.randn(2, 4, 8, device="cuda", requires_grad=True)
    for _ in range(3):
        dense, sparse = torch.randn(2, 4), torch.randint(9, (2, 3))
        dense, sparse = dense.to("cuda"), sparse.to("cuda")
        offsets, labels = torch.arange(3).to("cuda"), torch.rand(2).to("cuda")
        products = torch.bmm(features, features.transpose(1, 2))
        out = products[:, first, second].sum() + dense.sum() + offsets.sum() + sparse.sum()
        loss = out + labels.sum()
        loss.backward()
        loss.detach().cpu()
        out.detach().cpu()
        run.step()


def _bert(run: DryRun) -> None:
    transformers = load("transformers")
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64,
    )  # fmt: skip
    model = transformers.BertModel(config).to("cuda").eval()
    ids = torch.randint(50, (2, 7), device="cuda")
    for _ in range(3):
        with torch.no_grad():
            model(input_ids=ids, attention_mask=torch.ones_like(ids))
        run.step()


def _qwen(run: DryRun) -> None:
    transformers = load("transformers")
    config = transformers.Qwen2Config(
        vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, intermediate_size=64,
    )  # fmt: skip
    model = transformers.Qwen2ForCausalLM(config).to("cuda").eval()
    ids = torch.randint(50, (2, 7), device="cuda")
    for _ in range(3):
        with torch.no_grad():
            model(input_ids=ids, attention_mask=torch.ones_like(ids))
        run.step()


PROGRAMS = (
    Reenacted(
        "AlexNet to the device",
        (
            *("hta_a100_alexnet_sync_events.json.gz", "hta_a100_overlaid_critical_path.json.gz"),
            "hta_a100_cupti_ranges.json.gz",
        ),
        _alexnet,
    ),
    Reenacted(
        "ResNet-50, batches moved without non_blocking",
        (
            *("kineto_resnet50_num_workers_0", "kineto_resnet50_num_workers_4"),
            "kineto_2020_resnet50_list_root.json.gz",
        ),
        _resnet,
    ),
    Reenacted(
        "the same, recorded by torch.autograd.profiler",
        ("kineto_2021_resnet50_autograd_api.json.gz",),
        _resnet,
        iterations=6,
    ),
    Reenacted("a small network", ("hta_mi250_minitoy_training.json.gz",), _minitoy),
    Reenacted("DLRM, indices on the host", ("param_dlrm_8_ranks",), _interactions),
    Reenacted(
        "ResNet-18, loss read in each iteration",
        ("tracelens_mi300_ddp_resnet18.json.gz",),
        _ddp_resnet,
        iterations=5,
    ),
    Reenacted(
        "BERT with an attention mask",
        ("tracelens_h100_bert_small.json.gz", "tracelens_mi300_bert_small.json.gz"),
        _bert,
    ),
    Reenacted(
        "Qwen2 with an attention mask",
        ("tracelens_h100_qwen.json.gz", "tracelens_mi300_qwen.json.gz"),
        _qwen,
    ),
)


NOT_RUN: dict[str, tuple[str, ...]] = {
    "no sync inside of an operator was recorded": (
        *("deepseek_h800_dualpipe_training", "hta_a100_event_sync_multi_stream"),
        *("hta_a100_nccl_training", "hta_a100_triton", "hta_backward_thread_tiny"),
        *("hta_compare_base", "hta_compare_test", "hta_rank_without_gpu"),
        *("hta_v100_df_index_resolver", "llama_4layers_4090", "particle_transformer_gpu"),
        *("shift_equivariant_vit", "tracelens_b200_eager", "tracelens_mi300_compile_triton"),
        *("tracelens_mi300_normalization", "tracelens_mi300_resnet_checkpointing_ddp"),
        *("tracelens_mi300_vllm_graph_capture", "tracelens_mi300_vllm_graph_execution"),
        "tracelens_mi300_vllm_piecewise",
    ),
    "neither the program nor its Python stacks are public: what is copied and read is not known": (
        *("hta_a100_cuda_graphs_rank0", "hta_a100_dlrm_trace_diff_control"),
        *("hta_a100_event_sync", "hta_v100_training"),
    ),
    "rows were removed at random, so its syncs cannot be counted": (
        *("hta_sampled_rank-0", "hta_sampled_rank-1"),
    ),
    "it is cut within a step: 61 copies in 30 steps of two": ("param_rtx2080ti_resnet",),
    "inference of models of billions of parameters, or with operators of CUDA alone": (
        *("tracelens_h100_owlv2", "tracelens_mi300_owlv2", "tracelens_mi300_flux_sage"),
        *("tracelens_mi300_sd35_with_stacks", "tracelens_mi300_sglang_decode"),
        "tracelens_mi300_timesformer",
    ),
    "not of a CUDA or ROCm device, or no operators, or no trace": (
        *("hta_cpu_only", "hta_cpu_only_rank34", "hta_execution_trace_not_chrome"),
        *("hta_mtia_inference", "hta_mtia_training", "tracelens_execution_details_not_a_trace"),
        "tracelens_mi210_gpu_only",
    ),
}
"""Recordings that are not compared, by the reason."""


class Recorded(NamedTuple):
    """Syncs of a recording, per step."""

    per_step: dict[str, float]
    below: int
    """In libraries and in the allocator."""
    outside: int


def recorded(path: Path, iterations: int) -> Recorded:
    """Count the syncs of a recording."""
    data = hookview.analyze(path).data
    syncs = own_syncs(data.syncs)
    own = [sync for sync in syncs if not sync.api.endswith("Free")]
    inside = [sync for sync in own if sync.operator is not None]
    known = Counter(
        sync.operator for sync in inside if sync.operator in _OPERATORS and not _of_cudnn(sync)
    )
    steps = iterations or max(1, len(data.steps))
    return Recorded(
        {str(operator): count / steps for operator, count in known.items()},
        len(syncs) - len(own) + len(inside) - known.total(),
        len(own) - len(inside),
    )


def _of_cudnn(sync: Any) -> bool:
    return any("cudnn" in frame for frame in (sync.operator, sync.node or ""))


def dry(program: Reenacted) -> dict[str, float]:
    """Count the syncs of a program in a dry run, of its steps after the first."""
    torch.manual_seed(0)
    with warnings.catch_warnings(), dry_run() as run:
        warnings.simplefilter("ignore")
        program.steps(run)
    found: Counts = Counter()
    steps = run.recorder.step - 1
    for sync in run.syncs:
        if 1 <= sync.step <= steps and sync.certain:
            found[_recorded_as(sync.operator)] += sync.count
    return {operator: count / steps for operator, count in found.items()}


def _recorded_as(operator: str) -> str:
    """The innermost operator, as a recording has it."""
    return "aten::copy_" if operator == "aten::_index_put_impl_" else operator


def rows(folder: Path) -> list[list[str]]:
    """Return a row for each recording: program, trace, syncs per step there and here."""
    found = []
    for program in PROGRAMS:
        here = dry(program)
        for name in program.traces:
            path = folder / name
            for file in sorted(path.iterdir()) if path.is_dir() else [path]:
                there = recorded(file, program.iterations)
                same = "yes" if there.per_step == here else "**no**"
                label = f"{name}/{file.name.partition('.')[0]}" if path.is_dir() else name
                cells = [program.program, label, _counts(there.per_step), _counts(here), same]
                found.append([*cells, str(there.below), str(there.outside)])
    return found


def left_out(folder: Path) -> str:
    """Return the recordings that are not compared, as a table.

    Raises:
        LookupError: one is neither compared nor listed.
    """
    known = {name.partition(".")[0] for program in PROGRAMS for name in program.traces}
    known |= {name for names in NOT_RUN.values() for name in names}
    there = {path.name.partition(".")[0] for path in folder.iterdir() if path.suffix != ".md"}
    if there - known:
        raise LookupError(f"neither compared nor left out: {', '.join(sorted(there - known))}")
    rows = ([", ".join(names), reason] for reason, names in NOT_RUN.items())
    return table(["not run again", "because"], rows, left=2)


def _counts(counts: dict[str, float]) -> str:
    parts = (f"{name.removeprefix('aten::')} {count:.3g}" for name, count in sorted(counts.items()))
    return ", ".join(parts) or "none"


def main() -> int:
    """Run the command; return 1 where a recording has other syncs than the dry run."""
    parser = argparse.ArgumentParser("benchmarks.dry_run.recordings", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--write", type=Path, metavar="FILE")
    options = parser.parse_args()
    if not options.folder.is_dir():
        parser.error(f"{options.folder}: no such folder of traces")
    body = rows(options.folder)
    head = ["program", "recording", "recorded, per step", "dry run, per step", "same"]
    text = table([*head, "in libraries and the allocator", "outside of operators"], body, left=5)
    text = f"{text}\n\n{left_out(options.folder)}"
    print(text)
    if options.write:
        page = options.write.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        after = rest.partition(END)[2]
        options.write.write_text(f"{before}{BEGIN}\n{text}\n\n{END}{after}", encoding="utf-8")
    return int(any(row[4] != "yes" for row in body))


if __name__ == "__main__":
    sys.exit(main())
