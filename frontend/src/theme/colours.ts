/** Every colour of the page. Hue is meaning: the same in charts and tables, in both modes. */

export interface Palette {
  page: string;
  surface: string;
  line: string;
  text: string;
  muted: string;
  /** Background of what is selected. */
  selected: string;
  hover: string;
  focus: string;
  forward: string;
  backward: string;
  optimizer: string;
  data: string;
  communication: string;
  /** The host between its phases. */
  other: string;
  /** The host at work, whatever its phase. */
  host: string;
  /** The device at work. */
  busy: string;
  idle: string;
  wait: string;
  /** Idle time of the device by its cause, where that has no colour among those above. */
  idleCopy: string;
  idleAllocator: string;
  idleKernels: string;
  idleLaunch: string;
  idleProfiler: string;
  idleUnknown: string;
  /** Time on the critical path that nothing explains. */
  unexplained: string;
  /** Of a comparison: less time than before, and more. */
  less: string;
  more: string;
  /** The same meanings where they colour text. */
  forwardText: string;
  backwardText: string;
  optimizerText: string;
  dataText: string;
  communicationText: string;
  waitText: string;
  /** Text upon the full `sync` colour. */
  onWait: string;
  /** How much colour the palest and the deepest block of a chart hold, in per cent. */
  shadeLeast: number;
  shadeMost: number;
}

export type Mode = "light" | "dark";

export const PALETTES: Readonly<Record<Mode, Palette>> = {
  light: {
    page: "#fbfaf8",
    surface: "#ffffff",
    line: "#e3e1dc",
    text: "#1f2328",
    muted: "#5c6470",
    selected: "#fff2e3",
    hover: "#f5f3ef",
    focus: "#1f6feb",
    forward: "#3d7bd9",
    backward: "#e07b1e",
    optimizer: "#8a63c9",
    data: "#2a9d8a",
    communication: "#b08d00",
    other: "#d3c6ae",
    host: "#90c76b",
    busy: "#56637a",
    idle: "#c6cad1",
    wait: "#c8234f",
    idleCopy: "#382a98",
    idleAllocator: "#6d1458",
    idleKernels: "#cc33ff",
    idleLaunch: "#f2dc6a",
    idleProfiler: "#a9c1fb",
    idleUnknown: "#a4a9b1",
    unexplained: "#352a78",
    less: "#2f8f83",
    more: "#b4593a",
    forwardText: "#2560b5",
    backwardText: "#a04f06",
    optimizerText: "#6f45b3",
    dataText: "#0c7563",
    communicationText: "#735c00",
    waitText: "#b8184a",
    onWait: "#ffffff",
    shadeLeast: 26,
    shadeMost: 82,
  },
  dark: {
    page: "#17191d",
    surface: "#1e2227",
    line: "#31363d",
    text: "#e8eaed",
    muted: "#a0a8b3",
    selected: "#38291a",
    hover: "#262b31",
    focus: "#79b0ff",
    forward: "#6ba3ee",
    backward: "#f0984a",
    optimizer: "#b196e6",
    data: "#3ecf8e",
    communication: "#d3b843",
    other: "#6f6552",
    host: "#668a42",
    busy: "#bcc7d6",
    idle: "#4c525b",
    wait: "#f5587f",
    idleCopy: "#1957bb",
    idleAllocator: "#5c2f86",
    idleKernels: "#7722ff",
    idleLaunch: "#f9e77b",
    idleProfiler: "#2f8fb0",
    idleUnknown: "#a0a8b4",
    unexplained: "#7888b8",
    less: "#4fb3a5",
    more: "#dc8763",
    forwardText: "#84b4f4",
    backwardText: "#f5a55e",
    optimizerText: "#bda6ec",
    dataText: "#58c6b3",
    communicationText: "#dcc560",
    waitText: "#ff6f92",
    onWait: "#1c1013",
    shadeLeast: 20,
    shadeMost: 46,
  },
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
