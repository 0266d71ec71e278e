import { annotation } from "../validation_formats.ts";
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
