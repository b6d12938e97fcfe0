"""Findings of one rule and fix whose places differ in a number alone, as layers do."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from tb_hookview.schema import Finding

_NUMBER = re.compile(r"[0-9]+")


def alike(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Findings together that are alike, in the order of the first of each."""
    groups: defaultdict[tuple[str, str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[finding.rule, finding.fix, _NUMBER.sub("#", finding.where)].append(finding)
    return list(groups.values())


def where(group: list[Finding]) -> str:
    """Place of the first, and how many more there are."""
    first, *more = group
    return f"{first.where}, and {len(more):,} more like it" if more else first.where
