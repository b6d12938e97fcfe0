import type { Page } from "playwright-core";
import { expect } from "vitest";

/** Frames without a change of the document after which a view counts as drawn. */
const QUIET_FRAMES = 3;

/** The requests of a page: the addresses of all, and those without a whole response yet. */
export class Requests {
  sent: string[] = [];
  private readonly open = new Set<unknown>();

  constructor(page: Page) {
    page.on("request", (request) => {
      this.sent.push(request.url());
      this.open.add(request);
    });
    for (const end of ["requestfinished", "requestfailed"] as const) {
      page.on(end as "requestfinished", (request) => this.open.delete(request));
    }
  }

  get underWay(): number {
    return this.open.size;
  }

  forget(): void {
    this.sent = [];
    this.open.clear();
  }
}

/** Wait until a view has all that it asked for and has drawn it: no request, no change, nothing busy. */
export async function settled(page: Page, requests: Requests): Promise<void> {
  await page.locator(".content-inner[aria-busy=false]").waitFor();
  const unrest = async () => {
    const before = requests.sent.length;
    const changes = await page.evaluate(changesWithin, QUIET_FRAMES);
    const busy = await page.locator(".content :is([aria-busy=true], progress)").count();
    return { changes, busy, underWay: requests.underWay, sent: requests.sent.length - before };
  };
  await expect.poll(unrest).toEqual({ changes: 0, busy: 0, underWay: 0, sent: 0 });
}

/** Runs in the page: changes of the document within some frames. */
function changesWithin(frames: number): Promise<number> {
  return new Promise((resolve) => {
    let changes = 0;
    const observer = new MutationObserver((all) => (changes += all.length));
    observer.observe(document, {
      attributes: true,
      characterData: true,
      childList: true,
      subtree: true,
    });
    const frame = (left: number) => {
      if (left > 0) {
        requestAnimationFrame(() => {
          frame(left - 1);
        });
        return;
      }
      observer.disconnect();
      resolve(changes);
    };
    frame(frames);
  });
}
