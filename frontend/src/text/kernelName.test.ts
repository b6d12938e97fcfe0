import { expect, test } from "vitest";

import { differences, shortKernelName } from "./kernelName";

test.each([
  ["volta_sgemm_128x64_tn", "sgemm 128x64 tn"],
  ["cudnn_ampere_scudnn_128x64_relu_xregs_large_nn_v1", "scudnn relu 128x64 nn"],
  [
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute",
    "gemm bf16 128x128 tn",
  ],
  [
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>(X::Params)",
    "gemm bf16 relu 64x64 tn",
  ],
  ["nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT", "nvjet 64x64 tnt"],
  [
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT320x224x64_MI16x16x1_SN",
    "gemm bf16 320x224x64 tn",
  ],
  ["igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x64x32_wt32x32x8", "igemm_fwd bf16 128x64x32"],
  ["ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "nccl AllReduce"],
  ["ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevComm*)", "nccl ReduceScatter"],
])("a library's %s is %s", (name, short) => {
  expect(shortKernelName(name)).toBe(short);
});

test.each([
  ["void pytorch_flash::flash_fwd_kernel<Traits<64, 128>, true>(Flash_fwd_params)", "flash_fwd"],
  [
    "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float, Epilogue>(float*, int)",
    "cunn_SoftMaxForward",
  ],
  [
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, at::detail::Array<char*, 3> >(int)",
    "elementwise add",
  ],
  [
    "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::BinaryFunctor<float, at::native::binary_internal::MulFunctor<float> > > >(int)",
    "elementwise mul",
  ],
  [
    "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float> > > >(float)",
    "reduce sum",
  ],
  [
    "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(int)",
    "fused_add_rms_norm",
  ],
  ["std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float>(Params)", "gemvx"],
  ["void cutlass::device_kernel<lib::fp8::GemmKernel>(lib::fp8::GemmKernel::Params)", "fp8::Gemm"],
  [
    "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2>, X> > >(flash::Params)",
    "flash_fwd",
  ],
  [
    "void cutlass::device_kernel<flash::FlashAttnBwdPreprocess<cute::tuple<cute::C<64> >, float> >(flash::Params)",
    "flash_bwd_preprocess",
  ],
  [
    "void cutlass::device_kernel<vllm::enable_sm90_or_later<lib::fp8::GemmKernel> >(Params)",
    "fp8::Gemm",
  ],
  ["_ZN5aiter24add_rmsnorm_quant_kernelIDF16bLi64EEEvPT0_", "add_rmsnorm_quant"],
])("a signature: %s is %s", (name, short) => {
  expect(shortKernelName(name)).toBe(short);
});

test.each([
  "",
  "aten::copy_",
  "attn_fwd",
  "dispatch(F)",
  "Memcpy HtoD (Pageable -> Device)",
  "autograd::engine::evaluate_function: AddBackward0",
  "<string>(1): <module>",
  "train.py(12): step",
  "nn.Module: Linear_0",
])("%j stays as it is", (name) => {
  expect(shortKernelName(name)).toBe(name);
});

test.each(["f[<x>(", "<".repeat(20_000), "void ((((", "_ZN99x", `${"_a".repeat(20_000)}<`])(
  "a broken name is bounded, and no error: %.12s",
  (name) => {
    expect(shortKernelName(name).length).toBeLessThanOrEqual(1000);
  },
);

test("kernels that are alike in short are distinguished by what differs", () => {
  const dispatch = (send: boolean) => `void ep::dispatch<false, 8, ${send}, 8>(int4*, float*)`;
  const names = [dispatch(true), dispatch(false), "void ep::combine<8>(int4*)", dispatch(true)];
  expect([...differences(names)]).toEqual([
    [dispatch(true), "true"],
    [dispatch(false), "false"],
  ]);
  const long = ["a", "b"].map((letter) => `void f_kernel<${letter.repeat(200)}>(int)`);
  expect(differences(long).get(long[0] ?? "")).toBe(`${"a".repeat(120)}…`);
  expect(differences(["one\ntwo", "one\nthree", ""]).size).toBe(0);
  const mangled = ["3AddI", "3MulI"].map((op) => `_ZN2at6kernelILi4ENS_${op}fEEEvT_`);
  expect([...differences(mangled).values()]).toEqual(["Add", "Mul"]);
});
