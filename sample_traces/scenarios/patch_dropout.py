"""A gather whose deterministic backward waits for the GPU or sorts, against an index.

Up to torch 2.8 the backward of gather copies strides from the host. From 2.9 on it is an index_put
by as many indices as the gather chose elements, which are sorted; the index has one for each row.
"""

from __future__ import annotations

import torch
from torch import nn

from sample_traces import libraries, models
from sample_traces.scenario import Expected, Scenario, Setting, Training, Variant


class IndexedPatchDropout(nn.Module):
    """timm's PatchDropout by indexing flattened tokens where timm gathers.

    Tokens are (batch, 1 + patches, width); the first, the class token, stays. Draws the same
    random numbers as timm's and keeps the same patches.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return (batch, 1 + chosen patches, width)."""
        if not self.training:
            return tokens
        first, patches = tokens[:, :1], tokens[:, 1:]
        batch, length, width = patches.shape
        count = max(1, int(length * (1.0 - self.rate)))
        order = torch.argsort(torch.randn(batch, length, device=tokens.device), dim=-1)
        rows = torch.arange(batch, device=tokens.device)[:, None] * length + order[:, :count]
        chosen = patches.reshape(batch * length, width)[rows.flatten()]
        return torch.cat((first, chosen.view(batch, count, width)), dim=1)


def _build(setting: Setting, *, indexed: bool) -> Training:
    transformer = libraries.load("timm.models.vision_transformer").VisionTransformer
    sizes = setting.pick({}, {"img_size": 64, "embed_dim": 48, "depth": 2, "num_heads": 4})
    model = transformer(num_classes=16, patch_drop_rate=0.5, **sizes)
    if indexed:
        model.patch_drop = IndexedPatchDropout(0.5)
    model.to(setting.device).train()
    batch = models.images(setting, setting.pick(128, 4), setting.pick(224, 64), 16)
    # The rate is low enough that variants can be compared over several steps.
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=setting.cuda)
    step = models.training_step(model, optimizer, lambda: batch, autocast=models.bf16(setting))
    return Training(step, model)


PATCH_DROPOUT = Scenario(
    "patch_dropout",
    "timm's vision transformer with patch dropout, deterministic: gather against an index",
    (
        Variant(
            "before",
            lambda setting: _build(setting, indexed=False),
            (Expected(("sync-gather-backward-deterministic", "index-put-sort-kernels")),),
            conditions=models.deterministic,
        ),
        Variant(
            "after", lambda setting: _build(setting, indexed=True), conditions=models.deterministic
        ),
    ),
    needs=("timm",),
    on_cpu="The backward of `patch_drop` is `GatherBackward0` before and `IndexBackward0` after. "
    "What the first costs shows on a GPU: a wait up to torch 2.8, kernels that sort from 2.9 on.",
    seconds=60,
    # Read by cuBLAS when it is first used; without it the deterministic mode is refused.
    environment={"CUBLAS_WORKSPACE_CONFIG": ":4096:8"},
    tolerance=2e-2,  # bf16, and the backward adds up in another order
)
