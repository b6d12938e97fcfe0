"""Damage within the texts and words of JSON, mended so that a strict decoder takes it.

raw control character     "a<TAB>b"           "a\\tb"
backslash unescaped       "C:\\lib\\x"         "C:\\\\lib\\\\x"
half a surrogate pair     "\\ud800"            U+FFFD
bytes that are no UTF-8   "<FF>"              U+FFFD
word that is no JSON      NaN, N/A            null
quote unescaped           "say "hi""          "say \\"hi\\""
"""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol


class Mend(NamedTuple):
    """One kind of repair in a text."""

    code: str
    """Key of `damage.MESSAGES`."""
    times: int
    byte: int
    """Offset of the first."""


class _Note(Protocol):
    """What counts a repair."""

    def __call__(self, code: str, byte: int, times: int = 1) -> None: ...


_SOUND = rb'[^"NIin]*(?:n(?=ull)[^"NIin]*)*'
"""What stands between texts: marks, numbers, true, false and null."""
_STRETCH = re.compile(
    rb'((?:%b"[^"\\\x00-\x1f]*")*%b)' % (_SOUND, _SOUND)
    + rb'("[^"\\]*(?:\\.[^"\\]*)*"|(?:[Nn]a[Nn]|[Ii]nf(?:inity)?|N/A|n/a|None)(?![\w.]))?',
    re.DOTALL,
)
"""What is sound, as far as it goes, and then a text or a word that may be none."""
_SUSPECT = re.compile(rb"[\\\x00-\x1f]")
_CONTROL = re.compile(rb"[\x00-\x1f]")
_ESCAPE = re.compile(
    rb'\\(?:["\\/bfnrt]|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}'
    rb"|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})"
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|(\\)",
    re.DOTALL,
)
"""Sound escapes; group 1 is half a surrogate pair, group 2 escapes nothing."""
_BACKSLASH = re.compile(rb'\\["\\/]|\\')
_OPENING_QUOTE = re.compile(rb'"')
_CLOSING_QUOTE = re.compile(rb'(?<!\\)((?:\\\\)*)"(?=\s*(?:[:}\]]|,\s*["{\[\-\dtfn]|\Z))')
_REPLACEMENT = b"\\ufffd"


def mended(text: bytes) -> tuple[bytes, list[Mend]]:
    """Mend the texts and words of some JSON; what is sound stays as it is.

    A text in which one backslash escapes nothing was written by somebody who escapes none: all of
    its backslashes are taken as they are, but for those before a quote, a slash or another.
    """
    found: dict[str, tuple[int, int]] = {}

    def note(code: str, byte: int, times: int = 1) -> None:
        before, first = found.get(code, (0, byte))
        found[code] = before + times, first

    def stretch(match: re.Match[bytes]) -> bytes:
        sound, token = match.groups(b"")
        if token[:1] == b'"':
            return sound + (_text(token, match.start(2), note) if _SUSPECT.search(token) else token)
        if token:
            note("bare-words", match.start(2))
            return sound.rstrip(b"+-") + b"null"
        return sound

    result = _STRETCH.sub(stretch, text)
    try:
        result.decode()
    except UnicodeDecodeError:
        known = result.count(b"\xef\xbf\xbd")
        result = result.decode("utf-8", "replace").encode()
        note("bad-characters", _first_bad(text), result.count(b"\xef\xbf\xbd") - known)
    return result, [Mend(code, times, first) for code, (times, first) in found.items()]


def _first_bad(text: bytes) -> int:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return error.start
    return 0


def _text(token: bytes, byte: int, note: _Note) -> bytes:
    kinds = {match.lastindex for match in _ESCAPE.finditer(token)}
    if 2 in kinds:
        note("backslashes", byte)
        token = _BACKSLASH.sub(_doubled, token)
    elif 1 in kinds:
        note("bad-characters", byte)
        token = _ESCAPE.sub(lambda match: _REPLACEMENT if match[1] else match[0], token)
    if _CONTROL.search(token):
        token, times = _CONTROL.subn(lambda match: b"\\u%04x" % match[0][0], token)
        note("control-characters", byte, times)
    return token


def _doubled(match: re.Match[bytes]) -> bytes:
    return match[0] if len(match[0]) > 1 else b"\\\\"


def requoted(text: bytes) -> bytes:
    """Escape quotes inside texts, taking for a closing quote one before `,`, `:`, `}` or `]`."""
    parts: list[bytes] = []
    at = 0
    while opening := _OPENING_QUOTE.search(text, at):
        closing = _CLOSING_QUOTE.search(text, opening.end())
        if closing is None:
            break
        inside = text[opening.end() : closing.end() - 1]
        parts += [text[at : opening.end()], re.sub(rb'(?<!\\)"', rb'\\"', inside), b'"']
        at = closing.end()
    return b"".join([*parts, text[at:]])
