/**
 * Writes the types and definitions of the server's answers, from docs/openapi.json:
 * `npm run schema`. `npm run schema -- --check` fails where they are not up to date.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

import { format, resolveConfig } from "prettier";

const ROOT = join(import.meta.dirname, "../..");
const API = join(ROOT, "frontend/src/api");
const HEAD = "Made from docs/openapi.json by `make schema`; do not edit.";
const SCALARS = { string: "string", number: "number", integer: "number", boolean: "boolean" };

/** What JSON Schema keeps in one value, as a type of TypeScript. */
function typeOf(schema) {
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join("|");
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join("|");
  if (schema.type === "array") return `(${typeOf(schema.items ?? {})})[]`;
  if (schema.type === "object")
    return `Record<string, ${typeOf(schema.additionalProperties ?? {})}>`;
  if (schema.type === "null") return "null";
  return SCALARS[schema.type] ?? "unknown";
}

function comment(text) {
  return text === undefined ? "" : `/** ${text} */\n`;
}

function declaration([name, schema]) {
  const fields = Object.entries(schema.properties).map(
    ([key, field]) => `${comment(field.description)}${key}: ${typeOf(field)};\n`,
  );
  return `${comment(schema.description)}export interface ${name} {\n${fields.join("")}}\n`;
}

/** The unit of a number, or of the numbers in a list or under the keys of a mapping. */
function unitOf(schema) {
  const parts = [schema.items, schema.additionalProperties, ...(schema.anyOf ?? [])];
  return schema["x-unit"] ?? parts.filter(Boolean).map(unitOf).find(Boolean);
}

function definitions([name, schema]) {
  const fields = Object.entries(schema.properties).flatMap(([key, field]) => {
    const [unit, text] = [unitOf(field), field.description];
    return unit === undefined && text === undefined ? [] : [[key, { unit, text }]];
  });
  return fields.length === 0
    ? ""
    : `export const ${name} = ${JSON.stringify(Object.fromEntries(fields))} as const;\n`;
}

const description = JSON.parse(readFileSync(join(ROOT, "docs/openapi.json"), "utf8"));
const types = Object.entries(description.components.schemas);
const files = {
  "schema.ts": ["The answers of the server: microseconds, bytes.", declaration],
  "fields.ts": ["Units and definitions of the answers' fields, by type.", definitions],
};

let stale = false;
for (const [name, [title, written]] of Object.entries(files)) {
  const path = join(API, name);
  const head = `/** ${title} ${HEAD} */\n/* eslint-disable max-lines */\n\n`;
  const options = { ...(await resolveConfig(path)), filepath: path };
  const text = await format(head + types.map(written).filter(Boolean).join("\n"), options);
  if (!process.argv.includes("--check")) writeFileSync(path, text);
  else if (readFileSync(path, "utf8") !== text) {
    process.stderr.write(`src/api/${name} is not what docs/openapi.json says; run: make schema\n`);
    stale = true;
  }
}
process.exitCode = stale ? 1 : 0;
