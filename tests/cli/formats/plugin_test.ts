import assert from "node:assert/strict";
import { highestSeverity } from "../../../src/domain/condition.ts";
import { exitCodeOf } from "../../../src/cli/command_definition.ts";
import type { FormatOptions, RunSummary } from "../../../src/cli/formats/format.ts";
import { pluginFormat } from "../../../src/cli/formats/plugin.ts";
import { type Rows, testRows } from "../../support/rows.ts";
import { testTexts, unsafeCodes } from "./hostile_records.ts";
import { failsOnCritical, nothingDue, optionsOf, printed, recordOf, summaryOf } from "./records.ts";

const EXIT_CODES: Readonly<Record<string, number>> = { OK: 0, WARNING: 1, CRITICAL: 2, UNKNOWN: 3 };

Deno.test("pluginFormat sums up in the status line", async (t) => {
  const ok = recordOf({ name: "a" });
  const warning = recordOf({ name: "b", condition: "warning", output: "slow" });
  const unknown = recordOf({ name: "c", condition: "unknown" });
  const mild = optionsOf({ fails: failsOnCritical });
  const reason = "no check is due; a is warning: 1 | 2";
  const rows: Rows<[RunSummary, status: string, options?: FormatOptions]> = {
    "nothing due, all ok": [nothingDue("ok"), "OK - no check is due"],
    "nothing due, with a reason that has a bar": [
      summaryOf([], { condition: "warning", reason }),
      "WARNING - no check is due; a is warning: 1 ¦ 2",
    ],
    "one check, ok": [summaryOf([ok]), "OK - 1 check ok"],
    "one check, not ok": [summaryOf([warning]), "WARNING - 1 of 1 check warning: b (slow)"],
    "a condition that fails no run": [summaryOf([ok, warning]), "OK - 1 of 2 checks warning: b (slow)", mild],
    "unknown fails where a warning does not": [
      summaryOf([warning, unknown]),
      "UNKNOWN - 1 of 2 checks warning, 1 unknown: b (slow), c",
      mild,
    ],
    "no result": [
      summaryOf([ok], { unfinished: ["d"] }),
      "UNKNOWN - 1 of 2 checks without a result: d (no result (interrupted))",
    ],
    "no result and a warning": [
      summaryOf([warning], { unfinished: ["d"] }),
      "WARNING - 1 of 2 checks warning, 1 without a result: b (slow), d (no result (interrupted))",
    ],
  };
  await testRows(t, rows, ([summary, status, options]) => {
    assert.equal(printed(pluginFormat, summary, options).split(" | ")[0], `MONITOR ${status}`);
  });
});

Deno.test("pluginFormat counts the problems that do not fit the status line", () => {
  const records = Array.from(
    { length: 1000 },
    (_, index) => recordOf({ name: `check ${index}`, condition: "critical", output: "日".repeat(50) }),
  );
  const { status, problems } = parsePlugin(printed(pluginFormat, summaryOf(records)));
  const [, shown, rest] = /: (check 0 .*\)), and (\d+) more$/.exec(status) ?? [];
  assert.equal((shown ?? "").split("), ").length + Number(rest), 1000);
  assert.ok(byteLength(status) > 3900, "there was more room");
  assert.equal(problems.length, 1000);
});

Deno.test("pluginFormat numbers equal labels, and keeps values with their thresholds", () => {
  const summary = summaryOf([
    recordOf({ name: "a", performanceData: "duration=5 x=1 x=2 x_2=3 x=4 a=1 broken='x'" }),
    recordOf({ name: "b=", performanceData: "y=1" }),
    recordOf({ name: "b_", performanceData: "y=2MB;5948;5958;0;5968", metrics: { age_seconds: 7200 } }),
  ]);
  const text = printed(pluginFormat, summary);
  const own = "a::duration a::duration_2 a::x a::x_2 a::x_2_2 a::x_3 a::a";
  const others = "b_::duration b_::y b_::duration_2 b_::y_2 b_::age_seconds";
  assert.equal(parsePlugin(text).labels.slice(4).join(" "), `${own} ${others}`);
  assert.match(text, / 'b_::y_2'=2MB;5948;5958;0;5968 'b_::age_seconds'=7200$/m);
});

testTexts("pluginFormat", assertGuidelines);

function assertGuidelines(summary: RunSummary, options: FormatOptions): void {
  const text = printed(pluginFormat, summary, options);
  assert.deepEqual(unsafeCodes(text), []);
  const { word, status, labels, problems } = parsePlugin(text);
  assert.ok(byteLength(status) <= 4096, "the status line is too long");
  assert.equal(new Set(labels).size, labels.length, "two items have one label");
  assert.ok(labels.length >= 4 + summary.records.length);
  const conditions = summary.records.map((record) => record.result.condition);
  const bad = conditions.filter((condition) => condition !== "ok");
  assert.equal(problems.length, bad.length + summary.unfinished.length);
  for (const line of problems) {
    assert.doesNotMatch(line, /\|/);
    assert.ok(byteLength(line) <= 4096);
  }
  if (summary.records.length + summary.unfinished.length === 0) assert.equal(word, "UNKNOWN");
  else if (summary.unfinished.length === 0) {
    assert.equal(EXIT_CODES[word], exitCodeOf(conditions, options.fails));
  } else assert.equal(word, highestSeverity([...conditions.filter(options.fails), "unknown"]).toUpperCase());
}

/** Parses the output as a monitoring core does: the first pipe ends the text, and a label ends at its quote. */
function parsePlugin(text: string) {
  const [first = "", ...problems] = text.split("\n");
  assert.equal(problems.pop(), "");
  const pipe = first.indexOf("|");
  const status = first.slice(0, pipe).trimEnd();
  const [, word = ""] = /^MONITOR (OK|WARNING|CRITICAL|UNKNOWN) - /.exec(status) ?? [];
  assert.notEqual(word, "");
  const labels: string[] = [];
  const rest = first.slice(pipe + 1).replace(
    / '((?:[^'=|]|'')+)'=(?:U|-?[0-9.]+)[^\d\s;'"=|]*(?:;[-0-9.:@~]*){0,4}(?= |$)/gu,
    (_, label: string) => {
      labels.push(label.replaceAll("''", "'"));
      return "";
    },
  );
  assert.equal(rest, "");
  return { word, status, labels, problems };
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
