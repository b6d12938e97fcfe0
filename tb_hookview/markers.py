"""Names of the marks that the recorder leaves in a trace, and how they are parsed.

Recorder and analyzer share only this file, so it imports nothing but the standard library. A mark
reads, in any trace viewer, as

    blocks.0.attn (Attention) forward ~hv1
    blocks.0.attn (Attention) before backward ~hv1
    blocks.0.attn (Attention) after backward ~hv1
    blocks.0.attn.qkv (Linear) gradient weight ~hv1
    torch.nn.utils.clip_grads_with_norm_ (function) call ~hv1

with "." in place of the path of a root that has no name of its own. The last kind is around a call
of torch's that updates parameters, and names that in place of a module.

The useful part comes first because viewers cut names off at the end. The tail distinguishes our
marks from other annotations and has the version of the format. torch writes an invalid file for a
name with a double quote, and replaces a name with a byte outside printable ASCII by "unknown". So
all other characters than known ones are percent-encoded (UTF-8), and decoding restores the name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import quote, unquote

VERSION = 1
"""Version of the mark format; an analyzer reads its own version and all earlier ones."""

MANIFEST_KEY = "hookview_manifest"
"""Key of the trace file's root object under which the recorder leaves its manifest."""

COMPILED_KEY = "hookview_compiled"
"""Key of the root object under which the recorder leaves the map of compiled graphs."""

COLLECTION = "gc.collect generation "
"""Begins the name of the range around a garbage collection."""

MarkKind = Literal["forward", "before backward", "after backward", "gradient", "call"]

FUNCTION = "function"
"""In the place of the class in a call mark."""

_SAFE = "._-<>[]:,+*/=@#$&!^~|{}"
_ROOT = "."
_KINDS = "|".join(get_args(MarkKind))
_PATTERN = re.compile(rf"(\S+) \((\S*)\) ({_KINDS})(?: (\S+))? ~hv([0-9]{{1,4}})")
_TAIL = re.compile(r" ~hv[0-9]{1,4}\Z")


class Mark(NamedTuple):
    """One decoded range name."""

    kind: MarkKind
    path: str
    """Qualified name of the module, "" for an unnamed root; of the function, for a call mark."""
    module_class: str
    """Name of the module's class; FUNCTION for a call mark."""
    parameter: str | None
    """Name of the parameter within the module; gradient marks only."""
    version: int


def encode(kind: MarkKind, path: str, module_class: str, parameter: str | None = None) -> str:
    """Return the range name of a mark: printable ASCII, no double quote, no backslash."""
    subject = f"{_escape(path) or _ROOT} ({_escape(module_class)}) {kind}"
    if parameter is not None:
        subject += f" {_escape(parameter)}"
    return f"{subject} ~hv{VERSION}"


def decode(name: str) -> Mark | None:
    """Return the mark a range name stands for, or None for a name that is not ours.

    A mark of a later version than VERSION is returned if it has this version's shape; the caller
    checks its `version`.
    """
    match = _PATTERN.fullmatch(name)
    if match is None:
        return None
    path, module_class, kind, parameter, version = match.groups()
    return Mark(
        kind=kind,  # type: ignore[arg-type]  # the pattern admits no other text
        path="" if path == _ROOT else unquote(path),
        module_class=unquote(module_class),
        parameter=None if parameter is None else unquote(parameter),
        version=int(version),
    )


def has_our_tail(name: str) -> bool:
    """Whether a name ends as marks of every version do, whatever kind it is."""
    return _TAIL.search(name) is not None


def encode_manifest(content: dict[str, Any]) -> str:
    """Return a manifest as JSON text that torch writes into the file unchanged.

    torch damages quotes and backslashes inside values, so strings are percent-encoded. Keys are
    ours and need no encoding.
    """
    return json.dumps(_each_string(content, _escape_value), separators=(",", ":"))


def decode_manifest(content: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest as it was before `encode_manifest`, given the file's."""
    decoded: dict[str, Any] = _each_string(content, unquote)
    return decoded


def _each_string(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _each_string(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_each_string(item, change) for item in value]
    return value


def _escape_value(text: str) -> str:
    return quote(text, safe=_SAFE + " '();?`")


def _escape(text: str) -> str:
    # No path is ".", the root's sign, because torch forbids dots in a submodule's name. A root's
    # own name is free text, so one that equals the sign is encoded.
    return "%2E" if text == _ROOT else quote(text, safe=_SAFE)
