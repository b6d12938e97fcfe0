from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_hookview import markers
from tb_hookview.markers import Mark

anything = st.text(st.characters(exclude_categories=["Cs"]))
paths = anything.filter(lambda text: text == "" or text.strip("."))
kinds = st.sampled_from(["forward", "before backward", "after backward", "call"])


@given(kinds, paths, anything)
def test_the_true_names_come_back(kind: markers.MarkKind, path: str, name: str) -> None:
    written = markers.encode(kind, path, name)
    assert markers.decode(written) == Mark(kind, path, name, None, markers.VERSION)


@given(paths, anything, anything.filter(bool))
def test_the_owner_of_a_gradient_comes_back(path: str, name: str, parameter: str) -> None:
    written = markers.encode("gradient", path, name, parameter)
    assert markers.decode(written) == Mark("gradient", path, name, parameter, markers.VERSION)


@given(kinds, anything, anything)
def test_torch_can_write_every_mark(kind: markers.MarkKind, path: str, name: str) -> None:
    """It writes an invalid file for a double quote and loses names with other than ASCII."""
    written = markers.encode(kind, path, name)
    assert written.isascii()
    assert written.isprintable()
    assert not set('"\\') & set(written)


def test_a_mark_reads_well() -> None:
    assert (
        markers.encode("forward", "blocks.0.attn", "Attention")
        == "blocks.0.attn (Attention) forward ~hv1"
    )
    assert markers.encode("before backward", "", "Net") == ". (Net) before backward ~hv1"
    assert (
        markers.encode("call", "torch.amp.GradScaler.step", markers.FUNCTION)
        == "torch.amp.GradScaler.step (function) call ~hv1"
    )


@pytest.mark.parametrize(
    "name", ["aten::mm", "ProfilerStep#1", "a (B) forward", "a (B) sideways ~hv1", "", "~hv1"]
)
def test_names_of_others_are_not_ours(name: str) -> None:
    assert markers.decode(name) is None


def test_a_mark_of_a_later_version_tells_its_version() -> None:
    mark = markers.decode("fc (Linear) forward ~hv7")
    assert mark is not None
    assert mark.version == 7


@given(st.dictionaries(st.just("path"), st.lists(anything | st.integers() | st.none())))
def test_a_manifest_comes_back(content: dict[str, object]) -> None:
    text = markers.encode_manifest(content)
    assert text.isascii()
    assert "\\" not in text
    assert markers.decode_manifest(json.loads(text)) == content
