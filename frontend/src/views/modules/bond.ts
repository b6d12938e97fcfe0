/** What binds icicle and table: the same module selected and hovered in both. */
export interface Bond {
  selected: number | null;
  hovered: number | null;
  onHover: (index: number | null) => void;
}
