"""Recognizes Perfetto's own format, which torch 2.15 writes as well and `hookview export` does."""

from __future__ import annotations

from tb_hookview.errors import TraceError

SUFFIX = ".pftrace"

_PACKET = 0x0A
"""Tag of a packet: field 1 of the message `Trace`, of variable length."""
_CHECKED = 4
"""Packets that are checked at most."""
_WIRE_TYPES = frozenset({0, 1, 2, 5})


def perfetto_error(path: str) -> TraceError:
    """The answer to a file of this format."""
    return TraceError(
        path,
        f"a Perfetto trace (*{SUFFIX}), which is for viewers and cannot be analyzed",
        "export the recording to a name that ends in .json.gz and name that, "
        "or open this file at ui.perfetto.dev",
    )


def is_perfetto(begin: bytes) -> bool:
    """Whether a file that begins like this is a sequence of packets.

    Args:
        begin: the file, inflated, or at least its first packets.
    """
    place, packets = 0, 0
    while packets < _CHECKED and place < len(begin):
        if begin[place] != _PACKET:
            return False
        length, place = _varint(begin, place + 1)
        if not length or not _is_field(begin[place : place + 1]):
            return False
        place, packets = place + length, packets + 1
    # That something is there for the length of one packet does not make it one.
    return packets > 1 or (packets == 1 and place == len(begin))


def _is_field(tag: bytes) -> bool:
    return bool(tag) and tag[0] & 7 in _WIRE_TYPES and tag[0] >> 3 > 0


def _varint(text: bytes, place: int) -> tuple[int, int]:
    """A number of protobuf, and the place after it; 0 where it does not end."""
    for size, byte in enumerate(text[place : place + 5]):
        if not byte & 0x80:
            digits = reversed(text[place : place + size + 1])
            number = 0
            for digit in digits:
                number = number << 7 | digit & 0x7F
            return number, place + size + 1
    return 0, place
