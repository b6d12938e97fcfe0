"""Finds the traces below an address by their names; opens none of them.

The names are the store's, and so anybody's: one that could lead out of the folder is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from itertools import islice
from typing import Any
from urllib.parse import unquote

from tb_hookview.addresses.store import Store, explained, store_of
from tb_hookview.addresses.text import child, is_address, last_part
from tb_hookview.errors import TraceError
from tb_hookview.trace.source.remote import RemoteFile, current_state, state_of
from tb_hookview.trace.source.runs import (
    ENDINGS,
    Folder,
    Listing,
    Status,
    is_trace_name,
    runs_in,
    single_run,
)

FOLDERS_LOOKED_AT = 50
"""Folders that `has_remote_trace` searches at most: each is a request."""

Facts = Mapping[str, Any]


def list_remote(address: str) -> Listing:
    """List the runs below an address, or the single trace file it is, as `list_runs`.

    Raises:
        TraceError: nothing there, or it cannot be listed.
    """
    store = store_of(address)
    with explained(address):
        facts: Facts = store.files.info(store.path)
        if facts.get("type") == "file" and not address.endswith("/"):
            status = _status_of(RemoteFile(address), facts)
            return Listing([single_run(last_part(address), status)])
        found: Mapping[str, Facts] = store.files.find(store.path, detail=True)
    inside, left_out = _inside(store, found)
    by_folder: dict[str, dict[str, Facts]] = defaultdict(dict)
    for relative, of_file in inside.items():
        folder, _, name = relative.rpartition("/")
        by_folder[folder or "."][name] = of_file
    folders = [
        Folder(name, sorted(names), partial(_status, address, name, names))
        for name, names in by_folder.items()
    ]
    return Listing(runs_in(folders), links_left_out=left_out)


def has_remote_trace(address: str) -> bool:
    """Return whether there is a file named as traces are, at the cost of some requests.

    Raises:
        TraceError: nothing there, or it cannot be listed.
    """
    store = store_of(address)
    with explained(address):
        folders = islice(store.files.walk(store.path), FOLDERS_LOOKED_AT)
        return any(is_trace_name(name) for _, _, names in folders for name in names)


def _inside(store: Store, found: Mapping[str, Facts]) -> tuple[dict[str, Facts], int]:
    """Files that may be traces by their path below the store's, and the number left out."""
    inside: dict[str, Facts] = {}
    left_out = 0
    base = store.path.rstrip("/") + "/"
    for path, facts in found.items():
        relative = path.removeprefix(base)
        if not relative.endswith(ENDINGS):
            continue
        if relative == path or not _is_plain(relative, facts):
            left_out += 1
        elif "/." not in f"/{relative}":  # hidden ones are no business of ours
            inside[relative] = facts
    return inside, left_out


def _is_plain(relative: str, facts: Facts) -> bool:
    """Whether a path stays below its folder, however a file system reads it."""
    if facts.get("type", "file") != "file" or facts.get("islink"):
        return False
    parts = unquote(relative).replace("\\", "/").split("/")
    odd = is_address(relative) or "::" in relative or "\0" in relative
    return not odd and not {"", ".", ".."} & set(parts)


def _status(address: str, folder: str, files: Mapping[str, Facts], name: str) -> Status | None:
    below = name if folder == "." else f"{folder}/{name}"
    return _status_of(RemoteFile(child(address, below)), files[name])


def _status_of(file: RemoteFile, facts: Facts) -> Status | None:
    try:
        # Of a web server's listing nothing but names is known.
        state = current_state(file.url) if facts.get("size") is None else state_of(file.url, facts)
    except (OSError, TraceError):  # gone since it was listed
        return None
    return Status(file, state.size, state.modified_ns / 1e9 if state.modified_ns else 0.0)
