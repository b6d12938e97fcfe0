"""Compares what `hookview export` wrote: tables by column, Perfetto traces by track."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .differences import Differences, Kind, Spot
from .perfetto_file import read_tracks
from .walk import Walk

Columns = dict[str, list[Any]]
_JSON = tuple("[{-0123456789")
_ONLY = ""
"""The name of a table that is the only file of an export."""


def compare_exports(differences: Differences, where: str, trace: str, old: Path, new: Path) -> None:
    """Compare two exports; an export that failed on both sides wrote nothing."""
    if not (old.exists() and new.exists()):
        if old.exists() != new.exists():
            spot = Spot(where, ".", Kind.UNMATCHED)
            differences.note(spot, trace, "was written", old.exists(), new.exists())
    elif old.suffix == ".pftrace":
        _compare_perfetto(differences, where, trace, old, new)
    else:
        _compare_tables(differences, where, trace, old, new)


def _compare_perfetto(
    differences: Differences, where: str, trace: str, old: Path, new: Path
) -> None:
    if _same_bytes(old, new):
        return
    walk = Walk(differences, where, trace)
    tracks = read_tracks(old), read_tracks(new)
    lost = [name for name in tracks[0] if name not in tracks[1]]
    gained = [name for name in tracks[1] if name not in tracks[0]]
    # Tracks whose name has new words are matched by their order.
    renamed = dict(zip(lost, gained, strict=True)) if len(lost) == len(gained) else {}
    for name, content in tracks[0].items():
        other = renamed.get(name, name)
        if other in tracks[1]:
            walk.at("track", name, other)
            walk.at(name, content, tracks[1][other])
    if not renamed:
        for kind, names in ((Kind.REMOVED, lost), (Kind.ENTRY, gained)):
            if names:
                differences.note(Spot(where, "tracks", kind), trace, "tracks", lost, gained)


def _compare_tables(differences: Differences, where: str, trace: str, old: Path, new: Path) -> None:
    files = _files(old), _files(new)
    if set(files[1]) == {_ONLY} and _ONLY not in files[0]:
        files = files[0], {_closest(files[0], new): new}
    for name in sorted(files[0].keys() | files[1].keys()):
        one, two = files[0].get(name), files[1].get(name)
        place = f"{where}: {name}"
        if one is None or two is None:
            kind = Kind.REMOVED if two is None else Kind.ADDED
            differences.note(Spot(place, ".", kind), trace, "table", bool(one), bool(two))
        elif not _same_bytes(one, two):
            walk = Walk(differences, place, trace)
            if name.endswith(".json"):
                walk.compare(json.loads(one.read_bytes()), json.loads(two.read_bytes()))
            else:
                _compare_columns(walk, _columns(one), _columns(two))


def _compare_columns(walk: Walk, old: Columns, new: Columns) -> None:
    for name in dict.fromkeys([*old, *new]):
        with walk.inside(*name.split(".")):
            if name not in new:
                walk.note(Kind.REMOVED, "column", None)
            elif name not in old:
                walk.note(Kind.ADDED, None, "column")
            elif old[name] != new[name]:
                walk.compare(*(list(map(_cell, side[name])) for side in (old, new)))


def _files(path: Path) -> dict[str, Path]:
    """Files of an export by table; a table may be a folder of parts."""
    if path.is_file():
        return {_ONLY: path}
    files = sorted(path.iterdir())
    return {f.name if f.suffix == ".json" else f.name.split(".")[0]: f for f in files}


def _closest(files: dict[str, Path], path: Path) -> str:
    """The table that has most columns in common with a file."""
    columns = _columns(path).keys()
    tables = {name: file for name, file in files.items() if file.suffix != ".json"}
    return max(tables, key=lambda name: len(_columns(tables[name]).keys() & columns))


def _columns(path: Path) -> Columns:
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        columns = map(list, zip(*rows, strict=True)) if rows else ([] for _ in head)
        return dict(zip(head, columns, strict=True))
    return _flat(pq.read_table(path))


def _cell(text: Any) -> Any:
    """A cell: its JSON where it is a text that can be read as such."""
    if isinstance(text, str) and text.startswith(_JSON):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _flat(table: pa.Table) -> Columns:
    """Columns with structs and maps taken apart, so that both layouts of them are the same."""
    while any(pa.types.is_struct(column.type) for column in table.schema):
        table = table.flatten()
    columns: Columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = column.to_pylist()
        if pa.types.is_map(column.type):
            maps = [dict(value or ()) for value in values]
            for key in dict.fromkeys(key for row in maps for key in row):
                columns[f"{name}.{key}"] = [row.get(key) for row in maps]
        else:
            columns[name] = values
    return columns


def _same_bytes(one: Path, two: Path) -> bool:
    if one.is_dir() or two.is_dir():
        return False
    return one.stat().st_size == two.stat().st_size and one.read_bytes() == two.read_bytes()
