"""`recompilation`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import pytest
from rules import cpu
from rules.eager import findings, operators, row

from tb_hookview import markers
from tb_hookview.loading import analyze

RULE = "recompilation"
GEMM = [("aten::mm", "gemm")]
COMPILES = "_compile.compile_inner (dynamo_timed)"


def step(number: int) -> list[dict[str, Any]]:
    """A step of 1000 us with an operator at either end."""
    start = 1000 + 1000 * number
    name = f"ProfilerStep#{number}"
    ends = (*operators(GEMM, start=start + 10), *operators(GEMM, start=start + 900))
    return [row("user_annotation", name, start, 990), *ends]


def test_a_later_step_compiles(tmp_path: Path) -> None:
    spans = [row("cpu_op", COMPILES, 2015, 880), row("cpu_op", COMPILES, 2100, 200)]
    about = "entire_frame_compile_data: fn_name=_compile.compile_inner, compile_id=1/2"
    spans.append(row("cpu_op", about, 2896, 1))
    (finding,) = findings(tmp_path, step(0), step(1), spans)[RULE]
    assert finding.count == 1, "of spans inside each other the outer one"
    assert finding.cost_us_per_step == pytest.approx(890 - 4)


def test_a_later_step_compiles_on_a_cpu(tmp_path: Path) -> None:
    """And its time is no Python between operators, nor that of collections in it."""
    rows = [cpu.step(4000, number, 1000 + 4000 * number) for number in range(2)]
    ends = [cpu.operator("aten::mm", 1001, 3990), cpu.operator("aten::mm", 5001, 1000)]
    collects = row("cpu_op", f"{markers.COLLECTION}2", 6500, 2000)
    found = cpu.findings(tmp_path, [*rows, *ends, row("cpu_op", COMPILES, 6010, 2980), collects])
    (finding,) = found[RULE]
    assert finding.gain_us_per_step == pytest.approx(2980)
    assert "python-time" not in found
    assert "garbage-collection" not in found


def test_the_first_step_compiles(tmp_path: Path) -> None:
    spans = [row("cpu_op", COMPILES, 1015, 880)]
    assert RULE not in findings(tmp_path, step(0), step(1), spans)


def test_regions_that_are_compiled_already(tmp_path: Path) -> None:
    regions = [row("cpu_op", "Torch-Compiled Region: 0/1", 2015, 400)]
    assert RULE not in findings(tmp_path, step(0), step(1), regions)


def without_steps(compiles: int = 60_000) -> list[dict[str, Any]]:
    """A first call that compiles for 60 ms, between launches of 20 ms."""
    ends = (*operators(GEMM * 500), *operators(GEMM * 500, start=11_000 + compiles))
    return [*ends, row("user_annotation", COMPILES, 11_005, compiles - 10)]


def test_a_trace_without_steps(tmp_path: Path) -> None:
    """What compiles there may be the first call: it takes that time once."""
    found = findings(tmp_path, without_steps())
    (finding,) = found[RULE]
    assert (finding.title, finding.severity) == ("Code is compiled in this trace", "low")
    assert finding.once_us == pytest.approx(59_990)
    assert finding.cost_us_per_step == pytest.approx(60_016), "of the gap"
    assert finding.gain_us_per_step is None
    assert finding.fix.startswith("Warm up before recording")
    assert "host-work" not in found


@pytest.mark.parametrize(("compiles", "first"), [(60_000, True), (15_000, False)])
def test_what_compiles_for_most_of_a_trace_comes_first(
    tmp_path: Path, compiles: int, first: bool
) -> None:
    """The rest are first calls: their gaps are not known to recur."""
    path = grid.write(tmp_path / "t.json", without_steps(compiles))
    found = [each.rule for each in analyze(path).data.findings[:2]]
    assert found == [RULE, "tiny-kernels-launch-bound"][:: 1 if first else -1]


def test_little_of_a_trace_without_steps(tmp_path: Path) -> None:
    spans = [row("user_annotation", COMPILES, 11_005, 50)]
    assert RULE not in findings(tmp_path, operators(GEMM * 500), spans)


def test_a_trace_without_steps_and_devices(tmp_path: Path) -> None:
    """Its variants are no finding of their own: they are compiled in it."""
    rows = [cpu.operator("aten::mm", 1000, 10), row("user_annotation", COMPILES, 1010, 900)]
    data = row("user_annotation", "dynamo_data: compile_id=0/1", 1012, 1)
    found = cpu.findings(tmp_path, [*rows, data, *regions("0/0", "0/1")])
    (finding,) = found[RULE]
    assert "goes into compilation, in 1 span: graph 0 again, as 0/1" in finding.evidence
    assert finding.once_us == pytest.approx(900)


def test_variants_that_are_compiled_now(tmp_path: Path) -> None:
    """Too little of the trace for a finding, but they are not compiled already."""
    rows = [cpu.operator("aten::mm", 1000, 99_000), row("user_annotation", COMPILES, 2200, 90)]
    (finding,) = cpu.findings(tmp_path, [*rows, *regions("0/0", "0/1")])[RULE]
    assert finding.evidence.endswith("; each new variant takes another compilation")
    assert "already" not in finding.evidence


def test_syncs_of_the_compiler(tmp_path: Path) -> None:
    """Inductor waits for the device as it loads a kernel: nobody can delete that call."""
    load = row("user_annotation", "StaticAutotunerFuture.warm_precompile (dynamo_timed)", 1100, 300)
    wait = row("cuda_runtime", "cudaDeviceSynchronize", 1200, 50)
    ends = (*operators(GEMM, kernel=215), *operators(GEMM, start=1500))
    found = findings(tmp_path, ends, [load, wait])
    assert "sync-explicit" not in found
    (finding,) = found[RULE]
    assert len(finding.sync_ids) == 1


def regions(*names: str, start: float = 2020) -> list[dict[str, Any]]:
    """Compiled regions one after the other."""
    place = enumerate(names)
    return [row("cpu_op", f"Torch-Compiled Region: {n}", start + 100 * i, 50) for i, n in place]


def test_variants_of_one_graph(tmp_path: Path) -> None:
    called = regions("0/0", "0/1", "0/1")
    (finding,) = findings(tmp_path, step(0), step(1), called)[RULE]
    assert finding.evidence.startswith("compiled regions 0/0, 0/1 run in the same steps")
    assert finding.count == len(finding.examples) == 2
    assert "requires_grad: leave it" in finding.fix
    assert finding.severity == "info"


@pytest.mark.parametrize(
    "names",
    [("0/0", "1/0", "2/0"), ("0/0", "1/0", "0/0", "1/0"), ("0/1", "0/1")],
    ids=["separate functions", "called again", "compiled twice before"],
)
def test_regions_of_one_variant(tmp_path: Path, names: tuple[str, ...]) -> None:
    assert RULE not in findings(tmp_path, step(0), step(1), regions(*names))


def test_guards_that_are_tested_compile_nothing(tmp_path: Path) -> None:
    lookup = [row("cpu_op", "TorchDynamo Cache Lookup", 2100, 300)]
    assert RULE not in findings(tmp_path, step(0), step(1), lookup)


def test_what_is_compiled(tmp_path: Path) -> None:
    spans = [
        row("cpu_op", COMPILES, 2015, 400),
        row("user_annotation", "entire_frame_compile_data: compile_id=0/1", 2020, 1),
        row("cpu_op", COMPILES, 2450, 400),
        row("user_annotation", "entire_frame_compile_data: compile_id=3/0", 2460, 1),
    ]
    (finding,) = findings(tmp_path, step(0), step(1), spans)[RULE]
    assert finding.evidence.startswith("2 times something is compiled")
    assert ": graph 0 again, as 0/1, graph 3 for the first time;" in finding.evidence
