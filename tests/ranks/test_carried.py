"""Waits for a delay that earlier collectives have shown, against the program and a plain loop."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from ranks import programs
from ranks.device_programs import Part, Program, length, write
from ranks.test_on_cpu import run_of
from ranks.test_run import analyzed

from tb_hookview.arrays.types import Float
from tb_hookview.document.document import Table
from tb_hookview.ranks.carried import Own, find_new_waits
from tb_hookview.ranks.document import run_document
from tb_hookview.ranks.lateness import find_waits
from tb_hookview.ranks.map.summary import Mapped
from tb_hookview.ranks.matching import match
from tb_hookview.ranks.members import Members
from tb_hookview.ranks.replay import Replay
from tb_hookview.ranks.run import summarize_file
from tb_hookview.trace.source.file import trace_file

STEPS, RANKS, SLOW = 4, 3, 1


def drawn(seed: int) -> tuple[Program, Program, float]:
    """Ranks whose hosts run ahead until the step ends, one of them late, and by how much it is."""
    random = Random(seed)
    parts = [Part(host=random.choice([6.0, 9.0])) for _ in range(random.randint(2, 6))]
    parts[-1] = parts[-1]._replace(waits="sync")
    at, by = random.randrange(len(parts)), random.choice([2.0, 5.0, 11.0])
    slow = [part._replace(pause=by) if at == place else part for place, part in enumerate(parts)]
    even = [parts] * RANKS
    return even, [slow if rank == SLOW else parts for rank in range(RANKS)], by


@pytest.mark.parametrize("seed", range(12))
def test_a_delay_counts_once_where_no_host_waits(tmp_path: Path, seed: int) -> None:
    even, late, by = drawn(seed)
    (straggler,) = analyzed(write(tmp_path / "run", late, STEPS)).stragglers
    assert straggler.rank == SLOW
    assert straggler.wait_caused_us == pytest.approx(1000 * by, abs=50)
    gain = (length(late, STEPS) - length(even, STEPS)) / STEPS
    assert straggler.gain_us_per_step == pytest.approx(1000 * gain, abs=50)


def test_a_rank_that_is_late_once_is_late_in_one_step(tmp_path: Path) -> None:
    """Hosts that never wait: what the first step shows, the others show again."""
    parts = [Part(host=6.0) for _ in range(3)]
    once = [parts, [parts[0]._replace(pause=5.0), *parts[1:]]]
    run = analyzed(write(tmp_path / "run", [[*once[0] * 4], [*once[1], *parts * 3]], 1))
    waits = [row.wait_us for row in run.collectives]
    assert len(waits) == 12
    assert min(waits) > 4000
    (straggler,) = run.stragglers
    assert straggler.wait_caused_us == pytest.approx(5000, abs=50)
    first, *others = sorted((row.new_wait_us for row in run.collectives), reverse=True)
    assert first == pytest.approx(5000, abs=50)
    assert sum(others) == pytest.approx(0, abs=50)
    (table,) = (part for part in run_document(run, 1).parts if part.title.startswith("Collectives"))
    assert isinstance(table, Table)
    (shown,) = table.rows
    assert shown[table.columns.index("new wait")] == "5.00 ms"


def test_what_others_compute_while_they_wait_is_no_delay_of_the_late_one(tmp_path: Path) -> None:
    """Their devices go on with the next part, which that of the late one does when it is there."""
    parts = [Part(host=3.0, device=2.5, goes_on=True) for _ in range(6)]
    late = [parts[0]._replace(pause=9.0), *parts[1:]]
    run = analyzed(write(tmp_path / "run", [parts, late, parts], 1))
    new = [row.new_wait_us for row in run.collectives]
    assert new == pytest.approx([9000, 0, 0, 0, 0, 0], abs=50)


def test_more_work_after_less_is_a_delay_of_its_own(tmp_path: Path) -> None:
    """As of a rank whose experts have fewer tokens in one layer, and more in the next."""
    even = [Part(host=0.5, device=device) for device in (1.0, 6.0, 6.0, 6.0)]
    uneven = [Part(host=0.5, device=device) for device in (1.0, 2.0, 10.0, 6.0)]
    late = [uneven[0]._replace(pause=20.0), *uneven[1:]]
    run = analyzed(write(tmp_path / "run", [even, late, even], 1))
    waits = [(row.late_rank, row.wait_us, row.new_wait_us) for row in run.collectives]
    (more,) = (each for each in waits if each[0] == 1 and each[1] < 10_000)
    assert more == pytest.approx((1, 4000, 4000), abs=50)


@pytest.mark.parametrize(("at_once", "second"), [(False, 0), (True, 0), (False, 3), (True, 3)])
def test_a_host_that_awaits_two_collectives_together_shows_a_delay_once(
    tmp_path: Path, at_once: bool, second: float
) -> None:
    """As with the buckets of a backward on gloo."""
    even = programs.Step((1.0, 1.0), (2.0, 2.0), at_once, last=1.0)
    late = even._replace(a=(6.0, 1.0 + second))
    run = analyzed(programs.write(tmp_path / "run", [[even], [late]]))
    new = [row.new_wait_us for row in run.collectives]
    assert new == pytest.approx([5000, 1000 * second], abs=50)


BUCKETS = """
    main notes [ProfilerStep#1                                           ]
    main ops    [mm   ]
    one  notes         [gloo:all_reduce                                  ]
    two  notes           [gloo:all_reduce                              ]
"""
"""The first one begins first, and ends last."""
LATE_BUCKETS = """
    main notes [ProfilerStep#1                                           ]
    main ops    [mm                  ]
    one  notes                        [gloo:all_reduce                   ]
    two  notes                          [gloo:all_reduce               ]
"""


def test_the_collective_that_begins_first_shows_a_delay(tmp_path: Path) -> None:
    run = run_of(tmp_path, BUCKETS, LATE_BUCKETS)
    waits = sorted((row.transfer_us, row.wait_us, row.new_wait_us) for row in run.collectives)
    assert waits == [(32, 15, 0), (36, 15, 15)]


@pytest.mark.parametrize("seed", [0, 2, 3, 4, 5])
def test_columns_say_what_a_plain_loop_does(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    parts = [Part(host=random.uniform(1.0, 9.0), device=2.0) for _ in range(4)]
    parts[-1] = parts[-1]._replace(waits="sync")
    program = [
        [part._replace(pause=random.choice([0.0, 0.0, 3.0])) for part in parts] for _ in range(4)
    ]
    groups = [[(0, 1), (2, 3)], [(0, 2), (1, 3)], [(0, 1, 2, 3)], [(0, 1), (2, 3)]]
    folder = write(tmp_path / "run", program, 3, groups)
    mapped = [summarize_file(trace_file(path)) for path in sorted(folder.glob("*.gz"))]
    ranks = [each.summary for each in mapped if isinstance(each, Mapped)]
    matched = match(ranks)
    replay = Replay(ranks, matched, find_waits(matched.members))
    found = matched.members.wait - find_new_waits(matched.members, replay.own(), replay.earlier)
    assert found.any()
    assert found == pytest.approx(plainly_carried(matched.members, replay.own()), abs=1.0)


def beyond_others(times: list[float], at: int) -> float:
    return times[at] - (sum(times) - times[at]) / max(len(times) - 1, 1)


def plainly_carried(members: Members, own: Own) -> Float:
    carried = np.zeros(len(members.rank))
    before: dict[tuple[int, ...], list[int]] = {}
    known: dict[int, float] = {}
    ahead: dict[int, float] = {}
    for collective in range(len(members)):
        here = list(range(members.first[collective], members.first[collective + 1]))
        ranks = tuple(int(members.rank[each]) for each in here)
        lengths = [int(members.end[each] - members.start[each]) for each in here]
        wait = [each - min(lengths) for each in lengths]
        late = [max(wait) - each for each in wait]
        launch = [int(members.launch[each] - members.end[each]) for each in here]
        ahead |= dict.fromkeys(here, 0.0)
        still, same = [0.0] * len(here), [0.0] * len(here)
        if past := before.get(ranks):
            waited = []
            host, idle = [], []
            for at, (now, then) in enumerate(zip(here, past, strict=True)):
                host.append(own.host[now] - own.host[then])
                launched = members.launch[now] - members.launch[then]
                waited.append(known[then] + launched - host[at])
                others = sum(
                    int(members.end[each] - members.start[each])
                    for each in range(then + 1, now)
                    if members.rank[each] == members.rank[now]
                )
                since = members.start[now] - members.end[then] - others
                between = [own.begun[n] - own.ended[t] for n, t in zip(here, past, strict=True)]
                inside = [own.ended[t] - own.begun[t] for t in past]
                owed = max(ahead[then] - beyond_others(inside, at), 0.0)
                done = min(max(beyond_others(between, at), 0.0), owed)
                ahead[now] = owed - done
                idle.append(since - between[at] + done)
            first = wait.index(max(wait))
            for at, then in enumerate(past):
                still[at] = min(known[then], waited[at] - min(waited))
                newly = max(host[at] - host[first], 0.0)
                most = min(late[at] - newly, idle[at] - idle[first])
                same[at] = min(max(most, 0.0), still[at])
        new = [of - part for of, part in zip(late, same, strict=True)]
        for at, now in enumerate(here):
            carried[now] = max(wait[at] - (max(new) - new[at]), 0.0)
            known[now] = min(launch[at] - min(launch), max(still[at], late[at]))
        before[ranks] = here
    return carried
