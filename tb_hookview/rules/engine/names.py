"""Rows of a table by their names."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.arrays.types import Bool, StringIndex
from tb_hookview.trace.columns.trace import StringTable


class NamedRows(Struct, frozen=True, dict=True):
    """Rows of a table with names. Each method gives a mask over all of them, in any step."""

    strings: StringTable
    """Strings of the trace."""
    name: StringIndex
    """Index of each row's name in `strings`, shape (n,)."""

    def named(self, *names: str) -> Bool:
        """Rows of one of these names."""
        return self._with(self.name_indices(*names))

    def beginning(self, *words: str) -> Bool:
        """Rows whose name begins with one of these words."""
        texts, names = self._in_order
        found = []
        for word in words:
            first = last = bisect_left(texts, word)
            while last < len(texts) and texts[last].startswith(word):
                last += 1
            found += names[first:last]
        return self._with(found)

    def ending(self, *words: str) -> Bool:
        """Rows whose name ends with one of these words."""
        return self._with([name for name, text in self.texts.items() if text.endswith(words)])

    def containing(self, *words: str) -> Bool:
        """Rows whose name contains one of these words."""
        texts = self.texts.items()
        return self._with([name for word in words for name, text in texts if word in text])

    def matching(self, pattern: str) -> Bool:
        """Rows in whose name a regular expression finds a match.

        The methods above are several times as quick.
        """
        if pattern not in self._by_pattern:
            search = re.compile(pattern).search
            self._by_pattern[pattern] = self._with(
                [name for name, text in self.texts.items() if search(text)]
            )
        return self._by_pattern[pattern].copy()  # the caller's to change

    def passing(self, test: Callable[[str], bool]) -> Bool:
        """Rows whose name passes a test."""
        return self._with([name for name, text in self.texts.items() if test(text)])

    def name_indices(self, *names: str) -> list[int]:
        """Those of these names that any row has, as indices into `strings`."""
        return [self._indices[name] for name in names if name in self._indices]

    def any_name(self, test: Callable[[str], bool]) -> bool:
        """Whether the name of any row passes a test."""
        return any(test(text) for text in self.texts.values())

    @cached_property
    def texts(self) -> dict[int, str]:
        """Distinct names, by index."""
        texts = self.strings.texts
        present = np.zeros(len(texts), bool)
        present[self.name] = True
        return {name: texts[name] for name in np.flatnonzero(present).tolist()}

    @cached_property
    def _in_order(self) -> tuple[list[str], list[int]]:
        """Distinct names in ascending order, with their indices."""
        pairs = sorted((text, name) for name, text in self.texts.items())
        return [text for text, _ in pairs], [name for _, name in pairs]

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {text: name for name, text in self.texts.items()}

    @cached_property
    def _by_pattern(self) -> dict[str, Bool]:
        return {}

    def _with(self, names: list[int]) -> Bool:
        if not names:
            return np.zeros(len(self.name), bool)
        passes = np.zeros(len(self.strings), bool)
        passes[names] = True
        return np.asarray(passes[self.name])
