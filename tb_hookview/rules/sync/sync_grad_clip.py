"""Gradient clipping that reads the norm, in the caller or a check for finiteness."""

from __future__ import annotations

import numpy as np

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Rule

_NORMS = ("aten::_foreach_norm", "aten::linalg_vector_norm", "aten::norm", "aten::linalg_norm")
_FINITE = ("aten::isnan", "aten::isinf", "aten::isfinite", "aten::logical_or", "aten::logical_not")
_READS = ("aten::item", "aten::is_nonzero", "aten::_local_scalar_dense")
_HANDED_OVER = (
    *("aten::detach", "aten::to", "aten::lift_fresh", "aten::clone", "aten::mean"),
    *("aten::mul_", "aten::_foreach_mul_"),
)
_COEFFICIENT = ("aten::add", "aten::reciprocal", "aten::mul", "aten::div", "aten::to")


def _explains(context: Context) -> Bool:
    """Reads after norm and check, or after norm, clamped coefficient and scaled gradients."""
    syncs = context.syncs
    read = syncs.outermost("|".join(_READS))
    tested = syncs.before(read, *_READS)
    check = syncs.named(tested, *_FINITE) & syncs.named(
        syncs.before(read, *_READS, *_FINITE, "aten::abs", "aten::eq", "aten::ne", "aten::mul"),
        *_NORMS,
    )
    clamp = syncs.before(read, *_READS, *_HANDED_OVER)
    clamped = syncs.named(clamp, "aten::clamp", "aten::clamp_")
    norm = syncs.before(np.where(clamped, clamp, -1), *_COEFFICIENT)
    return np.asarray(
        (syncs.inside("aten::is_nonzero") & check) | (clamped & syncs.named(norm, *_NORMS))
    )


RULE = Rule(
    id="sync-grad-clip",
    family="sync",
    title="Gradient clipping syncs to read the norm",
    description="aten::is_nonzero after a norm and aten::isnan, isinf, logical_or "
    "(error_if_nonfinite=True), or aten::item after a norm, aten::clamp and the scaling of "
    "gradients (the caller reads the norm).",
    fix="Leave error_if_nonfinite=False, and leave the norm that clip_grad_norm_ returns on the "
    "device: log it every k steps. Pass foreach=True (the default on CUDA), and clip once after "
    "all accumulation steps.",
    reference="PyTorch PR 61042: clip_grad_norm_ without device syncs",
    explains=_explains,
)
