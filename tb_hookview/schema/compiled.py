"""Rows about compiled code: what its graphs ran, and how much of that modules have."""

from __future__ import annotations

from msgspec import Struct

from tb_hookview.schema.terms import Count, Us


class PlacedTime(Struct, frozen=True):
    """Time of the calls of compiled graphs in one direction, and the part that modules have."""

    host_us: Us
    """Host time of the calls."""
    placed_host_us: Us
    """The part of it that our recorder's map places on modules."""
    leaf_host_us: Us
    """The part of `placed_host_us` of modules without modules below them."""
    split_host_us: Us
    """The part of `placed_host_us` that was split among several modules, by the bytes that the part
    of each one reads and writes."""
    near_host_us: Us
    """The part of `placed_host_us` whose module the compiler lost, and neighbours in the graph
    named."""
    device_us: Us | None
    """Device work launched in the calls, recomputation left out."""
    placed_device_us: Us | None
    """The part of it that the map places on modules."""


class CompiledGraphs(Struct, frozen=True):
    """Calls of compiled graphs (`## Call CompiledFxGraph`) in a trace with our recorder's map."""

    calls: Count
    """Calls of graphs, in forward and backward."""
    placed: Count
    """Calls whose rows agree with the map. What the others ran stays with the module around the
    compiled region."""
    whole_by_reason: dict[str, Count]
    """The others by reason: no map of the graph (a cache that was filled without the recorder,
    say), a map of other modules, rows that differ from the map, calls of modules or nodes
    inside."""
    forward: PlacedTime
    backward: PlacedTime


class CompiledLump(Struct, frozen=True):
    """Compiled code in a module that is not broken down by the modules that it ran."""

    calls: Count
    """Calls of graphs, in forward and backward; of regions where the trace has no graphs."""
    host_us: Us
    """Host time of the calls."""
    device_us: Us | None
    """Device work launched in them that is charged to the module; null without launches."""


class CompiledRegion(Struct, frozen=True):
    """Compiled code by region, graph and operators; it needs nothing of our recorder."""

    id: int
    region: str | None
    """`Torch-Compiled Region: compile id`; of a backward the one of its forward. Null for unknown,
    and for generated kernels that ran in no region."""
    graph: str | None
    """Key of the graph, as in `## Call CompiledFxGraph key ##`."""
    compile_id: str | None
    backward: bool
    operators: str
    """The operators in the name of a generated kernel (`add_relu` of
    `triton_poi_fused_add_relu_1`), else the extern call (`aten::mm`); "" for host time between
    them: the code around kernels, and on a CPU generated kernels, which leave no rows."""
    generated: bool
    """Whether they are one kernel that Inductor generated."""
    calls: Count
    """Rows of calls; of a replayed CUDA graph its kernels."""
    host_us: Us
    """Time of the rows of these calls."""
    device_us: Us | None
    """Device work launched in them; null where the trace has no launches."""
