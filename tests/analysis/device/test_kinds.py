"""Kinds of kernels by their names and operators."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import grid
import numpy as np
import pytest
from shared_traces import shared_trace

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.device import kinds
from tb_hookview.loading import load
from tb_hookview.report.tables.devices import find_use

NATIVE = "void at::native::vectorized_elementwise_kernel<4, at::native::"
KNOWN = {
    # NVIDIA: Volta to Blackwell
    "volta_sgemm_128x64_nt": ("matrix", False),
    "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_tn": ("matrix", True),
    "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x128_32x3_nn_align1>(cutlass_80_tensorop_s1688gemm_256x128_32x3_nn_align1::Params)": ("matrix", True),
    "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(cutlass_80_simt_sgemm::Params)": ("matrix", False),
    "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__51_cublas": ("matrix", False),
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas": ("matrix", True),
    "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT": ("matrix", True),
    "nvjet_tst_144x128_64x6_2x1_v_bz_bias_TNN": ("matrix", True),
    "void cutlass::device_kernel<cutlass3x_sm100_tensorop_s128x256x16gemm_bf16_bf16_f32_bf16_bf16_128x256x64_0_tnn_align8_2sm>": ("matrix", True),
    "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16_m128x16x32_cga1x1x1_16dp256b_rM_TN": ("matrix", True),
    "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, false>": ("matrix", False),
    "void splitKreduce_kernel<32, 16, int, float, float>(cublasSplitKParams<float>)": ("matrix", False),
    "void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, true, true>": ("convolution", False),
    "void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int, int)": ("convolution", False),
    "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x128x32_stage5": ("convolution", True),
    "void cutlass_cudnn_infer::Kernel<cutlass_tensorop_s1688dgrad_optimized_tf32_64x128_32x3_nhwc_align4>": ("convolution", True),
    "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_256x64_32x4_nhwc_align8>": ("convolution", True),
    "cutlass_tensorop_f16_s1688dgrad_optimized_f16_128x128_32x2_nhwc_unity_stride": ("convolution", True),
    "volta_scudnn_128x64_relu_interior_nn_v1": ("convolution", False),
    "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float, float)": ("normalization", False),
    "_ZN5cudnn25bn_fw_tr_1C11_kernel_NCHWIffiLi128ELi1EEEv17cudnnTensorStruct": ("normalization", False),
    "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(float)": ("copy", False),
    "void foldedNhwcToNhwcKernel<float, float, float, true, (cudnnKernelDataType_t)0>(int, int)": ("copy", False),
    "void nhwcToFoldedNhwcKernel<float, float, float, true, (cudnnKernelDataType_t)2>(int, int)": ("copy", False),
    "void cudnn::ops::convertTensor_kernel<float, float, float, (cudnnKernelDataType_t)2>(float)": ("copy", False),
    "void cutlass::device_kernel<flash::FlashAttnBwdPreprocess<cute::tuple<cute::C<64>, cute::C<128> >, cutlass::bfloat16_t, float, cutlass::arch::Sm90, true, true> >": ("attention", False),
    "void cutlass::device_kernel<flash::FlashAttnBwdPostprocessConvertdQ<cute::tuple<cute::C<64>, cute::C<128> >, cutlass::bfloat16_t, float, cutlass::arch::Sm90, 256>>": ("attention", False),
    "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnBwdSm90<flash::CollectiveMainloopBwdSm90<2, 2, 2> > > >": ("attention", True),
    "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4>>": ("attention", True),
    "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel)": ("attention", True),
    "fmha_cutlassF_f32_aligned_64x64_rf_sm70(PyTorchMemEffAttention::AttentionKernel)": ("attention", False),
    "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext": ("attention", True),
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x128_4x1x1": ("attention", True),
    "void cusparse::csrmv_v3_kernel<false, int, int, double, double, double, double, void>(cusparse::KernelCoeffs<double>)": ("matrix", False),
    "void convert_CooToCsr_kernel<0>(int const*, int, int, int*)": ("indexing", False),
    "void tcnn::kernel_mlp_fused<64, 8, __half, (tcnn::Activation)0, false>(tcnn::Activation, __half const*)": ("matrix", True),
    "void tcnn::kernel_grid<__half, 3u, 4u, (tcnn::HashType)1>(unsigned int, unsigned int)": ("indexing", False),
    "void at::native::cross_kernel<float, OffsetCalculator<3, unsigned int, false>, int>(int, float*, float const*)": ("elementwise", False),
    "void flip_filter<float, float>(float*, float const*, int, int, int, int)": ("convolution", False),
    "void cudnn::engines_precompiled::scalePackedTensor_kernel<float, float>(long, float*, float)": ("convolution", False),
    "void nhwcAddPaddingKernel<__nv_bfloat16, __nv_bfloat16, float, true, (cudnnKernelDataType_t)0>(int)": ("convolution", False),
    "void cudnn::cnn::wgrad2d_grouped_direct_kernel<false, true, int, float, float, float, 3, 128, 7>(int)": ("convolution", False),
    "void cudnn::detail::dgrad2d_alg1_1<float, 0, 6, 6, 5, 4, 4, false, true>(int, int, int)": ("convolution", False),
    # torch's own
    "void at::native::apply::coalesceValuesKernel<double, double>(long*, long*, double*, double*, long)": ("indexing", False),
    "void at::native::(anonymous namespace)::krn_partial_segment_offset<long>(long*, long const*)": ("indexing", False),
    "at::native::amp_update_scale_cuda_kernel(float*, int*, float const*, double, double, int)": ("elementwise", False),
    NATIVE + "CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int)": ("elementwise", False),
    NATIVE + "FillFunctor<float>, at::detail::Array<char*, 1> >(int)": ("set", False),
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLy1EEEEviT0_T1_": ("set", False),
    "_Z23RNN_blockPersist_fp_GRUIfffLi128EEvPKT_PT0_S2_PS0_PKS3_S2_S5_iiiiii": ("matrix", None),
    "void RNN_blockPersist_bp_LSTM<__half, __half, float, 512, 1>(int)": ("matrix", None),
    "void persistRNN_addBias<float, float>(cudnnRNNMode_t, int, int, float*, float*)": ("elementwise", False),
    "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>": ("copy", False),
    "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 128, 1>": ("copy", False),
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>": ("reduction", False),
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)": ("normalization", False),
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>": ("reduction", False),
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::TensorListMetadata<4>, at::native::AdamFunctor<float>>": ("elementwise", False),
    "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_put_kernel_impl>>": ("indexing", False),
    "void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, int, int>::Policy800>": ("indexing", False),
    "void cub::DeviceReduceKernel<cub::DeviceReducePolicy<long, int>::Policy600>": ("reduction", False),
    "void fbgemm_gpu::permute_2D_data_kernel<false, int, int>(int, int, int)": ("indexing", False),
    "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::(anonymous namespace)::masked_fill_kernel<bool>(at::TensorIterator&, c10::Scalar const&)>>": ("elementwise", False),
    # CuTe DSL: "ScaledGemm" and "GroupedGemm" hold "dGemm", which is no product in float64
    "kernel_cutlass_kernel_mine_gmmSm100GroupedBlockScaledGemmKernel_object_at__TiledMMA_ThrLayoutVMNK21111000_PermutationMNK____MMAAtom_ThrID21__1": ("matrix", True),
    "kernel_cutlass_kernel_hopperHopperWgmmaSm90GemmKernel_object_at__TiledMMA_ThrLayoutVMNK11110000_": ("matrix", True),
    "void cutlass::Kernel<cutlass_80_simt_dgemm_64x64_8x4_nn_align1>": ("matrix", False),
    "my_GroupedGemmKernel": ("matrix", None),
    "kernel_cutlass_prepare_kernel_mine_gmmSm100GroupedBlockScaledGemmKernel_object_at__0": ("matrix", False),
    "void mslk::gemm::set_grouped_gemm_args_kernel<cute::tuple<int, int, int>>": ("matrix", False),
    # Triton: the name carries what was fused
    "triton_poi_fused__scaled_dot_product_flash_attention_cat_transpose_view_10": ("elementwise", False),
    "triton_red_fused_sum_12": ("reduction", False),
    "triton_per_fused_native_layer_norm_3": ("normalization", False),
    "triton_tem_fused_addmm_5": ("matrix", None),
    # AMD
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT320x224x64_MI16x16x1_SN_LDSB0": ("matrix", True),
    "Cijk_Ailk_Bljk_SB_MT128x64x8_SE_APM1_AF0EM1_AF1EM1_AMAS3_ASAE01": ("matrix", False),
    "_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3INS_": ("convolution", True),
    "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x256x32_wt32x32x8_ws1x2_wr2x2": ("convolution", True),
    "miopenSp3AsmConv_v30_3_1_gfx9_fp32_f3x2_stride1": ("convolution", False),
    "MIOpenBatchNormFwdTrainSpatial.kd": ("normalization", False),
    "void ck_tile::kentry<1, ck_tile::FmhaFwdKernel<ck_tile::BlockFmhaPipelineQRKSVSAsync>>": ("attention", True),
    "aiter::fmha_fwd_hd128_bf16_causal_rtne": ("attention", True),
    "attn_fwd": ("attention", True),
    "batched_transpose_32x32_half": ("copy", False),
    # communication
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": ("communication", False),
    "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)": ("communication", False),
    "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>": ("communication", False),
    "void dpsk::ep::internode::combine<false, 8, __nv_bfloat16, 8, 2, 16, 24>(int4*, float*)": ("communication", False),
    "void deep_ep::internode::notify_dispatch<false, 8>(int const*, long*, int)": ("communication", False),
    # experts, float8, attention and its cache outside of torch
    "void cuda::per_channel_cast_and_transpose<256, 128, true, true>(void const*, float const*)": ("elementwise", False),
    "void cuda::per_token_cast_to_fp8_with_channels<__nv_bfloat16, 128>(__nv_bfloat16 const*)": ("elementwise", False),
    "cuda::expand_to_fused_with_scales_impl(int4 const*, int4*, float const*, float*)": ("indexing", False),
    "_copy_tensor_kernel": ("copy", False),
    "sage_fwd": ("attention", None),
    "sage_quant_kernel": ("elementwise", False),
    "void qk_int_sv_f16_attn_kernel<128, 64, 32, 64, 128, (DataType)1>(signed char*)": ("attention", None),
    "void (anonymous namespace)::store_kvcache<2048l, 4, false, long>((anonymous namespace)::StoreKVCacheParams)": ("indexing", False),
    "void (anonymous namespace)::fused_qknorm_warp<128l, true, __nv_bfloat16>((anonymous namespace)::QKNormParams)": ("normalization", False),
    "void ck_tile::kentry<2, ck_tile::MoeSortingKernel<ck_tile::MoeSortingProblemEx<int, float, 2, true> > >()": ("indexing", False),
    "create_flashinfer_kv_indices_triton": ("indexing", False),
    "void at::native::(anonymous namespace)::indexing_backward_kernel_stride_1<float>(long const*)": ("indexing", False),
    "fused_moe_kernel": ("matrix", None),
    "_ZN5aiter47fmoe_stage1_bf16_pertokenFp8_g1u1_64x128_2tg_pf3E": ("matrix", None),
    "aiter::fmoe_fp8_blockscale_g1u1_novs_silu_1tg_32x256": ("matrix", None),
    "void marlin::Marlin<__nv_bfloat16, 256, 1, 8, 8, 4>(int4 const*)": ("matrix", None),
    "linear_relu_square_kernel": ("matrix", None),
    "void moe_fused_gate_kernel_dynamic<float>(void*)": ("indexing", False),
    "fused_softcapped_entropy_bwd_kernel": ("reduction", False),
    "_per_token_group_quant_8bit": ("elementwise", False),
    "void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16, (vllm::Fp8KVCacheDataType)0>": ("attention", True),
    "void at::native::(anonymous namespace)::grid_sampler_2d_kernel<float, int>(int)": ("elementwise", False),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_a_name_has_a_kind(name: str) -> None:
    kind = kinds.kind_of_kernel(name)
    assert kind is not None
    assert (kind, kinds.on_tensor_cores(name, kind)) == KNOWN[name]


def test_an_unknown_name_has_no_kind() -> None:
    assert kinds.kind_of_kernel("my_kernel(float*)") is None
    assert kinds.on_tensor_cores("my_kernel(float*)", "other") is None
    assert kinds.on_tensor_cores("my_kernel(float*)", "elementwise") is False


def test_the_patterns_are_well_formed() -> None:
    path = Path(kinds.__file__).parent / "kernel_kinds.json"
    listed = json.loads(path.read_text())
    for section in ("generated", "kernels", "operators"):
        assert {kind for kind, _ in listed[section]} <= set(kinds.KINDS)
    assert {verdict for verdict, _ in listed["tensor_core"]} == {True, False}
    for section, rules in listed.items():
        patterns = [pattern for _, texts in rules for pattern in texts]
        assert len(patterns) == len(set(patterns)), section
        assert all(p == p.lower() and p.strip("^* ") for p in patterns), section


def analysis_of(folder: Path, picture: str, names: Mapping[str, str]) -> Analysis:
    return load(grid.write(folder / "t.json", grid.events(picture, names)))


def kinds_of(analysis: Analysis) -> list[str]:
    return [kinds.KINDS[kind] for kind in analysis.kinds.kind.tolist()]


def test_the_operator_decides_where_the_name_is_unknown(tmp_path: Path) -> None:
    """Innermost first; a name with a known kind is believed."""
    made = analysis_of(
        tmp_path,
        """
        main ops    [conv                                     ] [mine                 ]
        main ops     [aten::add      ]  [cudnn                ]
        main calls    [launch corr=1]    [go corr=2] [go corr=3] [go corr=4] [go corr=6]
        gpu  kernel                     [k1 corr=1] [k1 corr=2] [volta corr=3] [k1 corr=4] [k1 corr=5]
        """,
        {
            "conv": "aten::convolution",
            "cudnn": "mylib::helper",
            "launch": "cudaLaunchKernel",
            "go": "cudaLaunchKernel",
            "volta": "volta_sgemm_64x64_nt",
        },
    )
    assert kinds_of(made) == ["elementwise", "convolution", "matrix", "other", "other"]
    assert made.kinds.tensor_core.tolist() == [0, -1, 0, -1, -1]


@pytest.mark.parametrize(
    ("operator", "kind"),
    [("cross", "elementwise"), ("vector_norm", "reduction"), ("matmul", "matrix")],
)
def test_not_all_linear_algebra_is_a_product(tmp_path: Path, operator: str, kind: str) -> None:
    picture = """
        main ops    [wrapped                ]
        main calls      [launch corr=1]
        gpu  kernel                     [k1 corr=1]
        """
    names = {"launch": "cudaLaunchKernel", "wrapped": f"aten::linalg_{operator}"}
    assert kinds_of(analysis_of(tmp_path, picture, names)) == [kind]


def test_a_sparse_product_sorts_its_indices_before_it_multiplies(tmp_path: Path) -> None:
    """What `_coalesce` launches has names of thrust, and is not the product around it."""
    picture = """
        main ops    [aten::addmm                                     ]
        main ops     [aten::_coalesce     ]
        main calls    [cudaLaunchKernel corr=1] [cudaLaunchKernel corr=2]
        gpu  kernel            [thrust corr=1]             [product corr=2]
        """
    agent = "void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::For>"
    made = analysis_of(tmp_path, picture, {"thrust": agent, "product": "mine"})
    assert kinds_of(made) == ["indexing", "matrix"]


def test_the_call_of_a_generated_kernel_names_what_the_kernel_does_not(tmp_path: Path) -> None:
    """Inductor up to torch 2.2 names a kernel by its arguments alone."""
    picture = """
        main ops    [point        ] [norm         ] [layer_norm   ]
        main calls   [launch corr=1] [launch corr=2] [launch corr=3]
        gpu  kernel                     [k corr=1] [k corr=2] [k corr=3]
    """
    names = {
        "launch": "cuLaunchKernel",
        "k": "triton__0d1d2de",
        "point": "triton_poi_fused_native_layer_norm_backward_3",
        "norm": "triton_red_fused_native_layer_norm_1",
        "layer_norm": "triton_per_fused_sum_view_2",
    }
    assert kinds_of(analysis_of(tmp_path, picture, names)) == [
        *("elementwise", "normalization", "reduction")
    ]


def test_a_name_says_tensor_cores_even_where_the_operator_says_the_kind(tmp_path: Path) -> None:
    picture = """
        main ops    [aten::convolution]
        main calls    [launch corr=1]
        gpu  kernel                     [k corr=1]
    """
    names = {"launch": "cudaLaunchKernel", "k": "void lib::Kernel<lib_tensorop_bf16_thing>(int)"}
    made = analysis_of(tmp_path, picture, names)
    assert kinds_of(made) == ["convolution"]
    assert made.kinds.tensor_core.tolist() == [1]


def test_copies_and_sets_are_separate_and_a_collectives_copy_is_communication(
    tmp_path: Path,
) -> None:
    made = analysis_of(
        tmp_path,
        """
        main ops    [aten::copy_  ]  [c10d::allreduce_           ]
        main ops                       [aten::copy_             ]
        main calls   [copy corr=1]      [copy corr=2] [set corr=3]
        gpu  copy                    [HtoD corr=1]      [DtoD corr=2]
        gpu  kernel                                                    [fill corr=3]
        """,
        {"copy": "cudaMemcpyAsync", "set": "cudaLaunchKernel", "fill": NATIVE + "FillFunctor<int>"},
    )
    assert kinds_of(made) == ["copy", "communication", "set"]


def test_the_clone_that_a_functional_collective_makes_of_its_input_is_a_copy(
    tmp_path: Path,
) -> None:
    made = analysis_of(
        tmp_path,
        """
        main ops    [_c10d_functional::all_reduce             ]
        main ops     [aten::clone            ] [c10d::allreduce_]
        main ops      [aten::copy_           ]
        main calls     [copy corr=1]             [launch corr=2]
        gpu  copy                  [DtoD corr=1]
        gpu  kernel                                         [ncclDevKernel corr=2]
        """,
        {"copy": "cudaMemcpyAsync", "launch": "cudaLaunchKernel"},
    )
    assert kinds_of(made) == ["copy", "communication"]


def test_deep_ep_is_communication() -> None:
    """By hand: 113.44 ms in kernels of `dpsk::ep`, one at a time, of which 109.25 overlap others."""
    made = load(shared_trace("deepseek_h800"))
    use = find_use(made, np.ones(len(made.device_events), bool))
    assert use.communication == 113_440_000
    assert use.overlapped == 109_250_000
