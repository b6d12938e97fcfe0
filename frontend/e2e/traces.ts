import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** Log directories for the tests: real ones from data/, and small traces with a device made here. */

const RECORDED = join(import.meta.dirname, "../../sample_traces/cpu");
const REAL = join(import.meta.dirname, "data", "worker0.1.pt.trace.json.gz");

export interface LogDir {
  path: string;
  /** Copy the recorded trace into a run. */
  addReal: (run: string) => void;
  /**
   * Write a trace with a device, with one module per entry; at its end the profiler waits for the
   * device for `stopUs`.
   */
  addDevice: (run: string, modules: ModuleSpec[], worker?: string, stopUs?: number) => void;
  /** Write the traces of some ranks, one of which is slower in the module `b`. */
  addRanks: (run: string, ranks: number, late: number) => void;
  /** Copy a run that was recorded on the CPU, `late_rank.late` and others. */
  addRecorded: (run: string, recorded: string) => void;
  /** Write a trace whose one kernel has no launch: its steps have no critical path. */
  addLostLaunches: (run: string) => void;
  addFile: (name: string, content: string) => void;
  remove: () => void;
}

export interface ModuleSpec {
  path: string;
  className: string;
  /** How long the host waits for the device in this module's backward, in microseconds. */
  syncUs?: number;
  /** Name of the kernels that it launches. */
  kernel?: string;
}

export function makeLogDir(): LogDir {
  return logDirAt(mkdtempSync(join(tmpdir(), "hookview-e2e-")));
}

export function logDirAt(path: string): LogDir {
  const addFile = (name: string, content: string): void => {
    const file = join(path, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  };
  return {
    path,
    addFile,
    addReal: (run) => {
      mkdirSync(join(path, run), { recursive: true });
      copyFileSync(REAL, join(path, run, "worker0.1.pt.trace.json.gz"));
    },
    addDevice: (run, modules, worker = "gpu0", stopUs = 0) => {
      addFile(
        join(run, `${worker}.1.pt.trace.json`),
        JSON.stringify({ traceEvents: deviceTrace(modules, stopUs) }),
      );
    },
    addRanks: (run, ranks, late) => {
      for (let rank = 0; rank < ranks; rank++) {
        const trace = rankTrace(rank, ranks, rank === late);
        addFile(join(run, `rank${rank}.1.pt.trace.json`), JSON.stringify(trace));
      }
    },
    addRecorded: (run, recorded) => {
      cpSync(join(RECORDED, recorded), join(path, run), { recursive: true });
    },
    addLostLaunches: (run) => {
      addFile(`${run}/w.1.pt.trace.json`, JSON.stringify({ traceEvents: lostLaunches() }));
    },
    remove: () => {
      rmSync(path, { recursive: true, force: true });
    },
  };
}

type Event = Record<string, unknown>;

const PID = 100;
const MAIN = 1;
const AUTOGRAD = 2;
const SLOT = 100;

/**
 * One step: a forward of every module in turn, then their backward in reverse on another thread.
 * Each forward and each backward launches one kernel of 40 us; a module that waits calls
 * cudaStreamSynchronize in its backward.
 */
function deviceTrace(modules: ModuleSpec[], stopUs = 0): Event[] {
  const events: Event[] = [];
  let correlation = 0;
  let now = 10;
  const add = (
    cat: string,
    name: string,
    ts: number,
    dur: number,
    tid: number,
    args: Event = {},
  ): void => {
    events.push({ ph: "X", cat, name, pid: PID, tid, ts, dur, args });
  };
  const launch = (tid: number, ts: number, name = "gemm"): void => {
    correlation += 1;
    add("cuda_runtime", "cudaLaunchKernel", ts, 5, tid, { correlation });
    const args = { correlation, device: 0, stream: 7 };
    events.push({
      ph: "X",
      cat: "kernel",
      name,
      pid: 0,
      tid: 7,
      ts: ts + 10,
      dur: 40,
      args,
    });
  };
  modules.forEach((module, index) => {
    add("user_annotation", mark(module), now, SLOT - 10, MAIN);
    add("cpu_op", "aten::linear", now + 5, 60, MAIN, { "Sequence number": index + 1 });
    launch(MAIN, now + 10, module.kernel);
    now += SLOT;
  });
  [...modules.entries()].reverse().forEach(([index, { syncUs = 0, kernel }]) => {
    const node = "autograd::engine::evaluate_function: LinearBackward0";
    const length = SLOT - 10 + syncUs;
    add("cpu_op", node, now, length, AUTOGRAD, {
      "Sequence number": index + 1,
      "Fwd thread id": MAIN,
    });
    launch(AUTOGRAD, now + 10, kernel);
    if (syncUs > 0) {
      add("cpu_op", "aten::item", now + 20, syncUs + 10, AUTOGRAD, {});
      add("cuda_runtime", "cudaStreamSynchronize", now + 22, syncUs, AUTOGRAD, {
        correlation: ++correlation,
      });
    }
    now += length + 10;
  });
  if (stopUs > 0) {
    add("cuda_runtime", "cudaDeviceSynchronize", now, stopUs, MAIN, { correlation: ++correlation });
    now += stopUs;
  }
  add("user_annotation", "ProfilerStep#1", 0, now + 50, MAIN);
  return events;
}

/** A step, a kernel, and a launch of another kernel, which the trace does not have. */
function lostLaunches(): Event[] {
  const kernel = { ph: "X", cat: "kernel", name: "k", pid: 0, tid: 7, ts: 20, dur: 50 };
  const step = { ph: "X", cat: "user_annotation", name: "ProfilerStep#1", pid: 1, tid: 1 };
  const call = { ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 1, tid: 1 };
  return [
    { ...kernel, args: { correlation: 9, device: 0, stream: 7 } },
    { ...step, ts: 0, dur: 100 },
    { ...call, ts: 5, dur: 5, args: { correlation: 1 } },
  ];
}

const [STEPS, SPELL, TRANSFER, LATE] = [4, 5000, 1000, 6000];

/** Steps of one rank: the modules `a` and `b`, then a collective that ends at once on all ranks. */
function rankTrace(rank: number, ranks: number, late: boolean): unknown {
  const events: Event[] = [];
  const add = (cat: string, name: string, ts: number, dur: number, args: Event = {}): void => {
    events.push({ ph: "X", cat, name, pid: 9, tid: 9, ts, dur, args });
  };
  for (let step = 0; step < STEPS; step++) {
    const begin = 100_000 * (rank + 1) + step * (2 * SPELL + LATE + TRANSFER);
    const end = begin + 2 * SPELL + LATE + TRANSFER;
    add("user_annotation", `ProfilerStep#${step}`, begin, end - begin);
    let now = begin;
    for (const path of ["a", "b"]) {
      const length = SPELL + (late && path === "b" ? LATE : 0);
      add("cpu_op", `${path} (Linear) forward ~hv1`, now, length);
      add("cpu_op", "aten::mm", now, length / 2);
      now += length;
    }
    const group = {
      "Process Group Name": "0",
      "Process Group Description": "mesh_dp",
      "Group size": ranks,
    };
    const message = { "In msg nelems": 1000, "Out msg nelems": 1000, dtype: "Float", Seq: step };
    add("cpu_op", "record_param_comms", now, 20, {
      "Collective name": "allreduce",
      ...group,
      ...message,
    });
    const correlation = step + 1;
    add("cuda_runtime", "cudaLaunchKernel", now, 10, { correlation });
    const kernel = { pid: 0, tid: 7, ts: now + 20, dur: end - now - 20 };
    const args = { correlation, device: 0, stream: 7 };
    events.push({ ph: "X", cat: "kernel", name: "ncclDevKernel_AllReduce", ...kernel, args });
  }
  return { distributedInfo: { backend: "nccl", rank, world_size: ranks }, traceEvents: events };
}

/** The name of a forward range, as the recorder writes it. */
function mark({ path, className }: ModuleSpec): string {
  return `${escaped(path)} (${escaped(className)}) forward ~hv1`;
}

function escaped(text: string): string {
  return (
    encodeURIComponent(text).replace(/[()!'*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`) || "."
  );
}
