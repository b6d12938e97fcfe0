"""Every answer as types, the only home of their shapes.

Producers return these structs; the OpenAPI description and the page's types follow from them. A
field's unit is its type (`Us`, `Count`, `Bytes`, ...) and its definition the docstring below it.
After a change run `make schema`: it writes `docs/openapi.json`, the tables of
`docs/reference/definitions.md`, and the page's `frontend/src/api/schema.ts` (types) and `fields.ts`
(units and definitions). Tests fail where one of them is not up to date.

Must not be here: computation; imports of anything but msgspec.
"""

from __future__ import annotations

from tb_hookview.schema.attribution import Coverage, InputShapes, Module, ModuleSync, Node, Work
from tb_hookview.schema.comparison import (
    Comparison,
    FindingChange,
    KernelChange,
    MemoryChange,
    ModuleChange,
    Pair,
    Side,
    Site,
    Spread,
    SpreadPair,
    Status,
    SyncChange,
)
from tb_hookview.schema.compiled import CompiledGraphs, CompiledLump, CompiledRegion, PlacedTime
from tb_hookview.schema.devices import DeviceUse, Kernel, KernelsOmitted, Stream
from tb_hookview.schema.findings import Advice, Finding
from tb_hookview.schema.host import (
    PROFILER,
    Allocation,
    Operator,
    Sync,
    Thread,
    WaitedFor,
    own_syncs,
)
from tb_hookview.schema.memory import (
    MEMORY_CLASSES,
    BytesByClass,
    MemoryAnswer,
    MemoryBand,
    MemoryCurve,
    MemoryModule,
    MemoryOperator,
    MemoryPeak,
    OutOfMemory,
)
from tb_hookview.schema.rank_view import (
    ActivityKind,
    ActivityLane,
    ActivitySpan,
    Balance,
    CollectiveKind,
    CollectiveRanks,
    CollectiveSize,
    RankActivity,
    RankPart,
    RunOverview,
    StepMatrix,
)
from tb_hookview.schema.ranks import (
    Collective,
    Pipeline,
    Rank,
    RankGroup,
    RankStep,
    Run,
    Straggler,
    StragglerReason,
    UnreadableRank,
)
from tb_hookview.schema.report import OPERATORS, SCHEMA_VERSION, ReportData
from tb_hookview.schema.run_comparison import (
    CollectiveChange,
    RankChange,
    RankTimes,
    RunComparison,
    RunSide,
)
from tb_hookview.schema.steps import Breakdown, Idle, PerStep, Step, Totals
from tb_hookview.schema.terms import COUNTED, KINDS, Phase, module_label
from tb_hookview.schema.trace import (
    Device,
    Marks,
    Recorder,
    Recording,
    TraceInfo,
    TraceWarning,
    severe_warnings,
)
from tb_hookview.schema.units import TimeByKind, TimeByPhase
from tb_hookview.schema.whatif import (
    Bound,
    PathKind,
    PathModule,
    PathTime,
    PathWork,
    Verdict,
    WhatIf,
)

__all__ = [
    "COUNTED",
    "KINDS",
    "MEMORY_CLASSES",
    "OPERATORS",
    "PROFILER",
    "SCHEMA_VERSION",
    "ActivityKind",
    "ActivityLane",
    "ActivitySpan",
    "Advice",
    "Allocation",
    "Balance",
    "Bound",
    "Breakdown",
    "BytesByClass",
    "Collective",
    "CollectiveChange",
    "CollectiveKind",
    "CollectiveRanks",
    "CollectiveSize",
    "Comparison",
    "CompiledGraphs",
    "CompiledLump",
    "CompiledRegion",
    "Coverage",
    "Device",
    "DeviceUse",
    "Finding",
    "FindingChange",
    "Idle",
    "InputShapes",
    "Kernel",
    "KernelChange",
    "KernelsOmitted",
    "Marks",
    "MemoryAnswer",
    "MemoryBand",
    "MemoryChange",
    "MemoryCurve",
    "MemoryModule",
    "MemoryOperator",
    "MemoryPeak",
    "Module",
    "ModuleChange",
    "ModuleSync",
    "Node",
    "Operator",
    "OutOfMemory",
    "Pair",
    "PathKind",
    "PathModule",
    "PathTime",
    "PathWork",
    "PerStep",
    "Phase",
    "Pipeline",
    "PlacedTime",
    "Rank",
    "RankActivity",
    "RankChange",
    "RankGroup",
    "RankPart",
    "RankStep",
    "RankTimes",
    "Recorder",
    "Recording",
    "ReportData",
    "Run",
    "RunComparison",
    "RunOverview",
    "RunSide",
    "Side",
    "Site",
    "Spread",
    "SpreadPair",
    "Status",
    "Step",
    "StepMatrix",
    "Straggler",
    "StragglerReason",
    "Stream",
    "Sync",
    "SyncChange",
    "Thread",
    "TimeByKind",
    "TimeByPhase",
    "Totals",
    "TraceInfo",
    "TraceWarning",
    "UnreadableRank",
    "Verdict",
    "WaitedFor",
    "WhatIf",
    "Work",
    "module_label",
    "own_syncs",
    "severe_warnings",
]
