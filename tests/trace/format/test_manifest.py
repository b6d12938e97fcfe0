"""What the recorder's manifest decodes to, whatever a file holds in its place."""

from __future__ import annotations

from typing import Any

import pytest

from tb_hookview.trace.format.manifest import ListedModule, SharedParameter, read_manifest

MODULE = {
    "path": "fc",
    "class": "Linear",
    "file": "net%22.py",
    "line": 7,
    "parameters": 6,
    "bytes": 24,
    "trainable": True,
}
SHARED = {"path": "out", "parameter": "weight", "owner": "fc", "owner_parameter": "weight"}


def test_every_member_is_decoded() -> None:
    manifest = read_manifest(
        {
            "version": 1,
            "torch": "2.9",
            "rank": 1,
            "world_size": 2,
            "markers": ["forward"],
            "cost_us": {"forward": 2, "gradient": 0.5},
            "roots": ["fc"],
            "modules": [MODULE],
            "shared": [SHARED],
        }
    )
    assert manifest is not None
    assert (manifest.version, manifest.torch) == (1, "2.9")
    assert (manifest.rank, manifest.world_size) == (1, 2)
    assert (manifest.markers, manifest.roots) == (("forward",), ("fc",))
    assert manifest.cost_us == {"forward": 2.0, "gradient": 0.5}
    assert manifest.modules == (ListedModule("fc", "Linear", 'net".py', 7, 6, 24, True),)
    assert manifest.shared == (SharedParameter("out", "weight", "fc", "weight"),)
    assert manifest.content.keys() == {
        "version", "torch", "rank", "world_size", "markers", "cost_us", "roots"
    }  # fmt: skip


def nested(depth: int) -> list[Any]:
    """Lists in lists, deeper than any limit of recursion that a library may have set."""
    made: list[Any] = []
    for _ in range(depth):
        made = [made]
    return made


@pytest.mark.parametrize("raw", [None, "text", [], {}, {"a": nested(100_000)}])
def test_what_is_no_manifest(raw: Any) -> None:
    assert read_manifest(raw) is None


def test_values_of_an_unexpected_type_count_as_absent() -> None:
    odd = {
        "version": True,
        "torch": 2,
        "rank": "1",
        "markers": "forward",
        "cost_us": {"forward": -1, "gradient": "2", "backward": 1e9, "function": True},
        "roots": {"a": 1},
        "modules": [5, {"path": None}, {"path": "a", "class": 7, "file": 3, "line": "x"}],
        "shared": {"path": "a"},
    }
    manifest = read_manifest(odd)
    assert manifest is not None
    assert (manifest.version, manifest.torch, manifest.rank) == (None, None, None)
    assert (manifest.markers, manifest.roots, manifest.shared) == ((), (), ())
    assert manifest.cost_us == dict.fromkeys(("forward", "gradient", "backward", "function"))
    assert manifest.modules == (ListedModule("a"),)


@pytest.mark.parametrize(("parameters", "known"), [(-1, 0), ("6", 0), (6, 6)])
def test_a_number_of_parameters(parameters: Any, known: int) -> None:
    manifest = read_manifest({"modules": [{"path": "a", "parameters": parameters}]})
    assert manifest is not None
    assert manifest.modules[0].parameters == known
