"""The table of findings: what the rules found, with its id and references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from tb_hookview import schema


def finding_rows(
    findings: Sequence[schema.Finding], syncs: Sequence[schema.Sync], paths: Sequence[str]
) -> list[schema.Finding]:
    """Number findings that share an id, and refer to modules and syncs; order stays as it is.

    Args:
        findings: as the rules made them.
        syncs: all syncs of the report.
        paths: path of each module, by id.
    """
    module_ids = {path: number for number, path in enumerate(paths)}
    by_place: dict[tuple[str, str | None, float], list[int]] = {}
    for sync in syncs:
        by_place.setdefault((sync.cause, sync.module, sync.start_us), []).append(sync.id)
    seen: Counter[str] = Counter()
    rows = []
    for finding in findings:
        key = finding.id
        seen[key] += 1
        starts = dict.fromkeys(finding.examples)
        places = ((finding.rule, finding.module, start) for start in starts)
        rows.append(
            msgspec.structs.replace(
                finding,
                id=key if seen[key] == 1 else f"{key}#{seen[key]}",
                module_id=None if finding.module is None else module_ids.get(finding.module),
                sync_ids=[sync for place in places for sync in by_place.get(place, [])],
            )
        )
    return rows
