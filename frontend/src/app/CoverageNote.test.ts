import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";

import { report } from "../testing/report";
import { CoverageNote } from "./CoverageNote";

/** What the badge says, without markup. */
function badge(by_origin: Record<string, number>): string {
  const given = report({ coverage: { ...report().coverage, by_origin } });
  const html = renderToStaticMarkup(createElement(CoverageNote, { report: given }));
  return (html.split("</button>")[0] ?? "").replace(/<[^>]*>/g, "");
}

test("the badge says whether the backward went to modules", () => {
  expect(badge({ recorder: 9 })).toContain("attributed 90.0% of 10.0 us backward device");
  expect(badge({ python_stack: 9 })).toContain("attributed 90.0% by stack labels of");
  expect(badge({ annotation: 9 })).toContain("attributed 0.0% to modules, 90.0% to annotations of");
});

test("a backward in replayed graphs is unknown, not missing", () => {
  const { coverage, totals } = report();
  const unknown = {
    coverage: { ...coverage, backward_device_us: null, unattributed_us: null },
    totals: { ...totals, backward_device_us: null, unplaced_graph_us: 8 },
  };
  const html = renderToStaticMarkup(createElement(CoverageNote, { report: report(unknown) }));
  expect(html).toContain("backward unknown");
});
