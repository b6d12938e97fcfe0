/** A rule that every trace is held against, as `hookview rules --json` prints it. */
export interface WireRule {
  id: string;
  family: string;
  title: string;
  /** false: no trace shows it, and it appears as advice under other findings. */
  visible: boolean;
  /** What in a trace makes it hold. */
  matches: string;
  fix: string;
  reference: string;
  confidence: string;
  advice: string[];
}
