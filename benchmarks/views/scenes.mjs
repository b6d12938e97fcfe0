// What is measured of each view: the address it is reached from, its own, and what is there when it
// can be used; for a move, what of the view is clicked or turned.

const ROWS = ".table-body [role=row]";
const LANES = ".chart-canvas";
const SUMMARY = "#/summary?run=run";

const view = (title, to, ready = ROWS) => ({
  title,
  from: SUMMARY,
  to: hash(to),
  ready,
});
const move = (title, to, on, ready, wheel) => ({
  ...view(title, to, ready),
  move: { on, wheel },
});
const hash = (to) => `#/${to}${to.includes("?") ? "&" : "?"}run=run`;
const query = (sql) => `query?${new URLSearchParams({ sql })}`;

const GROUPED =
  "select name, count(*) as calls, sum(duration_ns) as ns from events group by name order by ns desc limit 100";
const ALL = "select * from events";

/** Of a trace that ends at some microsecond. */
export const VIEWS = (end) => {
  const part = `timeline?from=${Math.round(end * 0.4)}&to=${Math.round(end * 0.401)}`;
  return [
    { ...view("Summary", "summary", ".figures"), from: "#/findings?run=run" },
    view("Modules", "modules"),
    move("Modules: a row's panel", "modules", ROWS, "aside"),
    view("Syncs", "syncs"),
    move("Syncs: a row's panel", "syncs", ROWS, "aside"),
    view("Operators by name", "operators"),
    view("Operators by input shape", "operators?operators=shape"),
    view("Operators by call stack", "operators?operators=stack"),
    view("Operators by module", "operators?operators=module"),
    move("Operators: a row's panel", "operators", ROWS, "aside"),
    view("Kernels by name", "kernels"),
    view("Kernels by launch", "kernels?kernels=launch"),
    view("Kernels by sequence", "kernels?kernels=sequence"),
    view("Kernels: roofline of operators", "kernels?roofline=operator"),
    view("Kernels: roofline of modules", "kernels?roofline=module"),
    move("Kernels: a row's panel", "kernels", ROWS, "aside"),
    view("Timeline, all of it", "timeline", LANES),
    view("Timeline, a thousandth", part, LANES),
    move("Timeline: pan there", part, LANES, LANES, { deltaX: 900, deltaY: 0 }),
    move("Timeline: zoom out from there", part, LANES, LANES, {
      deltaY: 400,
      ctrlKey: true,
    }),
    view("Memory: the peak", "memory", ".memory-chart"),
    view("Memory: activations", "memory?list=activations", ".memory-chart"),
    view("Memory: blocks", "memory?list=blocks", ".memory-chart"),
    view("Memory: operators", "memory?list=operators", ".memory-chart"),
    view("Findings", "findings", ".finding-list li"),
    view("What-if: nothing changed", "whatif", ".figures"),
    view("What-if: the host in half the time", "whatif?scale=host%3D0.5", ".figures"),
    view("Query: all events by name", query(GROUPED)),
    view("Query: all events", query(ALL)),
    view("Compare with itself", "compare?base=before&base_worker=worker", ".totals"),
  ];
};

/** Of a run of many ranks; a rank, a step and a collective of it. */
export const RANKS = ({ rank, step, collective }) => [
  view("Ranks", "ranks", ".rank-heat canvas"),
  view("Ranks: idle", "ranks?heat=idle", ".rank-heat canvas"),
  view("Ranks: collectives", "ranks?ranks=collectives", ".rank-heat canvas"),
  view("Ranks: balance", "ranks?ranks=balance", ".rank-heat canvas"),
  view(
    "Ranks: one step of a rank",
    `ranks?${new URLSearchParams({ rank, rankstep: step })}`,
    "aside",
  ),
  view("Ranks: one collective", `ranks?ranks=collectives&collective=${collective}`, "aside"),
  view(
    "Ranks: it on all ranks",
    `ranks?ranks=collectives&collective=${collective}&together=1`,
    ".together-picture",
  ),
];
