/** The examples of the pages as configs. */
import assert from "node:assert/strict";
import { type Block, readPages } from "./pages.ts";

const CHECKS = `"checks": { "a": { "kind": "test", "parameters": {} } }`;

/** Turns an example into a config: `text` is the example, `rest` the text after the first word. */
export const ROLES: Readonly<Record<string, (text: string, rest: string) => string>> = {
  /** A whole config. */
  "": (text) => text,
  /** Keys of a config, without its braces. */
  keys: (text) => `{ "defaults": {}, ${CHECKS}, ${text} }`,
  /** Keys of `defaults`, or of a check that has them, without the braces. */
  defaults: (text) => `{ "defaults": { ${text} }, ${CHECKS} }`,
  /** Checks with their names, without the braces. */
  checks: (text) => `{ "defaults": {}, "checks": { ${text} } }`,
  /** The `parameters` of a check of the kind that follows. */
  parameters: (text, kind) =>
    `{ "defaults": {}, "checks": { "a": { "kind": "${kind}", "parameters": ${text} } } }`,
  /** A channel with its name, one of `channels`, without the braces. */
  named: (text) => {
    const [, name] = /^"(\w+)"/.exec(text) ?? [];
    return `{ "channels": { ${text} }, "defaults": { "notifications": ["${name}"] }, ${CHECKS} }`;
  },
  channel: (text) => `{ "defaults": { "notifications": [${text}] }, ${CHECKS} }`,
  /** A file that a config includes; a comment in its first line has its path. */
  include: (text) => JSON.stringify({ defaults: {}, include: pathOf(text) }),
};

/** A scenario of `monitor rehearse`. */
export const SCENARIO = "scenario";

/** An output of the program, or a request. */
export const OUTPUT = "output";

const PAGES = readPages();
/** Every example in JSON. */
export const EXAMPLES = PAGES.flatMap(({ path, blocks }) =>
  blocks.filter(({ language }) => /^json/.test(language)).map((block) => ({ path, block }))
);
/** Those that are configs, or parts of one. */
export const CONFIG_EXAMPLES = EXAMPLES.filter(({ block }) => ![OUTPUT, SCENARIO].includes(block.role));
/** The files that examples include, by their paths. */
export const FILES = {
  "/srv/shop/monitor.jsonc": `{ ${CHECKS} }`,
  "/etc/monitor/conf.d": { kind: "directory" } as const,
  ...Object.fromEntries(
    EXAMPLES.filter(({ block }) => block.role === "include").map(({ block }) => [
      pathOf(block.text),
      block.text,
    ]),
  ),
};

/** The config that an example is, or is a part of. */
export function configOf({ role, text }: Block): string {
  const [word = "", rest = ""] = role.split(/ (.*)/);
  const make = ROLES[word];
  assert.ok(make !== undefined, `"${role}" says nothing of what part of a config an example is`);
  return make(text, rest);
}

/** Where an included file is, by the comment in its first line. */
export function pathOf(text: string): string {
  const path = /^\/\/ (\S+)\n/.exec(text)?.[1];
  assert.ok(path !== undefined, "a comment in the first line of an included file says where it is");
  return path;
}
