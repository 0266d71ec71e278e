/** The output of `monitor validate` for programs. */
import type { PlacedProblem, Source } from "../config/problem.ts";
import { printable } from "../shared/text.ts";

export interface Validation {
  /** Whether the exit code is 0. */
  readonly isValid: boolean;
  /** `null`: it could not be read. */
  readonly source: Source | null;
  readonly errors: readonly PlacedProblem[];
  readonly warnings: readonly PlacedProblem[];
  /** The reason why the config can't be used, if it is not one of the errors. */
  readonly failure: { readonly message: string; readonly hint: string | null } | null;
  readonly checkCount: number;
  readonly inactiveCount: number;
}

export const VALIDATION_FORMATS: Readonly<Record<"json" | "github", (validation: Validation) => string>> = {
  json: (validation) => {
    const { isValid, source, checkCount, inactiveCount } = validation;
    const found = {
      valid: isValid,
      config: source?.label ?? null,
      checks: checkCount,
      inactive: inactiveCount,
      problems: entriesOf(validation),
    };
    return `${JSON.stringify(found, null, 2)}\n`;
  },
  github: (validation) => entriesOf(validation).map(annotation).join(""),
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

function entriesOf({ source, errors, warnings, failure }: Validation): readonly Entry[] {
  const entryOf = (severity: Entry["severity"]) => (problem: PlacedProblem): Entry => {
    const { line, column, path, message, hint } = problem;
    const file = (problem.source ?? source)?.label ?? null;
    return { severity, file, line, column, path, message, hint };
  };
  const whole = { severity: "error", file: null, line: null, column: null, path: "" } as const;
  return [
    ...failure === null ? [] : [{ ...whole, ...failure }],
    ...errors.map(entryOf("error")),
    ...warnings.map(entryOf("warning")),
  ];
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
