interface PluginOutput {
  /** The first line without its performance data. */
  readonly output: string;
  readonly detail: string;
  /** Without the `|` before it, on one line. */
  readonly performanceData: string;
}

/**
 * Parses the output of a plugin by the Monitoring Plugins guidelines ("Plugin Output for Nagios":
 * https://www.monitoring-plugins.org/doc/guidelines.html): on the first line performance data follows `|`, and in the
 * later lines everything after one `|` is further performance data, which is joined by spaces.
 *
 * Many scripts are no plugins and print tables with `|` in their later lines, so there it counts only if the rest of
 * the text parses as performance data. Blank lines at the beginning are skipped.
 */
export function readPluginOutput(text: string): PluginOutput {
  const [firstLine = "", ...laterLines] = lines(text);
  const bar = firstLine.indexOf("|");
  const first = bar < 0 ? { before: firstLine, after: "" } : splitAt(firstLine, bar);
  const later = splitLater(laterLines.join("\n"));
  return {
    output: first.before.trimEnd(),
    detail: later.before.trimEnd(),
    performanceData: [first.after, ...later.after.split("\n")]
      .map((part) => part.trim()).filter((part) => part !== "").join(" "),
  };
}

export function readPlainOutput(text: string): PluginOutput {
  const [output = "", ...laterLines] = lines(text);
  return { output: output.trimEnd(), detail: laterLines.join("\n").trimEnd(), performanceData: "" };
}

/** The lines from the first one on that is not blank, without the carriage returns of Windows newlines (CRLF). */
function lines(text: string): readonly string[] {
  const all = text.split("\n").map((line) => line.endsWith("\r") ? line.slice(0, -1) : line);
  const start = all.findIndex((line) => line.trim() !== "");
  return start < 0 ? [] : all.slice(start);
}

interface Split {
  readonly before: string;
  readonly after: string;
}

function splitAt(text: string, index: number): Split {
  return { before: text.slice(0, index), after: text.slice(index + 1) };
}

function splitLater(text: string): Split {
  const bar = text.indexOf("|");
  if (bar >= 0) {
    const split = splitAt(text, bar);
    if (PERFORMANCE_DATA.test(split.after)) return split;
  }
  return { before: text, after: "" };
}

/**
 * `label=value[unit][;warn[;crit[;min[;max]]]]`, separated by white space. A label with spaces or `=` is in single
 * quotes, in which a quote is doubled; the value is a number, or `U` for undetermined. No two neighboring repetitions
 * match the same characters, so hostile text costs no more than its length.
 */
const PERFORMANCE_DATA = /^\s*(?:(?:'(?:[^'\n]|'')+'|[^\s'=|]+)=(?:U|[-+]?[0-9.,])[^\s|]*(?:\s+|$))+$/;
