"""Softmax kernels of attention that runs as separate operators."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
import shared_traces
from rules.eager import operators

from tb_hookview.loading import load
from tb_hookview.schema import KINDS

BMM = ("aten::bmm", "ampere_bf16_s16816gemm_bf16_128x64")
SOFTMAX = ("aten::_softmax", "void at::native::cunn_SoftMaxForward<8, c10::BFloat16>")
BACKWARD = ("aten::_softmax_backward_data", "void softmax_warp_backward<float, float>")
SCALE = ("aten::mul", "void at::native::vectorized_elementwise_kernel<4, MulFunctor<float> >")
MM = ("aten::mm", BMM[1])
TRIL = ("aten::tril", "void at::native::triu_tril_kernel<float, int, false, 2, false>")
LOSS = ("aten::_log_softmax", SOFTMAX[1])


@pytest.mark.parametrize(
    ("calls", "kind"),
    [
        pytest.param([BMM, SOFTMAX, BMM], "attention", id="scores"),
        pytest.param([BMM, SCALE, SCALE, SOFTMAX, SCALE, BMM], "attention", id="scale and mask"),
        pytest.param([BMM, SCALE, TRIL, SCALE, SOFTMAX, BMM], "attention", id="makes a mask"),
        pytest.param([BMM, BMM, BACKWARD, SCALE, BMM, BMM], "attention", id="backward"),
        pytest.param([BMM, SOFTMAX], "reduction", id="no second product"),
        pytest.param([SOFTMAX, BMM], "reduction", id="no first product"),
        pytest.param([BMM, SOFTMAX, MM], "reduction", id="a product that is not batched"),
        pytest.param([BMM, MM, SOFTMAX, BMM], "reduction", id="another product between"),
        pytest.param([BMM, *[SCALE] * 8, SOFTMAX, BMM], "reduction", id="too far away"),
        pytest.param([BMM, LOSS, BMM], "reduction", id="a loss"),
    ],
)
def test_softmax_between_batched_products(
    tmp_path: Path, calls: list[tuple[str, str]], kind: str
) -> None:
    analysis = load(grid.write(tmp_path / "t.json", operators(calls)))
    softmax = [i for i, (name, _) in enumerate(calls) if "softmax" in name]
    assert [KINDS[analysis.kinds.kind[i]] for i in softmax] == [kind]
    assert analysis.kinds.tensor_core[softmax].tolist() == [0]
    assert analysis.kinds.unfused.tolist() == [
        i in softmax and kind == "attention" for i in range(len(calls))
    ]


def test_products_of_another_thread_do_not_count(tmp_path: Path) -> None:
    rows = operators([BMM, SOFTMAX]) + operators([BMM], start=2000, thread="other")
    analysis = load(grid.write(tmp_path / "t.json", rows))
    assert not analysis.kinds.unfused.any()


@pytest.mark.parametrize(
    ("trace", "softmax_ms"), [("tracelens_h100_owlv2", 262.5), ("tracelens_mi300_timesf", 41.9)]
)
def test_attention_of_real_models(trace: str, softmax_ms: float) -> None:
    analysis = load(shared_traces.shared_trace(trace))
    time = analysis.device_events.duration[analysis.kinds.unfused].sum() / 1e6
    assert round(float(time), 1) == softmax_ms
