import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PYTHON = process.env.HOOKVIEW_PYTHON ?? process.env.PYTHON ?? "python3";
const ROOT = join(import.meta.dirname, "..", "..");
const PATIENCE_MS = 120_000;

export interface Server {
  /** With a slash at the end. */
  url: string;
  stop: () => Promise<void>;
}

/** `hookview serve` on a free port. */
export function serve(path: string): Promise<Server> {
  return start(["-m", "tb_hookview.cli", "serve", path, "--port", "0"]);
}

/** TensorBoard on a free port. */
export function tensorboard(logdir: string): Promise<Server> {
  return start([
    "-m",
    "tensorboard.main",
    "--logdir",
    logdir,
    "--port",
    "0",
    "--host",
    "127.0.0.1",
  ]);
}

async function start(args: string[]): Promise<Server> {
  const cache = mkdtempSync(join(tmpdir(), "hookview-cache-"));
  const env = { ...process.env, HOOKVIEW_CACHE: cache, PYTHONUNBUFFERED: "1" };
  const child = spawn(PYTHON, args, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
  const stop = async (): Promise<void> => {
    await ended(child);
    rmSync(cache, { recursive: true, force: true });
  };
  try {
    return { url: await address(child, args), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function address(child: ChildProcess, args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    const fail = (why: string): void => {
      const last = said.trim().split("\n").at(-1) ?? "";
      reject(new Error(`${PYTHON} ${args.join(" ")}: ${why}: ${last}\n${said}`));
    };
    const timer = setTimeout(() => {
      fail("no address in time");
    }, PATIENCE_MS);
    const listen = (chunk: Buffer): void => {
      said += chunk.toString();
      const found = /http:\/\/127\.0\.0\.1:\d+\//.exec(said);
      if (found === null) return;
      clearTimeout(timer);
      resolve(found[0]);
    };
    child.stdout?.on("data", listen);
    child.stderr?.on("data", listen);
    child.once("error", (error) => {
      clearTimeout(timer);
      fail(error.message);
    });
    child.once("exit", (code) => {
      clearTimeout(timer);
      fail(`ended with ${String(code)}`);
    });
  });
}

function ended(child: ChildProcess): Promise<void> {
  const never = child.pid === undefined;
  if (never || child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once("exit", () => {
      resolve();
    });
    child.kill("SIGTERM");
  });
}
