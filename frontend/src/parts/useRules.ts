import type { WireRule } from "../api/rules";
import { useServices } from "./context";
import { useLoad } from "./useLoad";

/** The rules that traces are held against; null until they are there, or where they cannot be had. */
export function useRules(): readonly WireRule[] | null {
  const { api } = useServices();
  const rules = useLoad(api.rules);
  return rules.status === "ready" ? rules.value : null;
}
