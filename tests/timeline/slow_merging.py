"""Blocks of a window as the definition has them, item by item."""

from __future__ import annotations

from typing import NamedTuple

from tb_hookview.timeline.lanes.lane import Colour, Lane
from tb_hookview.timeline.merging import Window


class Block(NamedTuple):
    start: int
    end: int
    depth: int
    name: int
    colour: int
    count: int
    first: int


class Group(NamedTuple):
    """Items that are drawn as one."""

    items: list[int]
    short: bool
    colour: int


def touches(lane: Lane, item: int, window: Window) -> bool:
    start, end = int(lane.start[item]), int(lane.end[item])
    return start < window.end and max(end, start + 1) > window.start


def slow_blocks(lane: Lane, window: Window) -> list[Block]:
    found: list[Block] = []
    for row in range(lane.rows):
        mine = [item for item in range(len(lane)) if lane.depth[item] == row]
        cells: list[tuple[list[int], bool]] = []
        for item in mine:
            if not touches(lane, item, window):
                continue
            short = _room(lane, mine, item) < window.resolution
            last, last_short = cells[-1] if cells else ([item], False)
            if short and last_short and _cell(lane, last[-1], window) == _cell(lane, item, window):
                last.append(item)
            else:
                cells.append(([item], short))
        groups: list[Group] = []
        for items, short in cells:
            group = Group(items, short, _colour(lane, items))
            if groups and _join(lane, groups[-1], group, window):
                groups[-1].items.extend(items)
            else:
                groups.append(group)
        found += [_block(lane, group, row) for group in groups]
    return found


def _cell(lane: Lane, item: int, window: Window) -> int:
    return (int(lane.start[item]) - window.origin) // window.resolution


def _room(lane: Lane, row: list[int], item: int) -> int:
    """How long an item has its row for itself."""
    place = row.index(item)
    until = int(lane.end[item])
    if place + 1 < len(row):
        until = min(until, int(lane.start[row[place + 1]]))
    return until - int(lane.start[item])


def _join(lane: Lane, left: Group, right: Group, window: Window) -> bool:
    gap = int(lane.start[right.items[0]]) - int(lane.end[left.items[-1]])
    alike = left.short and right.short and left.colour == right.colour
    return alike and gap < window.resolution


def _colour(lane: Lane, items: list[int]) -> int:
    if any(lane.colour[item] == Colour.WAIT for item in items):
        return int(Colour.WAIT)
    spent = dict.fromkeys(range(len(Colour)), 0)
    for item in items:
        spent[int(lane.colour[item])] += max(int(lane.end[item] - lane.start[item]), 1)
    return max(spent, key=lambda colour: (spent[colour], -colour))


def _block(lane: Lane, group: Group, row: int) -> Block:
    names = {int(lane.name[item]) for item in group.items}
    return Block(
        start=int(lane.start[group.items[0]]),
        end=int(lane.end[group.items[-1]]),
        depth=row,
        name=names.pop() if len(names) == 1 else -1,
        colour=group.colour,
        count=len(group.items),
        first=group.items[0],
    )
