import fc from "../../support/property.ts";
import type { CheckKind } from "../../../src/domain/check.ts";
import { type Condition, CONDITIONS, highestSeverity } from "../../../src/domain/condition.ts";
import { checkOf } from "../../../testing/builders.ts";
import type { Format, FormatOptions, RunRecord, RunSummary } from "../../../src/cli/formats/format.ts";

/** The given fields of a completed check; the others have defaults. */
type RecordParts = Partial<Omit<RunRecord["result"], "check">> & {
  readonly name?: string;
  readonly title?: string | undefined;
  readonly kind?: CheckKind;
};

const STARTED_AT_MS = Date.UTC(2026, 0, 31, 10, 0, 0);

/** A finished check. */
export function recordOf({ name = "web", title, kind = "test", ...parts }: RecordParts): RunRecord {
  const check = checkOf("test", { condition: "ok", output: "" }, {
    name,
    ...title !== undefined && { title },
  });
  return {
    result: {
      // No format prints parameters.
      check: { ...check, kind } as RunRecord["result"]["check"],
      condition: "ok",
      output: "",
      detail: "",
      metrics: {},
      performanceData: "",
      startedAtMs: STARTED_AT_MS + 5,
      durationMs: 12.06,
      ...parts,
    },
    occurrences: 1,
    confirmed: "ok",
  };
}

/** A run of finished checks; without any, none is active. */
export function summaryOf(
  records: readonly RunRecord[],
  more: Partial<Pick<RunSummary, "condition" | "reason" | "unfinished" | "inactiveCount" | "durationMs">> =
    {},
): RunSummary {
  const conditions = records.map((record) => record.result.condition);
  const isEmpty = records.length + (more.unfinished?.length ?? 0) === 0;
  return {
    condition: more.condition ?? (isEmpty ? "unknown" : highestSeverity(conditions)),
    reason: more.reason ?? (isEmpty ? "no check is active" : null),
    startedAtMs: STARTED_AT_MS,
    durationMs: more.durationMs ?? 1234.56,
    records,
    unfinished: more.unfinished ?? [],
    inactiveCount: more.inactiveCount ?? 0,
    hostName: "web-1.example.org",
  };
}

/** A run of no check, since none is due. */
export function nothingDue(condition: Condition): RunSummary {
  return summaryOf([], { condition, reason: "no check is due" });
}

/** Options of a format: off a terminal, and everything but `ok` fails. */
export function optionsOf(parts: Partial<FormatOptions> = {}): FormatOptions {
  return {
    color: false,
    columns: null,
    fails: (condition) => condition !== "ok",
    locate: () => null,
    ...parts,
  };
}

/** The rule of `--fail-on critical`: `unknown` always fails. */
export function failsOnCritical(condition: Condition): boolean {
  return condition === "critical" || condition === "unknown";
}

/** Returns the output of a format as one text: after each check and at the end. */
export function printed(format: Format, summary: RunSummary, options: FormatOptions = optionsOf()): string {
  return summary.records.map((record) => format.record?.(record, options) ?? "").join("") +
    format.summary(summary, options);
}

/**
 * Any text: plain, from all of Unicode, from every UTF-16 unit (lone surrogates included), or made of the
 * characters that mean something to one of the formats.
 */
export function anyText(): fc.Arbitrary<string> {
  const codePoint = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code));
  const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
  const meaningful = fc.constantFrom(
    ..."\n\r\t\u001b\u009b\u202e\u2028\ufeff\ud800\udc00\"'\\#|<>&=]{};:-~@ %°日é\u0301👩\u200d🚀0a",
  );
  // fast-check generates some ten characters by default, too few to wrap.
  const long = { maxLength: 100, size: "max" } as const;
  return fc.oneof(
    fc.string(),
    fc.string({ unit: codePoint, ...long }),
    fc.string({ unit }),
    fc.string({ unit: meaningful, ...long }),
    fc.constantFrom("", "]]>", "# SKIP", "not ok 1", "  ...", "  ---", "Bail out!", "\u001b[31mred\u001b[0m"),
  );
}

/** Any finished check. */
export function anyRecord(): fc.Arbitrary<RunRecord> {
  return fc.record({
    name: anyText(),
    title: fc.option(anyText(), { nil: undefined }),
    kind: fc.constantFrom<CheckKind>("test", "script", "file_timestamp", "http_request"),
    condition: fc.constantFrom(...CONDITIONS),
    output: anyText(),
    detail: anyText(),
    durationMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
    metrics: fc.dictionary(anyText(), fc.double(), { maxKeys: 3 }),
    performanceData: anyText(),
  }).map(recordOf);
}

/** Any run. */
export function anySummary(): fc.Arbitrary<RunSummary> {
  return fc.record({
    records: fc.array(anyRecord(), { maxLength: 5 }),
    unfinished: fc.array(anyText(), { maxLength: 3 }),
    inactiveCount: fc.nat(3),
    durationMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
  }).map(({ records, ...more }) => summaryOf(records, more));
}
