"""The table of findings: what the rules found, with ids of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from tb_hookview import schema


def finding_rows(findings: Sequence[schema.Finding]) -> list[schema.Finding]:
    """Number findings that share an id; their order stays as it is."""
    seen: Counter[str] = Counter()
    rows = []
    for finding in findings:
        seen[finding.id] += 1
        number = seen[finding.id]
        key = finding.id if number == 1 else f"{finding.id}#{number}"
        rows.append(msgspec.structs.replace(finding, id=key))
    return rows
