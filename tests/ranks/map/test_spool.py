"""Times of ranks on disk: what was put is what is read."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from ranks.traces import Spell, write_run

from tb_hookview.errors import UsageError
from tb_hookview.ranks.map.summary import IN_MEMORY, Mapped, RankTimes, Spool, packed
from tb_hookview.ranks.run import summarize_file
from tb_hookview.trace.source.file import trace_file


@pytest.fixture
def times(tmp_path: Path) -> list[RankTimes]:
    """Those of three ranks, of which each has others."""
    folder = write_run(tmp_path / "run", [Spell(), Spell(b=9.0), Spell(a=7.0)])
    mapped = [summarize_file(trace_file(path)) for path in sorted(folder.iterdir())]
    return [each.times for each in mapped if isinstance(each, Mapped)]


def test_times_are_read_as_they_were_put(times: list[RankTimes]) -> None:
    count = IN_MEMORY + 10
    with Spool() as spool:
        numbers = [spool.put(packed(times[place % 3])) for place in range(count)]
        assert len({repr(each) for each in times}) == 3
        for _ in range(2):
            for place in reversed(range(count)):
                assert repr(spool.times(numbers[place])) == repr(times[place % 3])
        assert spool.times.cache_info().currsize == IN_MEMORY


class Full(io.BytesIO):
    """A disk without room."""

    def write(self, _content: Any) -> int:
        raise OSError(28, "No space left on device")


def test_a_full_disk_is_one_line(times: list[RankTimes]) -> None:
    with Spool() as spool:
        spool._file.close()
        spool._file = Full()
        with pytest.raises(UsageError, match=r"1 ranks do not fit into .*; name a larger folder"):
            spool.put(packed(times[0]))
