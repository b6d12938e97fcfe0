"""Rules about compiled code on what torch.compile really leaves in a trace, on a CPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rules.diagnosed import diagnosed

from tb_hookview.schema import Finding

torch = pytest.importorskip("torch", reason="needs torch: pip install torch")


def recorded(
    folder: Path, function: Callable[[Any], Any], sizes: list[int], *, stacks: bool = False
) -> list[Finding]:
    """Findings about compiled code in a trace of one step for each size after a warm-up."""
    torch.compiler.reset()
    compiled = torch.compile(function, backend="aot_eager")
    compiled(torch.ones(8, requires_grad=True))
    path = folder / "trace.json"
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=len(sizes), repeat=1),
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path)),
        with_stack=stacks,
    ) as profiler:
        for size in [8, *sizes]:
            compiled(torch.ones(size, requires_grad=True))
            profiler.step()
    found = diagnosed(path)
    return [*found["graph-break"], *found["recompilation"]]


def works(x: Any) -> Any:
    return (x * 2).relu()


def breaks(x: Any) -> Any:
    y = works(x)
    torch._dynamo.graph_break()
    return y + 1


def reads(x: Any) -> Any:
    return works(x) if x.sum().item() > 1 else x


def test_a_clean_trace(tmp_path: Path) -> None:
    """Its guards are tested, and that is neither a graph break nor a compilation."""
    assert recorded(tmp_path, works, [8, 8, 8]) == []


def test_a_graph_break(tmp_path: Path) -> None:
    (finding,) = recorded(tmp_path, breaks, [8, 8, 8])
    assert finding.rule == "graph-break"
    assert finding.where == "between compiled regions 0/0 and 1/0"
    assert finding.count == 2, "of three steps the first does not count"


def test_a_graph_break_with_stacks(tmp_path: Path) -> None:
    (finding,) = recorded(tmp_path, breaks, [8, 8], stacks=True)
    line = breaks.__code__.co_firstlineno + 2
    assert finding.where.endswith(f"test_real_compile.py, line {line}, in breaks")


def test_a_graph_break_to_read_a_value(tmp_path: Path) -> None:
    (finding,) = recorded(tmp_path, reads, [8, 8])
    assert "aten::item" in finding.evidence


def test_a_recompilation(tmp_path: Path) -> None:
    (finding,) = recorded(tmp_path, works, [8, 8, 12])
    assert finding.rule == "recompilation"
    assert "graph 0 again, as 0/1" in finding.evidence
