/** The first line of a failure says what is wrong: of a wait, what it waited for. */
export function firstLine(message: string): string {
  // eslint-disable-next-line no-control-regex
  const lines = message.replace(/\u001b\[\d+m/g, "").split("\n");
  const wanted = lines.find((line) => /^\s*-\s*waiting for /.test(line));
  if (wanted === undefined || !/Timeout \d+ms exceeded/.test(lines[0] ?? "")) return message;
  return `${wanted.replace(/^\s*-\s*/, "")}: ${lines.join("\n")}`;
}
