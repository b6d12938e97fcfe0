"""A dry run: its JSON is served in the place of traces."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from tb_hookview.addresses.text import is_address
from tb_hookview.errors import NotFoundError, TraceError
from tb_hookview.schema.host import DryRunReport
from tb_hookview.server.served import Served

LARGEST = 256 << 20
"""Bytes of a file that is read."""
_HEAD = 4096
_KIND = re.compile(rb'\s*\{[^{}\[\]]*"kind"\s*:\s*"dry-run"')


def dry_run_file(path: str | Path | None) -> Path | None:
    """Return the path of a local file that is a dry run by its first bytes, else None."""
    if path is None or is_address(path) or not Path(path).is_file():
        return None
    try:
        with Path(path).open("rb") as file:
            return Path(path) if _KIND.match(file.read(_HEAD)) else None
    except OSError:
        return None  # the list of runs says why it cannot be read


def dry_run(served: Served) -> DryRunReport:
    """The dry run that is served.

    Raises:
        NotFoundError: traces are.
        TraceError: it cannot be read.
    """
    if served.dry_run is None:
        raise NotFoundError("this server shows traces; serve the JSON file of the dry run itself")
    return _read(served.dry_run)


def _read(path: Path) -> DryRunReport:
    remedy = "write it again with hookview dry-run --json"
    try:
        if path.stat().st_size > LARGEST:
            raise TraceError(path, f"has more than {LARGEST >> 20} MiB", "run fewer --steps")
        return msgspec.json.decode(path.read_bytes(), type=DryRunReport)
    except OSError as error:
        raise TraceError(path, f"cannot be read ({error.strerror})", remedy) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise TraceError(path, f"is not a whole dry run ({error})", remedy) from error
