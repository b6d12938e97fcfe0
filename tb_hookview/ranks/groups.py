"""Process groups whose descriptions name a dimension: pipeline, tensor, data, ...

PyTorch's device mesh describes a group as `mesh_tp`, Megatron as `TENSOR_MODEL_PARALLEL_GROUP`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from tb_hookview import schema
from tb_hookview.ranks.map.summary import RankSummary

DIMENSIONS = {
    **dict.fromkeys(("pp", "pipe", "pipeline", "stage"), "pipeline"),
    **dict.fromkeys(("tp", "tensor"), "tensor"),
    **dict.fromkeys(("dp", "ddp", "fsdp", "hsdp", "data", "replicate", "shard"), "data"),
    **dict.fromkeys(("cp", "sp", "context", "sequence"), "context"),
    **dict.fromkeys(("ep", "expert"), "expert"),
}
"""Dimensions by the words that name them."""
_WORD = re.compile(r"[a-z]+")


def dimension_of(description: str) -> str | None:
    """Return the dimension that the first known word of a description names; None for none."""
    words = _WORD.findall(description.lower())
    return next((DIMENSIONS[word] for word in words if word in DIMENSIONS), None)


def find_groups(ranks: Sequence[RankSummary], numbers: Sequence[int]) -> list[schema.RankGroup]:
    """Find the groups of several ranks that have collectives in the traces.

    Args:
        ranks: summaries.
        numbers: of the ranks.
    """
    members: dict[tuple[str, str], set[int]] = defaultdict(set)
    for number, rank in zip(numbers, ranks, strict=True):
        calls = rank.collectives
        for described in set(zip(calls.description, calls.group, strict=True)):
            members[described].add(number)
    found = [
        (name, dimension, sorted(of))
        for (name, _), of in members.items()
        if len(of) > 1 and (dimension := dimension_of(name))
    ]
    return [
        schema.RankGroup(id=place, name=name, dimension=dimension, ranks=of)
        for place, (name, dimension, of) in enumerate(sorted(found))
    ]
