import type { WireRuns } from "../api/types";
import { counted } from "../text/formats";

/** What of the log directory is not in the list; null where all of it is. */
export function leftOut({ left_out: { links, folders } }: WireRuns): string | null {
  const parts = [
    ...(links > 0 ? [`${counted(links, "link")} out of the log directory`] : []),
    ...(folders > 0 ? [`${counted(folders, "folder")} that cannot be read`] : []),
  ];
  return parts.length > 0 ? `Not listed: ${parts.join(", ")}.` : null;
}
