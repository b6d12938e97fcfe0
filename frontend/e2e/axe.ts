import axe from "axe-core";
import type { Page } from "playwright-core";

declare global {
  interface Window {
    axe: typeof axe;
  }
}

export const MODES = ["light", "dark"] as const;
export type Mode = (typeof MODES)[number];

/**
 * Every fault that axe finds on a page: contrast, names, headings, landmarks, with the elements concerned. axe runs in the page
 * itself: its own adapter opens a page with a process of its own for every result.
 */
export async function seriousFaults(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.html.slice(0, 200)}`),
    );
  });
}

/** The same in light mode and in dark mode. */
export async function seriousFaultsInModes(page: Page): Promise<string[]> {
  const faults: string[] = [];
  for (const mode of MODES) {
    await show(page, mode);
    for (const fault of await seriousFaults(page)) faults.push(`${mode} mode: ${fault}`);
  }
  return faults;
}

/** Show a page that is open in a mode. */
export async function show(page: Page, mode: Mode): Promise<void> {
  await page.emulateMedia({ colorScheme: mode });
  await page.locator(`html[data-mode=${mode}]`).waitFor();
}
