import type { Finding } from "../../api/schema";
import { priceText, type PriceBasis } from "../../report/findings";
import { counted } from "../../text/formats";

/** A finding as Markdown, to be put into an issue or a chat. */
export function findingMarkdown(finding: Finding, basis: PriceBasis): string {
  const lines = [
    `### ${escaped(finding.title)}`,
    "",
    `${code(finding.where)} · severity ${finding.severity} · confidence ${finding.confidence} · ${code(finding.rule)}`,
    "",
    `**Price**: ${priceText(finding, basis)} Seen ${counted(finding.count, "time")}.`,
    "",
    `**Evidence**: ${escaped(sentence(finding.evidence))}`,
    "",
    `**Fix**: ${escaped(finding.fix)}`,
    "",
    `**Reference**: ${escaped(finding.reference)}`,
  ];
  if (finding.caveats.length > 0) lines.push("", ...finding.caveats.map((c) => `- ${escaped(c)}`));
  if (finding.advice.length > 0) {
    const advice = finding.advice.map(({ title, fix }) => `- ${escaped(title)}: ${escaped(fix)}`);
    lines.push("", "Look at this as well, which no trace shows:", "", ...advice);
  }
  return `${lines.join("\n")}\n`;
}

/** Several findings as one text. */
export function findingsMarkdown(
  findings: readonly Finding[],
  basis: PriceBasis,
  trace: string,
): string {
  const head = `## ${counted(findings.length, "finding")} in ${code(trace)}\n`;
  return [head, ...findings.map((finding) => findingMarkdown(finding, basis))].join("\n");
}

/** Evidence is a phrase: as a sentence it begins large, ends with a full stop, and writes µs. */
export function sentence(phrase: string): string {
  if (phrase === "") return "";
  const written = phrase.replace(/(\d) us\b/g, "$1 µs");
  const ended = /[.!?]$/.test(written) ? written : `${written}.`;
  return ended.charAt(0).toUpperCase() + ended.slice(1);
}

/** Names of a trace may hold anything: nothing of them becomes markup. */
function escaped(text: string): string {
  return text.replace(/[\\`*_[\]<>#|~]/g, "\\$&").replace(/\s*\n\s*/g, " ");
}

function code(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const pad = /^`|`$/.test(text) ? " " : "";
  return `${fence}${pad}${text.replace(/\s*\n\s*/g, " ")}${pad}${fence}`;
}
