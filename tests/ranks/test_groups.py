"""Dimensions of process groups by what programs call them."""

from __future__ import annotations

import pytest

from tb_hookview.ranks.matching import dimension_of


@pytest.mark.parametrize(
    ("description", "dimension"),
    [
        ("mesh_pp", "pipeline"),
        ("mesh_tp", "tensor"),
        ("mesh_dp_shard", "data"),
        ("TENSOR_MODEL_PARALLEL_GROUP", "tensor"),
        ("PIPELINE_MODEL_PARALLEL_GROUP", "pipeline"),
        ("cp", "context"),
        ("mesh_ep", "expert"),
        ("default_pg", None),
        ("http", None),
        ("", None),
    ],
)
def test_a_word_of_the_description_names_the_dimension(
    description: str, dimension: str | None
) -> None:
    assert dimension_of(description) == dimension
