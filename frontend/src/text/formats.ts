/** Numbers as text. Microseconds become readable units here and nowhere else. */

export const NOTHING = "—";

type Amount = number | null | undefined;

/** How one column writes its durations: one unit and one precision for all of its cells. */
export interface DurationScale {
  readonly unit: "us" | "ms" | "s";
  readonly digits: number;
}

const PER_UNIT = { us: 1, ms: 1e3, s: 1e6 } as const;

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const groupedTenths = new Intl.NumberFormat("en-US", {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});

/** The scale that gives the largest value of a column about four digits. */
export function durationScale(largestUs: number): DurationScale {
  if (largestUs >= 1e7) return { unit: "s", digits: 2 };
  if (largestUs >= 1e5) return { unit: "ms", digits: 1 };
  if (largestUs >= 1e3) return { unit: "ms", digits: 2 };
  return { unit: "us", digits: 1 };
}

/** A duration in the column's scale; what would round to nothing is marked as less than. */
export function scaledDuration(us: Amount, scale: DurationScale): string {
  if (us === null || us === undefined) return NOTHING;
  const value = us / PER_UNIT[scale.unit];
  const least = 10 ** -scale.digits;
  if (value !== 0 && Math.abs(value) < least / 2) {
    return `<${least.toFixed(scale.digits)} ${scale.unit}`;
  }
  return `${fixed(value, scale.digits)} ${scale.unit}`;
}

/** A duration on its own, with the unit that suits it. */
export function duration(us: Amount): string {
  const [number, unit] = durationParts(us);
  return unit === "" ? number : `${number} ${unit}`;
}

/** Number and unit apart, for figures that set them in different sizes. */
export function durationParts(us: Amount): [number: string, unit: string] {
  if (us === null || us === undefined) return [NOTHING, ""];
  const size = Math.abs(us);
  if (size >= 9.9995e6) return [fixed(us / 1e6, size >= 1e8 ? 1 : 2), "s"];
  if (size >= 999.95) return [fixed(us / 1e3, size >= 1e5 ? 1 : 2), "ms"];
  if (size > 0 && size < 0.05) return ["<0.1", "us"];
  return [size === 0 ? "0" : fixed(us, 1), "us"];
}

/** A point in time, to the microsecond: events close to each other stay apart. */
export function instant(us: Amount): string {
  if (us === null || us === undefined) return NOTHING;
  return us >= 9.9995e6 ? `${(us / 1e6).toFixed(6)} s` : `${(us / 1e3).toFixed(3)} ms`;
}

/** A count; a mean per step may have a fraction. */
export function count(value: Amount): string {
  if (value === null || value === undefined) return NOTHING;
  if (Number.isInteger(value)) return grouped.format(value);
  return value > 0 && value < 0.05 ? "<0.1" : groupedTenths.format(value);
}

/** A count; none is a dash. */
export function countOrNothing(value: Amount): string {
  return value === 0 ? NOTHING : count(value);
}

/** "1 call", "2.5 calls". */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** A fraction as per cent, with one decimal. */
export function percent(fraction: Amount): string {
  if (fraction === null || fraction === undefined) return NOTHING;
  const value = fraction * 100;
  if (value > 0 && value < 0.05) return "<0.1%";
  // 99.96 must not read as all of it.
  if (value < 100 && value >= 99.95) return ">99.9%";
  return `${value.toFixed(1)}%`;
}

/** A quotient, as in "2.1×". */
export function times(value: Amount): string {
  if (value === null || value === undefined) return NOTHING;
  if (value >= 1000) return `${grouped.format(value)}×`;
  return `${value.toFixed(value >= 100 ? 0 : 1)}×`;
}

const BYTE_UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

export function bytes(value: Amount): string {
  if (value === null || value === undefined) return NOTHING;
  let size = value;
  let unit = 0;
  while (size >= 1000 && unit < BYTE_UNITS.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${BYTE_UNITS[unit] ?? ""}`;
}

/** What the numbers of a column count. */
export type Unit =
  | "us"
  | "bytes"
  | "count"
  | "fraction"
  | "times"
  | "percent"
  | "flop"
  | "TFLOP/s"
  | "GB/s"
  | "flop/byte";

/** A number on its own, with its unit. */
export function written(value: Amount, unit: Unit): string {
  if (unit === "us") return duration(value);
  if (unit === "bytes") return bytes(value);
  if (unit === "fraction") return percent(value);
  if (unit === "percent") return percent(over100(value));
  if (unit === "flop") return flops(value);
  if (unit === "TFLOP/s" || unit === "GB/s" || unit === "flop/byte") return figure(value);
  return unit === "times" ? times(value) : count(value);
}

const FLOP_UNITS = ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"] as const;

/** Floating-point operations with the unit that suits them. */
export function flops(value: Amount): string {
  if (value === null || value === undefined) return NOTHING;
  let size = value;
  let unit = 0;
  while (size >= 1000 && unit < FLOP_UNITS.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${figure(size)} ${FLOP_UNITS[unit] ?? ""}`;
}

/** A number to three digits; below a thousandth as such. */
export function figure(value: Amount): string {
  if (value === null || value === undefined) return NOTHING;
  if (value > 0 && value < 0.0005) return "<0.001";
  if (value >= 1000) return grouped.format(value);
  return String(Number(value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3)));
}

function over100(value: Amount): Amount {
  return value === null || value === undefined ? value : value / 100;
}

/** Numbers stay on one line with their units. */
export function unbroken(sentence: string): string {
  return sentence.replaceAll(/(?<=\d) (?=(?:us|ms|s|min)\b)/g, "\u00a0");
}

/** Cut a text for places with little room; the rest is counted, not hidden. */
export function clip(text: string, most: number): string {
  return text.length <= most
    ? text
    : `${text.slice(0, most)}… (${grouped.format(text.length)} characters)`;
}

function fixed(value: number, digits: number): string {
  return Math.abs(value) >= 1e4 ? grouped.format(value) : value.toFixed(digits);
}
