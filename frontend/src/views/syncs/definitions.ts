import { Allocation } from "../../api/fields";
import { define, defineField } from "../../text/definitions";

/** Columns of the tree of host-blocking calls. */
export const SYNC_DEFINITIONS = {
  what: define(
    "cause, call site",
    "Why the host had to wait; below it the operator, autograd node or call that waited, then each sync.",
  ),
  count: define("count", "How many syncs.", "count"),
  blocked: define(
    "host blocked",
    "How long the host was blocked in these syncs, summed over the selected steps; red where the device idled for 1% of their length meanwhile.",
    "us",
  ),
  idle: define(
    "idle caused",
    "How long the device had nothing to do because of these syncs, summed over the selected steps.",
    "us",
  ),
  longest: define("longest", "The longest sync.", "us"),
  phase: define(
    "phase",
    "Forward, backward, optimizer, data, or other; a number where there are several.",
  ),
  module: define(
    "module",
    "The module that the syncs are attributed to; a number where there are several.",
  ),
  start: define(
    "start",
    "When the first of these syncs began, counted from the beginning of the trace.",
    "us",
  ),
} as const;

/** Facts of one sync, or of several. */
export const SYNC_FACT_DEFINITIONS = {
  blocked: define("host blocked", "How long the host was blocked in it.", "us"),
  idle: define(
    "device idle caused",
    "How long the device had nothing to do because of it, no longer than the sync itself.",
    "us",
  ),
  waitedFor: define(
    "Waited for",
    "The device event that took the longer part of the sync, or that ended last before it returned.",
  ),
  strip: define(
    "when",
    "The selected steps from left to right, high where the host waits: as high as they are where it does nothing else.",
  ),
  perStep: define(
    "per step",
    "The sum over the measured steps, divided by their number; the profiler's own does not count.",
    "us",
  ),
} as const;

/** What resembles a sync and is not one. */
export const OTHER_STALL_DEFINITIONS = {
  deviceWaits: define(
    "device-side waits",
    "Calls that make a stream wait for an event: the device waits, the host goes on.",
    "count",
  ),
  queueFull: define(
    "launches into a full queue",
    "Launches that waited for room in the device's queue: the host waits for the device to catch up.",
    "count",
  ),
  allocations: define(
    "allocations",
    "Calls that allocate or free memory of a device, or pin memory.",
    "count",
  ),
  allocationCount: defineField("calls", Allocation.count),
  allocationBlocked: defineField("host", Allocation.blocked_us),
  allocationIdle: defineField("device idle", Allocation.device_idle_us),
} as const;

/** Figures above the tree of host-blocking calls. */
export const SYNC_FIGURE_DEFINITIONS = {
  count: define(
    "syncs",
    "How often the host waited for the device; the profiler's own does not count.",
    "count",
  ),
  blocked: define(
    "host blocked",
    "How long the host was in these syncs, summed; the profiler's own does not count.",
    "us",
  ),
  perStep: define(
    "host blocked/step",
    "The part of it in measured steps, divided by their number: the figure of the summary.",
    "us",
  ),
  profiler: define(
    "profiler's own",
    "How long the host waited in the profiler's own sync, as it starts or stops. It is in no other figure.",
    "us",
  ),
  idle: define(
    "device idle caused",
    "How long the device had nothing to do because of them.",
    "us",
  ),
  longest: define("longest", "The longest sync.", "us"),
  backward: define("in backward", "How many of these syncs are in the backward pass.", "count"),
} as const;
