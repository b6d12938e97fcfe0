/** A host wait of this share of the step is where someone should look; below, it stays quiet. */
export const WAIT_SHARE = 0.01;

/** Whether a wait deserves crimson, given the length of what it is measured against. */
export function deservesLook(waitUs: number | null, wholeUs: number): boolean {
  return waitUs !== null && waitUs > 0 && wholeUs > 0 && waitUs >= WAIT_SHARE * wholeUs;
}
