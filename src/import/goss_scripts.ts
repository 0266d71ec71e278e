import type * as written from "../domain/generated/written_config.ts";
import { asList, asText, type Foreign, isObject } from "./foreign_value.ts";
import { escapePattern } from "./patterns.ts";
import type { SourceItem } from "./source_item.ts";

/** Reads expected patterns, each a text or a `/regular expression/`; those without a counterpart are listed. */
function readPatterns(key: string, resource: Foreign, item: SourceItem) {
  const value = resource.get(key);
  const texts: string[] = [];
  const expressions: string[] = [];
  if (isObject(value)) item.leaveOut(key, "an advanced matcher");
  for (const entry of isObject(value) ? [] : asList(value)) {
    const text = asText(entry);
    const [, expression] = /^\/(.*)\/$/s.exec(text ?? "") ?? [];
    if (text === undefined) item.leaveOut(key, "an empty text or an advanced matcher");
    else if (text.startsWith("!")) item.leaveOut(key, `${text}: a text that must be missing`);
    else if (expression !== undefined) expressions.push(expression);
    else texts.push(text.replace(/^\\(?=[!/\\])/, ""));
  }
  return { texts, expressions };
}

/**
 * The first text and the first expression, for keys of a check. Both fit anywhere; the rest is listed under the name of
 * the key for an expression.
 */
export function firstPatterns(
  [key, patternKey]: readonly [key: string, patternKey: string],
  resource: Foreign,
  item: SourceItem,
): Partial<Record<"part" | "pattern", string>> {
  const { texts: [part, ...otherTexts], expressions } = readPatterns(key, resource, item);
  // An expression is free for a second text.
  const [expression, ...others] = [...expressions, ...otherTexts.map(escapePattern)];
  for (const other of others) item.leaveOut(key, `${other}: a check has one ${patternKey}`);
  return {
    ...part !== undefined && { part },
    ...expression !== undefined && { pattern: `(?m)${expression}` },
  };
}

/** Only exit code 0 is ok; a tool of the system has no severities. */
const FAILURE_CODES: written.ScriptParameters["exit_code_conditions"] = {
  "1": "critical",
  "2": "critical",
  "3": "critical",
  "32": "critical",
};

/** A command that succeeds if something exists. */
export function scriptCheck([path = "", ...args]: readonly string[], isExpected: boolean): written.Check {
  return {
    kind: "script",
    parameters: {
      path,
      arguments: args,
      exit_code_conditions: isExpected
        ? FAILURE_CODES
        : { "0": "critical", "1": "ok", "2": "ok", "32": "ok" },
    },
  };
}

const FILE_TESTS: Readonly<Record<string, string>> = {
  file: "-f",
  directory: "-d",
  symlink: "-L",
  socket: "-S",
};

export function fileCheck(key: string, resource: Foreign, item: SourceItem): written.Check {
  const path = resource.text("path") ?? key;
  const type = resource.text("filetype");
  const isExpected = resource.boolean("exists") ?? true;
  const { texts, expressions } = readPatterns("contents", resource, item);
  const searches = [...texts.map((text) => ["-F", text]), ...expressions.map((text) => ["-E", text])];
  for (const [flag = "", text = ""] of isExpected ? searches : []) {
    item.draft.addCheck(`file ${key} contents`, {
      title: `${item.label} contains ${text}`,
      tags: ["file"],
      ...scriptCheck(["grep", "-q", flag, "-e", text, "--", path], true),
    });
  }
  return scriptCheck(["test", FILE_TESTS[type ?? ""] ?? "-e", path], isExpected);
}

export function commandCheck(key: string, resource: Foreign, item: SourceItem): written.Check | string {
  const status = resource.has("exit-status") ? resource.number("exit-status") : 0;
  if (status === undefined) return "exit-status is an advanced matcher";
  if (resource.texts("stderr").length > 0) item.leaveOut("stderr", "script checks stdout");
  const { part, pattern } = firstPatterns(["stdout", "output_pattern"], resource, item);
  return {
    kind: "script",
    parameters: {
      path: "/bin/sh",
      arguments: ["-c", item.commandLine(resource.text("exec") ?? key)],
      exit_code_conditions: {
        ...{ "0": "critical", "1": "critical", "2": "critical", "3": "critical", "127": "critical" },
        [String(status)]: "ok",
      },
      output_part: part,
      output_pattern: pattern,
    },
  };
}
