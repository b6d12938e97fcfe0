"""Direct calls in the machine code of a shared library (ELF, x86-64)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = np.dtype(
    [
        *(("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2")),
        *(("value", "<u8"), ("size", "<u8")),
    ]
)
_RELOCATION = np.dtype([("offset", "<u8"), ("info", "<u8"), ("addend", "<i8")])
_FUNCTION = 2
_CALL, _JUMP = 0xE8, 0xE9
_ENTRY = 16
"""Bytes of an entry of the procedure linkage table."""


class Call(NamedTuple):
    """A call, by mangled names."""

    caller: str
    callee: str


class _Section(NamedTuple):
    address: int
    offset: int
    size: int


class Library:
    """A shared library that has its symbol table."""

    def __init__(self, path: Path) -> None:
        self._bytes: Any = np.memmap(path, dtype=np.uint8, mode="r")
        self._sections = self._read_sections()
        if ".symtab" not in self._sections:
            raise ValueError(f"{path.name} has no symbol table")
        self._functions = self._symbols(".symtab", ".strtab")

    def calls(self, wanted: Callable[[str], bool]) -> Iterator[Call]:
        """Yield the direct calls of functions whose names are wanted."""
        targets = {**self._imported(wanted), **self._own(wanted)}
        sites, called = self._jumps()
        known = np.isin(called, np.fromiter(targets, np.int64, len(targets)))
        starts = self._functions[0]["value"].astype(np.int64)
        for site, target in zip(sites[known], called[known], strict=True):
            at = int(np.searchsorted(starts, site, side="right")) - 1
            yield Call(self._name(at), targets[int(target)])

    def has(self, part: str) -> bool:
        """Whether the name of a function has a part."""
        return part.encode() in self._functions[1]

    def _read_sections(self) -> dict[str, _Section]:
        (table,) = struct.unpack("<Q", self._at(0x28, 8))
        size, count, names_at = struct.unpack("<HHH", self._at(0x3A, 6))
        raw = [_SECTION.unpack(self._at(table + size * n, _SECTION.size)) for n in range(count)]
        names = self._at(raw[names_at][4], raw[names_at][5])
        return {_text(names, each[0]): _Section(each[3], each[4], each[5]) for each in raw}

    def _at(self, offset: int, size: int) -> bytes:
        return bytes(self._bytes[offset : offset + size])

    def _content(self, section: str) -> bytes:
        found = self._sections[section]
        return self._at(found.offset, found.size)

    def _symbols(self, table: str, strings: str) -> tuple[Any, bytes]:
        """Functions by address, and their names."""
        symbols = np.frombuffer(self._content(table), dtype=_SYMBOL)
        functions = symbols[((symbols["info"] & 15) == _FUNCTION) & (symbols["value"] > 0)]
        return functions[np.argsort(functions["value"], kind="stable")], self._content(strings)

    def _name(self, number: int) -> str:
        functions, names = self._functions
        return _text(names, int(functions[number]["name"]))

    def _own(self, wanted: Callable[[str], bool]) -> dict[int, str]:
        functions, names = self._functions
        named = ((int(each["value"]), _text(names, int(each["name"]))) for each in functions)
        return {address: name for address, name in named if wanted(name)}

    def _imported(self, wanted: Callable[[str], bool]) -> dict[int, str]:
        """Entries of the procedure linkage tables, by the names of what they lead to."""
        symbols = np.frombuffer(self._content(".dynsym"), dtype=_SYMBOL)
        names = self._content(".dynstr")
        relocations = np.frombuffer(self._content(".rela.plt"), dtype=_RELOCATION)
        found = {}
        for number, each in enumerate(relocations):
            name = _text(names, int(symbols[int(each["info"]) >> 32]["name"]))
            if wanted(name):
                found[self._sections[".plt"].address + _ENTRY * (number + 1)] = name
                if ".plt.sec" in self._sections:
                    found[self._sections[".plt.sec"].address + _ENTRY * number] = name
        return found

    def _jumps(self) -> tuple[Any, Any]:
        """Addresses of what looks like a call or a jump, and what they lead to."""
        text = self._sections[".text"]
        code = np.array(self._bytes[text.offset : text.offset + text.size])
        places = np.flatnonzero((code[:-5] == _CALL) | (code[:-5] == _JUMP))
        distance = sum(code[places + 1 + n].astype(np.int64) << (8 * n) for n in range(4))
        distance = np.where(distance >= 1 << 31, distance - (1 << 32), distance)
        return text.address + places, text.address + places + 5 + distance


def _text(names: bytes, offset: int) -> str:
    return names[offset : names.index(b"\0", offset)].decode()
