"""Capability of devices by the names of their kernels."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest

from tb_hookview.analysis.device.kinds import capability_by_kernels
from tb_hookview.loading import load


@pytest.mark.parametrize(
    ("kernels", "capability"),
    [
        (["maxwell_scudnn_128x64_relu", "void add<float>"], (0, 0)),
        (["volta_sgemm_128x64_nn", "maxwell_scudnn_128x64_relu"], (7, 0)),
        (["volta_sgemm_128x64_nn", "void cutlass::Kernel<cutlass_75_tensorop_f16_s1688>"], (7, 5)),
        (["volta_sgemm_128x64_nn", "ampere_sgemm_32x32_sliced1x4_tn"], (8, 0)),
        (["sm80_xmma_fprop_implicit_gemm_tf32f32"], (8, 0)),
        (["fmha_cutlassF_bf16_aligned_64x64_rf_sm80(Params)"], (8, 0)),
        (["nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTN"], (9, 0)),
        (["sm90_xmma_gemm_bf16bf16"], (9, 0)),
        (["cutlass3x_sm100_tensorop_s256x192x16gemm"], (10, 0)),
        (["Cijk_Ailk_Bljk_SB_MT64x64x16_MI16x16x4x1_SN_ISA942"], (0, 0)),
    ],
)
def test_the_latest_name_counts(
    tmp_path: Path, kernels: list[str], capability: tuple[int, int]
) -> None:
    names = {f"k{i}": name for i, name in enumerate(kernels)}
    picture = "main ops [aten::mm]\nmain calls [launch]\ngpu kernel " + "".join(
        f"[{label}]" for label in names
    )
    traced = grid.events(picture, names | {"launch": "cudaLaunchKernel"})
    analysis = load(grid.write(tmp_path / "t.json", traced, cuda_runtime_version=12000))
    assert capability_by_kernels(analysis.trace, analysis.device_events, 0) == capability
