"""One state of a source, with what is derived from it; and how much of that stays in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from itertools import count
from threading import Lock
from typing import Any, Generic, TypeVar, cast
from weakref import WeakSet

BYTES = 2 << 30
"""Memory that everything open may take together. One that takes more is there alone."""

Value = TypeVar("Value")
Derived = TypeVar("Derived")
_uses = count()


class Opened(Generic[Value]):
    """What was read of one state of a source, and what is derived from it, each made once.

    Safe to use from many threads: whoever asks for what another one makes waits for it.

    Args:
        read: returns what the source holds.
        size: bytes that this takes.
    """

    def __init__(self, read: Callable[[], Value], size: Callable[[Value], int]) -> None:
        self._read, self._size = read, size
        self._value: Value | None = None
        self._derived: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._making: dict[Hashable, Lock] = {}
        self._lock = Lock()
        self.bytes = 0
        """Memory that it takes, by estimate."""
        self.used = next(_uses)
        """Higher than that of all that were used earlier."""
        self.budget = Budget(BYTES)
        self.state: Any = None
        """Address and state of the source, where it may have another state later."""

    @property
    def is_read(self) -> bool:
        """Whether `value` is there already."""
        return self._value is not None

    @property
    def events(self) -> int | None:
        """Events that were read, where that is counted."""
        return None

    def __contains__(self, key: Hashable) -> bool:
        """Whether something was derived, and is still there."""
        return key in self._derived

    @property
    def value(self) -> Value:
        """What the source holds, which is read on first use."""
        self.used = next(_uses)
        found = self._value
        return self.hold(self._read()) if found is None else found

    def hold(self, value: Value) -> Value:
        """Keep what was read, and return it."""
        with self._lock:
            if self._value is None:
                self._value = value
                self.bytes += self._size(value)
        self.budget.grown(self)
        return value

    def derived(
        self, key: Hashable, make: Callable[[], Derived], size: Callable[[Derived], int] | int = 0
    ) -> Derived:
        """Return what `make` returns, from the second time on without calling it.

        Args:
            key: what it is.
            make: makes it, never None, from `value` or from what else is derived.
            size: bytes that it takes; 0 where the size of `value` counts them already. What takes
                more than a quarter of the budget is made each time.
        """
        with self._making.setdefault(key, Lock()):
            if (found := self.get(key)) is not None:
                return cast(Derived, found)
            made = make()
            self.keep(key, made, size if isinstance(size, int) else size(made))
            return made

    def get(self, key: Hashable) -> Any:
        """Return what was derived; None where it is not there (any more)."""
        with self._lock:
            if key not in self._derived:
                return None
            self._derived.move_to_end(key)
            return self._derived[key][0]

    def keep(self, key: Hashable, made: object, size: int) -> None:
        """Keep what somebody derived, as `derived` does."""
        if size > self.budget.most // 4:
            return
        with self._lock:
            if not size and self._value is None:
                return  # forgotten meanwhile, and nothing would count it
            self.bytes += size - self._derived.get(key, (None, 0))[1]
            self._derived[key] = made, size
        self.budget.grown(self)

    def made_of_value(self, key: Hashable, make: Callable[[Value], Derived]) -> Derived:
        """As `derived`, of what the source holds: whoever waits for that blocks nobody else."""
        value = self.value
        return self.derived(key, lambda: make(value))

    def shrink(self) -> bool:
        """Forget what of the derived was not used for longest; false if there is none."""
        with self._lock:
            key = next((key for key, (_, size) in self._derived.items() if size), None)
            if key is None:
                return False
            self.bytes -= self._derived.pop(key)[1]
            return True

    def clear(self) -> None:
        """Forget everything; it is read again when it is asked for."""
        with self._lock:
            self._value = None
            self._derived.clear()
            self._making.clear()
            self.bytes = 0


class Budget:
    """Bytes that what is open may take together: what was used longest ago is forgotten first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._open: WeakSet[Opened[Any]] = WeakSet()
        self._lock = Lock()

    def grown(self, newest: Opened[Any]) -> None:
        """Make room for what one of them took last."""
        with self._lock:
            self._open.add(newest)
            taken = sum(opened.bytes for opened in self._open)
            for opened in sorted(self._open, key=lambda opened: opened.used):
                if taken <= self.most:
                    return
                if opened is not newest:
                    taken -= opened.bytes
                    opened.clear()
        while newest.bytes > self.most and newest.shrink():
            pass


EVERYTHING_OPEN = Budget(BYTES)
"""Of a program that opens traces by itself."""
