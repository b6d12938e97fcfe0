/** Allocations of a training step: rows as torch writes them with profile_memory. */
export const MIB = 2 ** 20;
interface Block {
  at: number;
  until: number | null;
  size: number;
}
export const BLOCKS: readonly Block[] = [
  { at: 20, until: 480, size: 8 * MIB },
  { at: 60, until: 90, size: 2 * MIB },
  { at: 120, until: 400, size: 4 * MIB },
  { at: 520, until: null, size: MIB },
];

export function memoryTrace(): unknown {
  const rows = BLOCKS.flatMap(({ at, until, size }, index) => [
    { ts: at, size, address: 4096 * (index + 1) },
    ...(until === null ? [] : [{ ts: until, size: -size, address: 4096 * (index + 1) }]),
  ]).sort((a, b) => a.ts - b.ts);
  let live = 0;
  const memory = rows.map(({ ts, size, address }) => {
    live += size;
    return {
      ...{ ph: "i", cat: "cpu_instant_event", s: "t", name: "[memory]", pid: 1, tid: 1, ts },
      args: {
        ...{ "Total Reserved": 0, "Total Allocated": live, Bytes: size, Addr: address },
        ...{ "Device Id": -1, "Device Type": 0, "Ev Idx": ts },
      },
    };
  });
  const work = (name: string, ts: number, dur: number): unknown => ({
    ...{ ph: "X", cat: "cpu_op", name, pid: 1, tid: 1, ts, dur, args: {} },
  });
  const step = { ph: "X", cat: "user_annotation", name: "ProfilerStep#1", pid: 1, tid: 1 };
  return {
    traceEvents: [
      { ...step, ts: 0, dur: 600, args: {} },
      work("aten::empty", 15, 60),
      work("aten::linear", 110, 40),
      work("aten::add_", 510, 40),
      ...memory,
    ],
  };
}
