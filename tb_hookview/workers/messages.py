"""Messages through a pipe: pickled values, their arrays apart to save a copy."""

from __future__ import annotations

import pickle
import struct
from typing import Any, BinaryIO

_MAGIC = b"\0hookview\n"
"""Before each message: what anything else writes to the same pipe is not one."""
_NUMBER = struct.Struct("<Q")


def write(stream: BinaryIO, value: Any) -> None:
    """Write a value.

    Raises:
        OSError: nobody reads any more.
    """
    arrays: list[pickle.PickleBuffer] = []
    body = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
    parts = [memoryview(body), *(array.raw() for array in arrays)]
    sizes = (_NUMBER.pack(number) for number in (len(parts), *(part.nbytes for part in parts)))
    stream.write(_MAGIC + b"".join(sizes))
    for part in parts:
        stream.write(part)
    stream.flush()


def read(stream: BinaryIO) -> Any:
    """Read a value that a process of ours wrote.

    Raises:
        EOFError: the pipe ended, or holds something else.
    """
    if stream.read(len(_MAGIC)) != _MAGIC:
        raise EOFError
    (count,) = _NUMBER.unpack(_exactly(stream, _NUMBER.size))
    sizes = [_NUMBER.unpack(_exactly(stream, _NUMBER.size))[0] for _ in range(count)]
    body, *arrays = [_exactly(stream, size) for size in sizes]
    return pickle.loads(body, buffers=arrays)


def _exactly(stream: BinaryIO, size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content
