type Event = Record<string, unknown>;

const PID = 100;
const MAIN = 1;
const AUTOGRAD = 2;
const STEP = 500;

/** Length of the kernels, by module, in the two steps. */
const KERNELS: Readonly<Record<string, { forward: number; backward: [number, number] }>> = {
  a: { forward: 20, backward: [30, 40] },
  b: { forward: 40, backward: [50, 60] },
};

const MODULES = [
  { path: "", class: "Net", file: "net/net.py", line: 3, parameters: 0, bytes: 0 },
  { path: "block", class: "Block", file: "net/block.py", line: 12, parameters: 2, bytes: 8 },
  { path: "block.a", class: "Linear", file: "net/linear.py", line: 5, parameters: 6, bytes: 24 },
  { path: "block.b", class: "Linear", file: "net/linear.py", line: 5, parameters: 10, bytes: 40 },
];

/** The same with the forward of `block.a` in a compiled region. */
export function compiledTrace(): Record<string, unknown> {
  const trace = nestedTrace();
  const region = { ph: "X", cat: "user_annotation", name: "Torch-Compiled Region: 0/0" };
  const added = [0, 1].map((step) => {
    return { ...region, pid: PID, tid: MAIN, ts: step * STEP + 33, dur: 34 };
  });
  return { ...trace, traceEvents: [...(trace.traceEvents as Event[]), ...added] };
}

/** Two steps of a block of two linears, each with one kernel forward and, in training, one backward. */
export function nestedTrace(training = true): Record<string, unknown> {
  const events: Event[] = [];
  let correlation = 0;
  const add = (cat: string, name: string, ts: number, dur: number, args: Event = {}): void => {
    const device = cat === "kernel";
    const tid = device ? 7 : name.startsWith("autograd") ? AUTOGRAD : MAIN;
    events.push({ ph: "X", cat, name, pid: device ? 0 : PID, tid, ts, dur, args });
  };
  const launch = (tid: number, ts: number, dur: number): void => {
    correlation += 1;
    const call = { ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: PID };
    events.push({ ...call, tid, ts, dur: 5, args: { correlation } });
    add("kernel", "gemm", ts + 5, dur, { correlation, device: 0, stream: 7 });
  };
  for (const step of [0, 1] as const) {
    const start = step * STEP;
    const mark = (path: string, className: string, from: number, to: number): void => {
      add("user_annotation", `${path} (${className}) forward ~hv1`, start + from, to - from);
    };
    add("user_annotation", `ProfilerStep#${step + 1}`, start, STEP - 10);
    mark(".", "Net", 10, 150);
    mark("block", "Block", 20, 130);
    Object.entries(KERNELS).forEach(([name, { forward, backward }], index) => {
      const sequence = 2 * step + index + 1;
      const from = 30 + 50 * index;
      mark(`block.${name}`, "Linear", from, from + 40);
      add("cpu_op", "aten::mm", start + from + 5, 30, { "Sequence number": sequence });
      launch(MAIN, start + from + 8, forward);
      if (!training) return;
      const node = start + 240 + 70 * (1 - index);
      add("cpu_op", "autograd::engine::evaluate_function: MmBackward0", node, 60, {
        "Sequence number": sequence,
        "Fwd thread id": MAIN,
      });
      launch(AUTOGRAD, node + 5, backward[step]);
    });
  }
  const manifest = {
    version: 1,
    roots: [""],
    modules: MODULES.map((module) => ({ ...module, trainable: true, marked: true })),
  };
  return { hookview_manifest: manifest, traceEvents: events };
}
