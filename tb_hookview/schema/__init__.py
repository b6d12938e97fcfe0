"""Every answer as types: what reports, comparisons and the server send and store."""

from __future__ import annotations

from tb_hookview.schema.attribution import Coverage, InputShapes, Module, ModuleSync, Node, Work
from tb_hookview.schema.comparison import (
    Comparison,
    FindingChange,
    KernelChange,
    ModuleChange,
    Pair,
    Side,
    Site,
    Status,
    SyncChange,
)
from tb_hookview.schema.compiled import CompiledGraphs, CompiledRegion, PlacedTime
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
from tb_hookview.schema.ranks import Collective, Rank, RankStep, Run, Straggler, UnreadableRank
from tb_hookview.schema.report import OPERATORS, SCHEMA_VERSION, ReportData
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
from tb_hookview.schema.whatif import PathKind, PathModule, PathTime, WhatIf

__all__ = [
    "COUNTED",
    "KINDS",
    "MEMORY_CLASSES",
    "OPERATORS",
    "PROFILER",
    "SCHEMA_VERSION",
    "Advice",
    "Allocation",
    "Breakdown",
    "BytesByClass",
    "Collective",
    "Comparison",
    "CompiledGraphs",
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
    "PerStep",
    "Phase",
    "PlacedTime",
    "Rank",
    "RankStep",
    "Recorder",
    "Recording",
    "ReportData",
    "Run",
    "Side",
    "Site",
    "Status",
    "Step",
    "Straggler",
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
    "WaitedFor",
    "WhatIf",
    "Work",
    "module_label",
    "own_syncs",
    "severe_warnings",
]
