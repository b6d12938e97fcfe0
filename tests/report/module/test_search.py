"""Modules are found by their own kernels, those of each module's detail."""

from __future__ import annotations

import pytest
from support.loaded import loaded

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.errors import NotFoundError, UsageError
from tb_hookview.report.module import detail as module_detail


@pytest.fixture(
    scope="module", params=["tracelens_mi300_resnet_checkpointing_ddp", "hta_sampled_rank-0"]
)
def analysis(request: pytest.FixtureRequest) -> Analysis:
    return loaded(request.param)


def own_names(analysis: Analysis, steps: list[str] | None = None) -> dict[str, set[str]]:
    """The slow way: the detail of each module."""
    own = {}
    for path in dict.fromkeys(analysis.modules.path):
        detail = module_detail.module_detail(analysis, path, steps)
        assert detail.kernels_omitted is None
        own[path] = {
            kernel.name
            for kernel in detail.kernels
            if kernel.forward.self_count + kernel.backward.self_count > 0
        }
    return own


@pytest.mark.parametrize("last_step_only", [False, True])
def test_every_name_finds_the_modules_that_launched_it(
    analysis: Analysis, last_step_only: bool
) -> None:
    steps = [analysis.steps.name[-1]] if last_step_only else None
    own = own_names(analysis, steps)
    names = sorted(set().union(*own.values()))
    assert names
    for text in {*names[:: max(1, len(names) // 12)], "gemm", "GEMM ", "e", "no such kernel"}:
        wanted = text.strip().lower()[: module_detail.MOST_TEXT]
        found = module_detail.search_kernels(analysis, wanted, steps)
        holding = [p for p, kernels in own.items() if any(wanted in k.lower() for k in kernels)]
        assert sorted(found.paths) == sorted(holding)
        assert found.omitted == 0
        assert found.names >= len({k for ks in own.values() for k in ks if wanted in k.lower()})


def test_no_more_are_told_than_said_and_the_rest_is_counted(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = module_detail.search_kernels(analysis, "e")
    monkeypatch.setattr(module_detail, "MOST_FOUND", 1)
    first = module_detail.search_kernels(analysis, "e")
    assert first.paths == every.paths[:1]
    assert first.omitted == len(every.paths) - 1 > 0


@pytest.mark.parametrize("text", ["", "  ", "x" * 201])
def test_a_text_that_cannot_be_looked_for_is_refused(analysis: Analysis, text: str) -> None:
    with pytest.raises(UsageError, match="q=TEXT"):
        module_detail.search_kernels(analysis, text)


def test_an_unknown_step_is_not_found(analysis: Analysis) -> None:
    with pytest.raises(NotFoundError):
        module_detail.search_kernels(analysis, "gemm", ["ProfilerStep#999999"])


def test_a_trace_without_device_finds_nothing() -> None:
    found = module_detail.search_kernels(loaded("hta_cpu_only"), "gemm")
    assert found == schema.KernelSearch(0, [], 0)
