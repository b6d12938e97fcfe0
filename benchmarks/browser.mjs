// A browser and a server for programs that look at the page: Chromium by playwright-core of
// frontend/, and hookview or TensorBoard of the Python that HOOKVIEW_PYTHON names.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
export const PYTHON = process.env.HOOKVIEW_PYTHON ?? join(ROOT, ".venv/bin/python");
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run"];
const QUIET = ["--disable-background-networking", "--disable-component-update", "--disable-sync"];
/** Flags of a browser whose frames take as long as they take. */
export const UNLIMITED_FRAMES = ["--disable-frame-rate-limit", "--disable-gpu-vsync"];
const PATIENCE_MS = 60_000;
/** What Linux counts processor time in, on every machine that Chromium runs on. */
const TICKS_PER_SECOND = 100;

/** Headless Chromium with a profile folder of its own, and with more flags where given. */
export function launch(more = []) {
  const { chromium } = createRequire(join(ROOT, "frontend/package.json"))("playwright-core");
  return chromium.launch({ executablePath: CHROMIUM, args: [...FLAGS, ...QUIET, ...more] });
}

/** The page by itself, with an empty cache: `{ url, stop, cpuSeconds }`. Paths are shown as from `folder`. */
export function serve(path, folder = ROOT) {
  return start(["-m", "tb_hookview.cli", "serve", path, "--port", "0"], folder);
}

/** TensorBoard with our tab alone (`with`), or `beside` that of torch-tb-profiler: `{ url, stop }`. */
export function tensorboardWith(which, logdir) {
  return start([join(import.meta.dirname, "starting/tensorboard_once.py"), which, logdir], ROOT);
}

/** TensorBoard with every tab that is installed: `{ url, stop }`. */
export function tensorboard(logdir) {
  const place = ["--port", "0", "--host", "127.0.0.1"];
  return start(["-m", "tensorboard.main", "--logdir", logdir, ...place], ROOT);
}

/** Processor time of a process and of the children it has waited for; null where /proc is not there. */
function cpuSeconds(pid) {
  try {
    const after = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ");
    return after.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND;
  } catch {
    return null;
  }
}

async function start(args, cwd) {
  const cache = mkdtempSync(join(tmpdir(), "hookview-"));
  const ours = { HOOKVIEW_CACHE: cache, PYTHONPATH: ROOT, PYTHONUNBUFFERED: "1" };
  const env = { ...process.env, ...ours };
  const child = spawn(PYTHON, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"], detached: true });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const stop = async () => {
    // Its whole group: torch-tb-profiler's readers would go on without it.
    if (child.exitCode === null) process.kill(-child.pid, "SIGTERM");
    await ended;
    rmSync(cache, { recursive: true, force: true });
  };
  let said = "";
  const url = await new Promise((resolve) => {
    const listen = (chunk) => {
      said += chunk;
      const found = /http:\/\/127\.0\.0\.1:\d+\//.exec(said);
      if (found !== null) resolve(found[0]);
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    void ended.then(() => resolve(null));
    setTimeout(() => resolve(null), PATIENCE_MS).unref();
  });
  if (url !== null) return { url, stop, cpuSeconds: () => cpuSeconds(child.pid) };
  await stop();
  throw new Error(`${PYTHON} ${args.join(" ")} gave no address; it said:\n${said}`);
}
