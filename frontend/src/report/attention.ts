/** A host wait of this share of the step is where someone should look; below, it stays quiet. */
export const WAIT_SHARE = 0.01;

/** Cause of the call that the profiler itself makes as it stops: no fault of the training. */
const PROFILER = "profiler";

/** The waits that somebody could do without. */
export function avoidable<T extends { cause: string }>(syncs: readonly T[]): T[] {
  return syncs.filter((sync) => sync.cause !== PROFILER);
}

/** Whether a wait deserves crimson, given the length of what it is measured against. */
export function deservesLook(waitUs: number | null, wholeUs: number): boolean {
  return waitUs !== null && waitUs > 0 && wholeUs > 0 && waitUs >= WAIT_SHARE * wholeUs;
}
