"""Convolutions convert the memory layout of their tensors back and forth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_OF_CUDNN = r"nchwToNhwc|nhwcToNchw|cudnn::ops::.*[Tt]ranspose"
_OF_MIOPEN = r"^batched_transpose_\d+x\d+"
_CONVOLUTION = r"convolution|^aten::conv\d"
_SHARE = 0.02


def _match(context: Context) -> Iterator[Occurrence]:
    found = context.work_matching(_OF_CUDNN) | context.work_matching(_OF_MIOPEN)
    found &= context.work
    if found.any() and context.analysis.launches_known:
        found &= context.work_launched(context.inside_matching(_CONVOLUTION))
    share, time = context.device_share(found), context.device_us(found)
    if share > _SHARE:
        yield Occurrence(
            place="convolutions",
            everywhere=True,
            evidence=f"{np.count_nonzero(found) / len(context.steps):.0f} kernels a step that turn "
            f"NCHW into NHWC or back, {time:.1f} us ({share:.0%} of the busy time)",
            count=int(np.count_nonzero(found)),
            wasted=np.flatnonzero(found),
            examples=context.work_starts(found),
        )


RULE = Rule(
    id="conv-layout-transpose",
    family="kernels",
    title="Convolutions convert their tensors to channels-last and back",
    matches="Kernels of cuDNN or MIOpen that transpose NCHW and NHWC, launched by convolutions, in "
    "more than 2 % of the busy time.",
    fix="Bring model and input into channels-last: .to(memory_format=torch.channels_last). Then "
    "look that no operator falls back. On ROCm before torch 2.9 also set "
    "PYTORCH_MIOPEN_SUGGEST_NHWC=1.",
    reference="PyTorch, Channels Last Memory Format",
    match=_match,
    advice=("cudnn-autotune",),
)
