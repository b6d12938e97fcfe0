"""Convolutions convert the memory layout of their tensors back and forth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_OF_CUDNN = r"nchwToNhwc|nhwcToNchw|cudnn::ops::.*[Tt]ranspose"
_OF_MIOPEN = r"^batched_transpose_\d+x\d+"
_CONVOLUTION = r"convolution|^aten::conv\d"
_SHARE = 0.02


def _find(context: Context) -> Iterator[Occurrence]:
    found = context.device_events.matching(_OF_CUDNN) | context.device_events.matching(_OF_MIOPEN)
    found &= context.device_events.counted
    if found.any() and context.analysis.launches_known:
        found &= context.device_events.launched_by(context.rows.inside_matching(_CONVOLUTION))
    share, time = context.device_events.share(found), context.device_events.us_per_step(found)
    if share > _SHARE:
        yield Occurrence(
            place="convolutions",
            everywhere=True,
            evidence=f"{format_count(found.sum() / len(context.steps), 'kernel')}{context.each} "
            f"that turn NCHW into NHWC or back, {format_us(time)} ({share:.0%} of the busy time)",
            count=int(np.count_nonzero(found)),
            wasted=np.flatnonzero(found),
            examples=context.device_events.starts(found),
        )


RULE = Rule(
    id="conv-layout-transpose",
    family="kernels",
    title="Convolutions transpose between NCHW and channels-last",
    description="Kernels of cuDNN or MIOpen that transpose NCHW and NHWC, launched by "
    "convolutions, in more than 2% of the busy time.",
    fix="Convert model and input to channels-last: .to(memory_format=torch.channels_last). Then "
    "check that no operator falls back. On ROCm before torch 2.9 also set "
    "PYTORCH_MIOPEN_SUGGEST_NHWC=1.",
    reference="PyTorch, Channels Last Memory Format",
    find=_find,
    advice=("cudnn-autotune",),
)
