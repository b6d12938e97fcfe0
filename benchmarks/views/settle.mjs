// What runs in the page: when a view is there, and what was asked for until then.

/**
 * Before the page's own script: counts answers that are awaited, as `waiting` of the window, and
 * gathers what moves by itself, as `shifts`.
 */
export function watchPage() {
  window.shifts = [];
  window.shiftObserver = new PerformanceObserver((list) => window.shifts.push(...list.getEntries()));
  window.shiftObserver.observe({ type: "layout-shift", buffered: true });
  const own = window.fetch.bind(window);
  window.waiting = 0;
  performance.setResourceTimingBufferSize(10_000);
  window.fetch = async (...asked) => {
    window.waiting += 1;
    let answer;
    try {
      answer = await own(...asked);
    } catch (error) {
      window.waiting -= 1;
      throw error;
    }
    const read = answer.clone().arrayBuffer();
    void read.catch(() => {}).finally(() => (window.waiting -= 1));
    return answer;
  };
}

/**
 * Go to an address, or make the reader's move; how long until `ready` is in the page, no part of it
 * is busy, each canvas that `ready` names is drawn, and no answer is awaited. This must stay so for a
 * while, which is not counted: what is asked for late begins the wait again.
 */
export async function settle({ ready, hash, move }) {
  const QUIET_MS = 400;
  const LONGEST_MS = 180_000;
  const main = () => document.querySelector("main") ?? document.body;
  /** A canvas in which not all pixels are alike. */
  const drawn = (canvas) => {
    const { width, height } = canvas;
    if (width * height === 0) return false;
    const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
    const pixels = new Uint32Array(data.buffer);
    return pixels.some((pixel) => pixel !== pixels[0]);
  };
  const isThere = () => {
    if (window.waiting > 0 || main().querySelector("[aria-busy=true]") !== null) return false;
    const found = [...main().querySelectorAll(ready)];
    if (found.length === 0)
      return main().querySelector(".state h1, .table-empty, .notice, .whatif-why") !== null;
    return found.every((one) => !(one instanceof HTMLCanvasElement) || drawn(one));
  };
  const act = () => {
    if (move === undefined) {
      if (hash !== undefined) location.hash = hash;
      return;
    }
    const target = main().querySelector(move.on);
    if (target === null) return;
    if (move.wheel === undefined) target.click();
    else {
      const { left, top, width, height } = target.getBoundingClientRect();
      const at = { clientX: left + width / 2, clientY: top + height / 2 };
      target.dispatchEvent(
        new WheelEvent("wheel", { ...at, ...move.wheel, bubbles: true, cancelable: true }),
      );
    }
  };
  const frame = () => new Promise((next) => requestAnimationFrame(next));

  const shiftOf = ({ value, sources }) => ({
    value,
    moved: sources.map(({ node, previousRect, currentRect }) => {
      const name = (node?.nodeType === Node.TEXT_NODE ? node.parentElement : node) ?? null;
      const at = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(" ");
      return `${name?.tagName} .${name?.className}: ${at(previousRect)} -> ${at(currentRect)}`;
    }),
  });

  window.shiftObserver.takeRecords();
  window.shifts = [];
  performance.clearResourceTimings();
  const begun = performance.now();
  act();
  await frame();
  let since = null;
  for (;;) {
    await frame();
    const now = performance.now();
    if (now - begun > LONGEST_MS)
      throw new Error(
        `${ready} is not there after ${LONGEST_MS} ms: ${window.waiting} answers awaited at ${location.hash}, ${main().innerText.slice(0, 200)}`,
      );
    if (!isThere()) since = null;
    else since ??= now;
    if (since !== null && now - since > QUIET_MS) break;
  }
  const answers = performance.getEntriesByType("resource").map((entry) => ({
    path: entry.name,
    status: entry.responseStatus,
    encoded: entry.encodedBodySize,
    decoded: entry.decodedBodySize,
  }));
  window.shifts.push(...window.shiftObserver.takeRecords());
  return {
    ms: since - begun,
    answers,
    shifts: window.shifts.map(shiftOf),
    missing: main().querySelector(ready) === null,
  };
}
