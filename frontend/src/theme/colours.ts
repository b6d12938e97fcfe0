/** Every colour of the page. Hue is meaning: the same in charts and tables, in both modes. */

const COLOURS = {
  page: ["#fbfaf8", "#17191d"],
  surface: ["#ffffff", "#1e2227"],
  line: ["#e3e1dc", "#31363d"],
  text: ["#1f2328", "#e8eaed"],
  muted: ["#5c6470", "#a0a8b3"],
  /** Background of what is selected. */
  selected: ["#fff2e3", "#38291a"],
  hover: ["#f5f3ef", "#262b31"],
  focus: ["#1f6feb", "#79b0ff"],
  forward: ["#3d7bd9", "#6ba3ee"],
  backward: ["#e07b1e", "#f0984a"],
  optimizer: ["#8a63c9", "#b196e6"],
  data: ["#2a9d8a", "#3ecf8e"],
  communication: ["#b08d00", "#d3b843"],
  /** The host between its phases. */
  other: ["#d3c6ae", "#6f6552"],
  /** The host at work, whatever its phase. */
  host: ["#90c76b", "#668a42"],
  /** The device at work. */
  busy: ["#56637a", "#bcc7d6"],
  idle: ["#c6cad1", "#4c525b"],
  wait: ["#c8234f", "#f5587f"],
  /** Idle time of the device by its cause, where that has no colour among those above. */
  idleCopy: ["#382a98", "#1957bb"],
  idleAllocator: ["#6d1458", "#5c2f86"],
  idleKernels: ["#cc33ff", "#7722ff"],
  idleLaunch: ["#f2dc6a", "#f9e77b"],
  idleProfiler: ["#a9c1fb", "#2f8fb0"],
  idleUnknown: ["#a4a9b1", "#a0a8b4"],
  /** Time on the critical path that nothing explains. */
  unexplained: ["#352a78", "#7888b8"],
  /** Of a comparison: less time than before, and more. */
  less: ["#2f8f83", "#4fb3a5"],
  more: ["#b4593a", "#dc8763"],
  /** The same meanings where they colour text. */
  forwardText: ["#2560b5", "#84b4f4"],
  backwardText: ["#a04f06", "#f5a55e"],
  optimizerText: ["#6f45b3", "#bda6ec"],
  dataText: ["#0c7563", "#58c6b3"],
  communicationText: ["#735c00", "#dcc560"],
  waitText: ["#b8184a", "#ff6f92"],
  /** Text upon the full `sync` colour. */
  onWait: ["#ffffff", "#1c1013"],
  /** How much colour the palest and the deepest block of a chart hold, in per cent. */
  shadeLeast: [26, 20],
  shadeMost: [82, 46],
} as const satisfies Record<
  string,
  readonly [light: string, dark: string] | readonly [light: number, dark: number]
>;

type Name = keyof typeof COLOURS;

export type Palette = {
  readonly [N in Name]: (typeof COLOURS)[N][0] extends number ? number : string;
};

export type Mode = "light" | "dark";

function paletteOf(at: 0 | 1): Palette {
  return Object.fromEntries(
    Object.entries(COLOURS).map(([name, values]) => [name, values[at]]),
  ) as unknown as Palette;
}

export const PALETTES: Readonly<Record<Mode, Palette>> = {
  light: paletteOf(0),
  dark: paletteOf(1),
};

/** What the colours of charts are called, by the parts that they show. */
export const PHASE_COLOURS = {
  forward: "forward",
  backward: "backward",
  optimizer: "optimizer",
  data: "data",
  other: "other",
} as const satisfies Record<string, keyof Palette>;

/** The device at work, and idle by cause. Host phases have other colours. */
export const DEVICE_COLOURS = {
  busy: "busy",
  sync: "wait",
  data_loading: "data",
  copy: "idleCopy",
  allocator: "idleAllocator",
  kernel_loading: "idleKernels",
  launch: "idleLaunch",
  communication: "communication",
  profiler: "idleProfiler",
  device: "idle",
  unknown: "idleUnknown",
} as const satisfies Record<string, keyof Palette>;

/** Classes of live bytes, and all of them together where they are unknown. */
export const MEMORY_COLOURS = {
  parameter: "busy",
  optimizer_state: "optimizer",
  gradient: "backward",
  activation: "forward",
  recomputed: "communication",
  input: "data",
  temporary: "idleLaunch",
  before_recording: "idle",
  workspace: "idleKernels",
  unknown: "idleUnknown",
  allocated: "forward",
} as const satisfies Record<string, keyof Palette>;

/** What passes the time of the critical path. Latencies are idle time although work is queued. */
export const PATH_COLOURS = {
  host: "host",
  data: "data",
  device: "busy",
  communication: "communication",
  wait: "idle",
  unexplained: "unexplained",
} as const satisfies Record<string, keyof Palette>;

/** Hues of names, where a chart is coloured by these; none has a meaning of its own. */
export const NAME_COLOURS: readonly string[] = [
  ...["#4477aa", "#ee6677", "#228833", "#b8a832", "#3a9ec4", "#aa3377"],
  ...["#e07b39", "#6a51a3", "#1b9e77", "#a6761d", "#7a8fb8", "#c9618c"],
];

/** How each of the server's colours looks; one it does not know of looks like idle time. */
export function coloursOf(meanings: readonly string[], palette: Palette): string[] {
  const known = new Map<string, string>([
    ["forward", palette.forward],
    ["backward", palette.backward],
    ["optimizer", palette.optimizer],
    ["data", palette.data],
    ["other", palette.other],
    ["wait", palette.wait],
    ["communication", palette.communication],
    ["host", palette.host],
    ["device", palette.busy],
    ["latency", palette.idle],
    ["unexplained", palette.unexplained],
    ...Object.entries(DEVICE_COLOURS).map(([cause, name]): [string, string] => [
      `idle_${cause}`,
      palette[name],
    ]),
  ]);
  return meanings.map((meaning) => known.get(meaning) ?? palette.idle);
}

/** A colour as a style's value. */
export function colourOf(name: keyof Palette): string {
  return `var(${property(name)})`;
}

/** The palettes as custom properties; `:root[data-mode]` says which one holds. */
export function paletteSheet(): string {
  return (Object.keys(PALETTES) as Mode[])
    .map(
      (mode) => `:root[data-mode="${mode}"]{color-scheme:${mode};${declarations(PALETTES[mode])}}`,
    )
    .join("\n");
}

function declarations(palette: Palette): string {
  return Object.entries(palette)
    .map(([name, value]: [string, string | number]) =>
      typeof value === "number" ? `${property(name)}:${value}%;` : `${property(name)}:${value};`,
    )
    .join("");
}

function property(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Colours as numbers, for what no style sheet reaches. */

export type Rgb = readonly [red: number, green: number, blue: number];

/** `#rrggbb` as bytes. */
export function bytesOf(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** A share of a colour on a ground. */
export function mixed(ground: Rgb, colour: Rgb, share: number): Rgb {
  const between = (at: 0 | 1 | 2): number =>
    Math.round(ground[at] + (colour[at] - ground[at]) * share);
  return [between(0), between(1), between(2)];
}

/** Of two colours the one that is easier to read on a third. */
export function readableOn(ground: Rgb, one: string, other: string): string {
  const contrast = (ink: string): number => {
    const [a, b] = [luminance(bytesOf(ink)), luminance(ground)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  return contrast(one) >= contrast(other) ? one : other;
}

/** How light a colour is, as WCAG 2 defines it. */
function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map((byte) => {
    const share = byte / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
