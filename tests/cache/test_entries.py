"""Entries: what comes out is what went in, or nothing."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tb_hookview.cache import Cache
from tb_hookview.cache.entries import ABANDONED_S, HEADER

ROOM = 1 << 20


def entry_of(cache: Cache) -> Path:
    (path,) = cache.folder.iterdir()
    return path


def content(cache: Cache, *key: str) -> bytes | None:
    found = cache.get("kind", *key)
    return None if found is None else bytes(found)


def test_what_comes_out_is_what_went_in(cache: Cache) -> None:
    assert content(cache, "a") is None
    assert cache.put("kind", [b"one", memoryview(b"two"), b""], "a")
    assert content(cache, "a") == b"onetwo"
    assert content(cache, "b") is None
    assert cache.get("another", "a") is None
    cache.put("kind", [b"three"], "a")
    assert content(cache, "a") == b"three"
    cache.drop("kind", "a")
    assert content(cache, "a") is None


def test_keys_that_look_alike_are_other_keys(cache: Cache) -> None:
    keys = [("a", "b"), ("ab",), ("a,b",), ("a', 'b",), ("a", "b", ""), ("\udcff",)]
    for number, key in enumerate(keys):
        cache.put("kind", [bytes([number])], *key)
    assert [content(cache, *key) for key in keys] == [bytes([n]) for n in range(len(keys))]


def test_another_version_of_the_program_finds_nothing(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.put("kind", [b"content"], "a")
    monkeypatch.setattr("tb_hookview.cache.entries.program", lambda: "another")
    assert content(cache, "a") is None


@given(st.binary(max_size=64), st.data())
def test_what_was_changed_anywhere_is_a_miss_and_is_removed(
    tmp_path_factory: pytest.TempPathFactory, kept: bytes, data: st.DataObject
) -> None:
    cache = Cache(tmp_path_factory.mktemp("cache"), ROOM)
    cache.put("kind", [kept], "a")
    path = entry_of(cache)
    whole = path.read_bytes()
    used = HEADER.size - 24  # the rest is padding
    place = data.draw(
        st.integers(0, len(whole) - 1).filter(lambda at: at < used or at >= HEADER.size)
    )
    damaged = data.draw(
        st.sampled_from(
            [
                whole[:place],
                whole + b"\0",
                whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :],
            ]
        )
    )
    path.write_bytes(damaged)
    assert content(cache, "a") is None
    assert not path.exists()
    cache.put("kind", [kept], "a")
    assert content(cache, "a") == kept


def test_an_entry_under_the_name_of_another_is_a_miss(cache: Cache) -> None:
    cache.put("kind", [b"content"], "a")
    path = entry_of(cache)
    cache.put("kind", [b"other"], "b")
    (other,) = set(cache.folder.iterdir()) - {path}
    path.replace(other)
    assert content(cache, "b") is None


@example([("a", 100), ("b", 100), ("a", None), ("c", 100), ("a", None), ("b", None)])
@given(
    st.lists(
        st.tuples(st.sampled_from("abcde"), st.one_of(st.none(), st.integers(0, 200))), max_size=25
    )
)
def test_what_was_used_longest_ago_goes_first(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int | None]]
) -> None:
    cache = Cache(tmp_path_factory.mktemp("cache"), 400)
    slow = list[tuple[str, int]]()
    for moment, (key, size) in enumerate(steps):
        if size is None:
            found = next((kept for name, kept in slow if name == key), None)
            assert content(cache, key) == (None if found is None else bytes(found))
            slow.sort(key=lambda entry: entry[0] == key)
        else:
            cache.put("kind", [bytes(size)], key)
            slow = [entry for entry in slow if entry[0] != key] + [(key, size)]
            while sum(kept + HEADER.size for _, kept in slow) > cache.limit:
                del slow[0]
        _all_at_once(cache, moment, key)
    assert cache.usage() == (len(slow), sum(size + HEADER.size for _, size in slow))


def _all_at_once(cache: Cache, moment: int, key: str) -> None:
    """Give what was used just now a time of its own, whatever the clock's grain."""
    found = sorted(cache.folder.glob("*"), key=lambda path: path.stat().st_mtime_ns)
    if found and found[-1].stat().st_mtime > 1e6:
        os.utime(found[-1], (moment, moment))


def test_what_is_larger_than_all_that_may_be_is_not_kept(cache: Cache) -> None:
    small = Cache(cache.folder, 100)
    small.put("kind", [b"small"], "a")
    assert not small.put("kind", [bytes(100)], "b")
    assert (content(small, "a"), content(small, "b")) == (b"small", None)


def test_only_the_user_can_look(cache: Cache) -> None:
    cache.put("kind", [b"content"], "a")
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(entry_of(cache).stat().st_mode) == 0o600


def test_clearing_removes_entries_and_nothing_else(cache: Cache) -> None:
    cache.put("kind", [b"content"], "a")
    mine = [cache.folder / name for name in ("thesis.tex", "a.kind", ".part", "0123.columns")]
    for path in mine:
        path.write_text("mine")
    assert cache.clear() == (1, HEADER.size + len(b"content"))
    assert sorted(cache.folder.iterdir()) == sorted(mine)


def test_what_a_killed_process_left_is_removed_in_time(cache: Cache) -> None:
    cache.put("kind", [b"content"], "a")
    name = entry_of(cache).name
    old, new = (cache.folder / f".{name}.{end}.part" for end in ("abcd_123", "efgh_456"))
    for path, age in ((old, ABANDONED_S + 60), (new, 0.0)):
        path.write_bytes(b"half")
        os.utime(path, (time.time() - age,) * 2)
    cache.put("kind", [b"content"], "b")
    assert (old.exists(), new.exists()) == (False, True)
    assert cache.usage().entries == 2
    cache.clear()
    assert not new.exists()


FULL = """
import resource, signal, sys
from pathlib import Path
from tb_hookview.cache import Cache

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
cache = Cache(Path(sys.argv[1]), 1 << 30)
cache.put("kind", [b"first"], "a")
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
try:
    cache.put("kind", [bytes(1 << 20)], "b")
except OSError as error:
    print(error.errno, cache.get("kind", "b"), bytes(cache.get("kind", "a")))
"""


def test_a_write_that_fails_leaves_nothing_behind(cache: Cache) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, cache.folder], capture_output=True, text=True, timeout=300
    )
    assert done.stdout.split() == [str(errno.EFBIG), "None", "b'first'"], done.stderr
    assert len(list(cache.folder.iterdir())) == 1


def test_a_folder_that_is_none_is_a_miss(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("mine")
    cache = Cache(path, ROOM)
    assert content(cache, "a") is None
    assert (cache.usage(), cache.clear()) == ((0, 0), (0, 0))
    with pytest.raises(OSError, match="exists"):
        cache.put("kind", [b"content"], "a")
    assert path.read_text() == "mine"


WRITER = """
import sys
from pathlib import Path
from tb_hookview.cache import Cache

cache = Cache(Path(sys.argv[1]), 40_000)
for number in range(300):
    key = str(number % 7)
    cache.put("kind", [key.encode() * (1000 + number * 20)], key)
    for key in map(str, range(7)):
        found = cache.get("kind", key)
        if found is not None:
            assert set(bytes(found)) == {ord(key)}, key
    cache.usage()
print(cache.usage().bytes)
"""


def test_processes_that_share_a_folder_do_not_disturb_each_other(cache: Cache) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, cache.folder], stdout=-1, stderr=-1, text=True
        )
        for _ in range(3)
    ]
    for process in processes:
        out, problems = process.communicate(timeout=300)
        assert (process.returncode, problems) == (0, "")
        assert int(out) > 0
    assert 0 < cache.usage().bytes <= 40_000
    assert all(not path.name.endswith(".part") for path in cache.folder.iterdir())


KILLED = """
import os, signal, sys
from pathlib import Path
from tb_hookview.cache import Cache

real = os.write

def write(handle, content):
    real(handle, content[:8])
    os.kill(os.getpid(), signal.{signal})

os.write = write
Cache(Path(sys.argv[1]), 1 << 20).put("kind", [b"content"], "a")
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_a_process_killed_while_it_writes_leaves_nothing_to_be_read(
    cache: Cache, name: str
) -> None:
    script = KILLED.replace("{signal}", name)
    done = subprocess.run([sys.executable, "-c", script, cache.folder], timeout=300)
    assert done.returncode == -signal.Signals[name]
    assert len(list(cache.folder.iterdir())) == 1
    assert (content(cache, "a"), cache.usage().entries) == (None, 0)
    cache.put("kind", [b"content"], "a")
    assert content(cache, "a") == b"content"
