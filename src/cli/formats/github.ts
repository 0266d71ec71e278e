import { printable } from "../../shared/text.ts";
import { type Format, NO_RESULT } from "./format.ts";

/**
 * Workflow commands of GitHub Actions: each check that is not ok at its place in the config, as an error if it fails
 * the exit code, else as a warning.
 */
export const githubFormat: Format = {
  summary: ({ condition, reason, records, unfinished }, { fails, locate }) => {
    const annotate = (severity: "error" | "warning", path: string, message: string): string => {
      const place = path === "" ? null : locate(path);
      const { file, line, column } = place ?? { file: null, line: null, column: null };
      return annotation({ severity, file, line, column, path, message, hint: null });
    };
    return [
      ...records.filter(({ result }) => result.condition !== "ok").map(({ result }) => {
        const { condition, check, output } = result;
        const message = output === "" ? condition : `${condition}: ${output}`;
        return annotate(fails(condition) ? "error" : "warning", check.name, message);
      }),
      ...unfinished.map((name) => annotate("error", name, NO_RESULT)),
      ...reason !== null && fails(condition) ? [annotate("error", "", reason)] : [],
    ].join("");
  },
};

/** A problem at its place. */
export interface Entry {
  readonly severity: "error" | "warning";
  /** `null`: the config could not be read, and `line` and `column` are `null` too. */
  readonly file: string | null;
  readonly line: number | null;
  readonly column: number | null;
  /** Empty: the config as a whole. */
  readonly path: string;
  readonly message: string;
  readonly hint: string | null;
}

/** A workflow command of GitHub Actions, which shows a line of a file with a message. */
export function annotation({ severity, file, line, column, path, message, hint }: Entry): string {
  const properties = Object.entries({ file: file?.replace(/^\.\//, ""), line, col: column, title: "monitor" })
    .flatMap(([name, value]) => value === null || value === undefined ? [] : [`${name}=${property(value)}`]);
  const text = `${path === "" ? "" : `${path}: `}${message}${hint === null ? "" : ` (${hint})`}`;
  return `::${severity} ${properties.join(",")}::${escaped(printable(text))}\n`;
}

function property(value: string | number): string {
  return escaped(printable(String(value))).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

function escaped(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}
