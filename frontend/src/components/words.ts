import { createContext, use } from "react";

import { ofTrace } from "../text/definitions";

/** Whether what is shown marks steps; else its numbers are of a whole trace. */
export const MarkedContext = createContext(true);

/** How our own words are said of what is shown. */
export function useWords(): (text: string) => string {
  return use(MarkedContext) ? said : ofTrace;
}

function said(text: string): string {
  return text;
}
