import { hideInAddress, isCredentialName } from "../config/credentials.ts";
import type { PlacedProblem, Source } from "../config/problem.ts";
import { createColors } from "./terminal.ts";
import { printable } from "../shared/text.ts";
import { textWidth } from "../shared/wrap.ts";

interface DiagnosticOptions {
  readonly color: boolean;
  /** A warning is called one; an error goes without a word for it. */
  readonly severity: "error" | "warning";
}

/** More errors of one config are only counted. */
const SHOWN_MAX = 100;
const EXCERPT_WIDTH = 100;
/** Around a problem, so much text is searched for secrets. */
const MASKED_WIDTH = 8 * 1024;

/** A key with a text as value. The key is compared separately: in one pattern a long one would take minutes. */
const TEXT_KEY = /"([\w-]*)"\s*:\s*"((?:[^"\\\r\n]|\\.)*)/g;

/** The URL of a chat grants permission to post there. */
const SECRET_PATH = /^(https?:\/\/[^/?#]*[/?#])([^$]+)$/i;

/** Hides literal secrets of a config, sign by sign so that all else stays in its place; placeholders are none. */
function maskSecrets(text: string): string {
  return text.replace(TEXT_KEY, (whole: string, name: string, value: string) => {
    const isSecret = isCredentialName(name) && !/^\$\{(env|file):[^}]*\}$/.test(value);
    const address = name === "url" ? value.replace(SECRET_PATH, (_, host, path) => host + mask(path)) : value;
    const shown = isSecret ? mask(value) : address.includes("//") ? hideInAddress(address, mask) : address;
    return whole.slice(0, whole.length - value.length) + shown;
  });
}

function mask(text: string): string {
  return "*".repeat(text.length);
}

/** Prints each error with its place, its line, and a caret below it; one of an included file has its own source. */
export function renderProblems(
  source: Source,
  problems: readonly PlacedProblem[],
  options: DiagnosticOptions,
): string {
  const shown = problems.slice(0, SHOWN_MAX).map((problem) => renderProblem(source, problem, options));
  const rest = problems.length - shown.length;
  return shown.join("") + (rest > 0 ? `… and ${rest} more\n` : "");
}

function renderProblem(config: Source, problem: PlacedProblem, options: DiagnosticOptions): string {
  const { source = config } = problem;
  const colors = createColors(options.color);
  const path = problem.path === "" ? "" : `${printable(problem.path)}: `;
  const kind = options.severity === "warning" ? `${colors.yellow("warning:")} ` : "";
  const place = colors.bold(`${printable(source.label)}:${problem.line}:${problem.column}:`);
  const { line, caretColumn } = excerpt(source.text, problem);
  const number = String(problem.line);
  const margin = " ".repeat(number.length);
  const lines = [
    `${place} ${kind}${path}${printable(problem.message)}`,
    `  ${colors.dim(`${number} |`)} ${line}`,
    `  ${colors.dim(`${margin} |`)} ${" ".repeat(caretColumn)}${colors.red("^")}`,
    ...(problem.hint === null ? [] : [`  ${margin}   ${printable(problem.hint)}`]),
  ];
  return `${lines.join("\n")}\n`;
}

/** Returns the line of a problem, truncated around it, and the column of the caret on a terminal. */
function excerpt(
  text: string,
  problem: PlacedProblem,
): { readonly line: string; readonly caretColumn: number } {
  const start = problem.offset - (problem.column - 1);
  // A config on one line can have megabytes, so only the surroundings are searched.
  const from = Math.max(start, problem.offset - MASKED_WIDTH);
  const masked = maskSecrets(text.slice(from, problem.offset + MASKED_WIDTH));
  const position = problem.offset - from;
  const ahead = masked.slice(position, position + EXCERPT_WIDTH).split(/[\r\n]/)[0] ?? "";
  const behind = masked.slice(Math.max(0, position - EXCERPT_WIDTH), position);
  const isWhole = start >= problem.offset - EXCERPT_WIDTH &&
    behind.trimStart().length + ahead.length <= EXCERPT_WIDTH;
  const before = isWhole ? behind.trimStart() : behind.trimStart().slice(-EXCERPT_WIDTH / 2);
  const after = isWhole ? ahead : ahead.slice(0, EXCERPT_WIDTH - before.length);
  const left = (before.length < behind.trimStart().length ? "…" : "") +
    printable(before.replaceAll("\t", " "));
  const right = printable(after.replaceAll("\t", " ")) + (after.length < ahead.length ? "…" : "");
  return { line: left + right, caretColumn: textWidth(left) };
}
