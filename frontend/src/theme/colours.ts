/** Every colour of the page. Hue is meaning: the same in charts and tables, in both modes. */

export interface Palette {
  page: string;
  surface: string;
  line: string;
  text: string;
  muted: string;
  /** Behind what is selected. */
  selected: string;
  hover: string;
  focus: string;
  forward: string;
  backward: string;
  optimizer: string;
  data: string;
  communication: string;
  idle: string;
  wait: string;
  /** The same meanings where they colour text. */
  forwardText: string;
  backwardText: string;
  optimizerText: string;
  dataText: string;
  communicationText: string;
  waitText: string;
  /** Text upon the full `wait` colour. */
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
    idle: "#c6cad1",
    wait: "#c8234f",
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
    data: "#4fbdaa",
    communication: "#d3b843",
    idle: "#4c525b",
    wait: "#f5587f",
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
