/** Names of kernels as people say them; what a trace holds is the whole signature. */

import { groupBy } from "./numbers";

/** "volta_sgemm_128x64_tn" is "sgemm 128x64 tn"; what is no kernel's name stays as it is. */
export function shortKernelName(name: string): string {
  const known = shortened.get(name);
  if (known !== undefined) return known;
  const short = shorten(name.slice(0, MOST_READ));
  if (shortened.size >= MOST_KNOWN) shortened.clear();
  shortened.set(name, short);
  return short;
}

/** Characters of a difference. */
const MOST = 120;

/** Of single kernels that are alike in short, the part in which each differs from the others. */
export function differences(names: readonly string[]): ReadonlyMap<string, string> {
  const single = new Set(names.filter((name) => !name.includes("\n")));
  const groups = groupBy([...single], shortKernelName);
  const found = [...groups].flatMap(([, alike]): [string, string][] => {
    const [first, ...others] = alike;
    if (others.length === 0) return [];
    const start = Math.min(...others.map((name) => sharedLength(first, name)));
    const end = Math.min(
      ...others.map((name) => sharedEnd(first, name)),
      ...alike.map((name) => name.length - start),
    );
    // A mangled name is one word.
    const word = first.startsWith("_Z") ? "" : "\\w*";
    const from = new RegExp(`${word}$`).exec(first.slice(0, start))?.index ?? start;
    return alike.map((name) => {
      const rest = new RegExp(`^${word}`).exec(name.slice(name.length - end))?.[0].length ?? 0;
      const part = name.slice(from, name.length - end + rest);
      return [name, part.length > MOST ? `${part.slice(0, MOST)}…` : part];
    });
  });
  return new Map(found);
}

function sharedLength(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
}

function sharedEnd(one: string, other: string): number {
  let count = 0;
  while (count < one.length && one.at(-1 - count) === other.at(-1 - count)) count++;
  return count;
}

const shortened = new Map<string, string>();
const MOST_KNOWN = 5000;
const MOST_READ = 1000;

function shorten(name: string): string {
  const generated = generatedName(name);
  if (generated !== null) return generated;
  if (name.startsWith("_Z")) return plain(mangledName(name)) || name;
  if (!isSignature(name)) return name;
  const whole = name.replaceAll("(anonymous namespace)::", "");
  const path = pathOf(whole);
  const own = path.at(-1) ?? "";
  const of = whole.slice(Math.max(whole.indexOf(`${own}<`), 0) + own.length);
  if (own === "kernel") return path.at(-2) ?? own;
  if (WRAPPERS.test(own)) return shortOfWrapped(of, own);
  const operation = GENERIC.test(own) ? operationOf(of) : null;
  const short = plain(GENERIC.exec(own)?.[1] ?? own);
  return operation === null ? short || name : `${short} ${operation}`;
}

/**
 * A C++ function with its template arguments or parameters, as profilers demangle it. A letter in
 * brackets is no parameter: "dispatch(F)" is somebody's annotation.
 */
function isSignature(name: string): boolean {
  return (
    !/[^:]: |^</.test(name) && (name.includes("<") || /^[\w:]+ ?[\w:]*\((?!\w\)$).*\)$/.test(name))
  );
}

/** Kernels whose work is that of their template argument. */
const WRAPPERS = /^(Kernel2?|device_kernel|kentry)$/;
/** What keeps a kernel from architectures that it is not for. */
const GUARD = /^(?:\w+::)*enable_sm\d\w*(?=<)/;
const GENERIC =
  /^(?:vectorized_|unrolled_|legacy_)?(elementwise|reduce|multi_tensor_apply|index_elementwise)_kernel/;

function shortOfWrapped(argument: string, own: string): string {
  const whole = within(argument);
  const guard = GUARD.exec(whole)?.[0];
  const inner = guard === undefined ? whole : within(whole.slice(guard.length));
  const generated = generatedName(inner) ?? flash(inner);
  if (generated !== null) return generated;
  const parts = pathOf(inner).filter((part) => !/^(kernel|device|detail)$/.test(part));
  return plain(parts.slice(-2).join("::")) || own;
}

/** What an elementwise kernel or a reduction computes: the first functor that says so. */
function operationOf(text: string): string | null {
  const found = text.matchAll(
    /(\w+?)_kernel_(?:cuda|impl)\b|CUDAFunctor_?(\w+)|(\w+?)_?(?:Functor|functor|Ops)\b/g,
  );
  for (const [, kernel, added, functor] of found) {
    const operation = kernel ?? added ?? functor ?? "";
    if (operation !== "" && !/^(AUnary|BUnary|Binary|Unary|gpu)$/.test(operation))
      return operation.toLowerCase();
  }
  return null;
}

/** The parts of a function's path, without return type, template arguments and parameters. */
function pathOf(signature: string): string[] {
  const open: string[] = [];
  let outside = "";
  for (const character of signature) {
    if (character === "<" || character === "(") {
      open.push(character);
    } else if (character === ")" || (character === ">" && open.at(-1) === "<")) {
      open.pop();
      if (character === ")" && open.length === 0) break;
    } else if (open.length === 0) outside += character;
  }
  return (outside.trim().split(" ").at(-1) ?? "").split("::").filter((part) => part !== "");
}

/** What is within the bracket that a text begins with. */
function within(text: string): string {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "<") depth++;
    else if (text[at] === ">" && --depth === 0) return text.slice(1, at);
  }
  return text.slice(1);
}

/** The last part of a mangled name; of a wrapper, of what it wraps. */
function mangledName(name: string): string {
  let own = "";
  let rest = name.replace(/^_ZN?/, "");
  while (rest !== "") {
    const digits = /^\d+/.exec(rest)?.[0];
    if (digits !== undefined) {
      const end = digits.length + Number(digits);
      own = rest.slice(digits.length, end);
      rest = rest.slice(end);
    } else if (rest.startsWith("I") && own !== "") {
      if (!WRAPPERS.test(own)) return own;
      rest = rest.replace(/^I(?:L\w\d+E)*N?S\d*_/, "").replace(/^I/, "");
    } else if (/^S\d*_/.test(rest)) rest = rest.replace(/^S\d*_/, "");
    else return own;
  }
  return own;
}

function plain(name: string): string {
  return name.replace(/_?(?:cuda_)?[kK]ernel$/, "").replace(/^_+(?=\w)/, "") || name;
}

/** Names that libraries generate: of matrix products, convolutions and collectives. */
function generatedName(name: string): string | null {
  return tensile(name) ?? cuda(name) ?? implicit(name) ?? collective(name);
}

const TENSILE_TYPES: Readonly<Record<string, string>> = { B: "bf16", H: "f16", S: "f32", D: "f64" };

function tensile(name: string): string | null {
  const found = /^Cijk_A(l|i)\w+_B(l|j)\w+?_([A-Z])\w*?_MT(\d+x\d+(?:x\d+)?)/.exec(name);
  if (found === null) return null;
  const [, a, b, type = "", tile = ""] = found;
  const layout = `${a === "l" ? "t" : "n"}${b === "l" ? "n" : "t"}`;
  return `gemm ${TENSILE_TYPES[type] ?? type} ${tile} ${layout}`;
}

const CUDA_LIBRARIES =
  /^(?:_5x_)?(?:cudnn_)?(?:infer_)?(?:maxwell|pascal|volta|turing|ampere|hopper|blackwell|cutlass|sm\d+|nvjet)_/;

/** cuBLAS, cuDNN and CUTLASS: what it computes, its tile and its layout. */
function cuda(name: string): string | null {
  if (!CUDA_LIBRARIES.test(name)) return null;
  const tile = /(?:^|_|tilesize)(\d+x\d+)(?=x\d+|_|$)/.exec(name)?.[1];
  const layout = /_([nt]{2,3})(?=_|$)/i.exec(name)?.[1];
  const what = /_((?:[schdz]|gc|i)?(?:gemm|cudnn))(?=_)/.exec(name)?.[1] ?? /nvjet/.exec(name)?.[0];
  const product = what ?? (name.includes("gemm") ? "gemm" : /fprop|dgrad|wgrad/.exec(name)?.[0]);
  if (product === undefined || tile === undefined) return null;
  const type = /bf16|f16|tf32|e4m3/.exec(name)?.[0];
  const more = /winograd|relu/.exec(name)?.[0];
  return [product, type, more, tile, layout?.toLowerCase()].filter(Boolean).join(" ");
}

/** MIOpen's convolutions. */
function implicit(name: string): string | null {
  const found = /^(igemm_[a-z]+)_gtc\w*?_(bf16|fp16|fp32)_\w*?bt(\d+x\d+x\d+)/.exec(name);
  return found === null ? null : found.slice(1).join(" ");
}

/** FlashAttention for Hopper: the class is what older versions name as a function. */
function flash(name: string): string | null {
  const found = /^(?:\w+::)*FlashAttn(Fwd|Bwd)(\w*?)(?:Sm\d+)?</.exec(name);
  if (found === null) return null;
  const [, pass = "", part = ""] = found;
  return `flash_${pass}${part.replaceAll(/(?=[A-Z])/g, "_")}`.toLowerCase();
}

function collective(name: string): string | null {
  const found = /^nccl(?:Dev)?Kernel_([A-Za-z]+)/.exec(name);
  return found === null ? null : `nccl ${found[1] ?? ""}`;
}
