import type { ConfigDraft } from "./config_draft.ts";
import type * as written from "../domain/generated/written_config.ts";
import {
  asBoolean,
  asList,
  asNumber,
  asText,
  asTexts,
  fieldOf,
  type Foreign,
  isForeign,
} from "./foreign_value.ts";
import { escapePattern } from "./patterns.ts";

export interface GossContext {
  readonly resource: Foreign;
  /** The name in the list of lost settings. */
  readonly item: string;
  /** For the names of variables. */
  readonly name: string;
  readonly draft: ConfigDraft;
}

/** Patterns of goss: a text, or `/regular expression/`. */
interface GossPatterns {
  readonly texts: readonly string[];
  readonly expressions: readonly string[];
}

/** Reads expected patterns; those without a counterpart are listed. */
function readPatterns(key: string, { resource, draft, item }: GossContext): GossPatterns {
  const value = fieldOf(resource, key);
  const texts: string[] = [];
  const expressions: string[] = [];
  if (isForeign(value)) draft.leaveOut(item, key, "an advanced matcher");
  for (const entry of isForeign(value) ? [] : asList(value)) {
    const text = asText(entry);
    const [, expression] = /^\/(.*)\/$/s.exec(text ?? "") ?? [];
    if (text === undefined) draft.leaveOut(item, key, "an empty text or an advanced matcher");
    else if (text.startsWith("!")) draft.leaveOut(item, key, `${text}: a text that must be missing`);
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
  key: string,
  context: GossContext,
  patternKey: string,
): { readonly part: string | undefined; readonly pattern: string | undefined } {
  const { texts, expressions } = readPatterns(key, context);
  // An expression is free for a second text.
  const [part, ...otherTexts] = texts;
  const [expression, ...others] = [...expressions, ...otherTexts.map(escapePattern)];
  for (const other of others) {
    context.draft.leaveOut(context.item, key, `${other}: a check has one ${patternKey}`);
  }
  return { part, pattern: expression === undefined ? undefined : `(?m)${expression}` };
}

/** Only exit code 0 is ok; a tool of the system has no severities. */
const FAILURE_CODES: written.ScriptParameters["exit_code_conditions"] = {
  "1": "critical",
  "2": "critical",
  "3": "critical",
  "32": "critical",
};

/** A command that succeeds if something exists. */
export function scriptCheck([path = "", ...args]: readonly string[], exists: unknown): written.Check {
  const isExpected = asBoolean(exists) ?? true;
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

export function fileCheck(key: string, context: GossContext): written.Check | string {
  const { resource, draft, item } = context;
  const path = asText(fieldOf(resource, "path")) ?? key;
  const type = asText(fieldOf(resource, "filetype"));
  const isExpected = asBoolean(fieldOf(resource, "exists")) ?? true;
  const { texts, expressions } = readPatterns("contents", context);
  const searches = [...texts.map((text) => ["-F", text]), ...expressions.map((text) => ["-E", text])];
  for (const [flag = "", text = ""] of isExpected ? searches : []) {
    const search = scriptCheck(["grep", "-q", flag, "-e", text, "--", path], true);
    draft.addCheck(`file ${key} contents`, {
      title: `${item} contains ${text}`,
      tags: ["file"],
      ...search,
    });
  }
  return scriptCheck(["test", FILE_TESTS[type ?? ""] ?? "-e", path], isExpected);
}

export function commandCheck(key: string, context: GossContext): written.Check | string {
  const { resource, draft, item, name } = context;
  const expected = fieldOf(resource, "exit-status");
  const status = asNumber(expected) ?? (expected === undefined ? 0 : undefined);
  if (status === undefined) return "exit-status is an advanced matcher";
  if (asTexts(fieldOf(resource, "stderr")).length > 0) draft.leaveOut(item, "stderr", "script checks stdout");
  const { part, pattern } = firstPatterns("stdout", context, "output_pattern");
  return {
    kind: "script",
    parameters: {
      path: "/bin/sh",
      arguments: ["-c", draft.commandLine(asText(fieldOf(resource, "exec")) ?? key, name, item)],
      exit_code_conditions: {
        ...{ "0": "critical", "1": "critical", "2": "critical", "3": "critical", "127": "critical" },
        [String(status)]: "ok",
      },
      output_part: part,
      output_pattern: pattern,
    },
  };
}
