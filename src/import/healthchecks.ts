import { createCronReader } from "../config/cron_times.ts";
import type { CronTimes } from "../domain/schedule.ts";
import { type ConfigDraft, type Importer, SourceItem } from "./config_draft.ts";
import { asList, escapePlaceholders, Foreign, isObject } from "./foreign_value.ts";
import { parseJson } from "./foreign_text.ts";
import { intervalText } from "./span_text.ts";

/** Imports checks of Healthchecks, as its Management API lists them. */
export const healthchecksImporter: Importer = {
  expects: "the JSON of GET /api/v3/checks/ of Healthchecks",
  translate: (file, draft) => {
    const root = escapePlaceholders(parseJson(file));
    const listed = isObject(root) ? root["checks"] ?? root : root;
    const checks = asList(listed).map(Foreign.of).filter(isCheck);
    const periodOf = createPeriodReader();
    for (const check of checks) translateCheck(check, { draft, periodOf });
    if (checks.some((check) => check.text("channels") !== undefined)) {
      draft.leaveOut(
        "integrations",
        null,
        "the API does not show their settings; write channels and defaults",
      );
    }
  },
};

function isCheck(value: Foreign): boolean {
  return value.has("grace") && (value.has("timeout") || value.has("schedule"));
}

/** Keywords count only in these fields. */
const FILTERS: readonly string[] = ["filter_subject", "filter_body", "filter_http_body"];

/** Settings that change the meaning of a ping. */
const RULES: Readonly<Record<string, string>> = {
  subject: "a job fails by its exit code or /ping/KEY/fail",
  subject_fail: "a job fails by its exit code or /ping/KEY/fail",
  start_kw: "a start is /ping/KEY/start",
  success_kw: "a success is /ping/KEY",
  failure_kw: "a failure is /ping/KEY/fail",
  manual_resume: "an inactive check is resumed in the config",
  desc: "write it as a comment",
};

function translateCheck(
  check: Foreign,
  { draft, periodOf }: { readonly draft: ConfigDraft; readonly periodOf: PeriodReader },
): void {
  const [name = "unnamed"] = ["name", "slug", "uuid", "unique_key"].flatMap((key) => check.text(key) ?? []);
  const item = new SourceItem(draft, `check "${name}"`, name);
  const expectedMs = periodOf(check);
  if (typeof expectedMs === "string") return item.leaveOut(null, expectedMs);
  const hasFilter = FILTERS.some((key) => check.get(key) === true);
  for (const [key, reason] of Object.entries(RULES)) {
    const value = key.endsWith("_kw") && !hasFilter ? undefined : check.get(key);
    if (value !== undefined && value !== "" && value !== false) item.leaveOut(key, reason);
  }
  if (check.has("schedule")) {
    item.leaveOut("schedule", "expected_every is the longest time between two of its runs");
  }
  const tags = check.text("tags")?.split(/\s+/) ?? [];
  draft.addCheck(name, {
    ...(tags.length > 0 && { tags }),
    ...(check.get("status") === "paused" && { active: false }),
    threshold: 1,
    kind: "job",
    parameters: {
      expected_every: intervalText(expectedMs),
      grace: intervalText((check.number("grace") ?? 3600) * 1000),
      ping_key: item.pingKey(),
    },
  });
}

/** Returns the longest time between two runs, or why it is unknown. */
type PeriodReader = (check: Foreign) => number | string;

/** Each takes up to two tenths of a second. */
const SCHEDULES_MAX = 100;

/** Returns a parser that reads each schedule once. */
function createPeriodReader(): PeriodReader {
  const known = new Map<string, number | string>();
  const readCron = createCronReader();
  return (check) => {
    const seconds = check.number("timeout");
    if (seconds !== undefined) return seconds > 0 ? seconds * 1000 : "its period is not a number of seconds";
    const schedule = check.text("schedule") ?? "";
    const timeZone = check.text("tz") ?? "UTC";
    const key = `${schedule} ${timeZone}`;
    if (!known.has(key) && known.size === SCHEDULES_MAX) return `one of more than ${SCHEDULES_MAX} schedules`;
    const period = known.get(key) ?? cronPeriod(() => readCron(schedule, timeZone));
    known.set(key, period);
    return period;
  };
}

function cronPeriod(read: () => CronTimes | null): number | string {
  try {
    const times = read();
    return times === null ? "its schedule never comes" : longestGap((afterMs) => times.after(afterMs));
  } catch {
    return "its schedule is not a cron schedule of five fields";
  }
}

const FROM_MS = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;
/** More than two weeks of a schedule with runs in every hour. */
const STEPS_MAX = 400;
const DENSE_STEPS_MAX = 24;
/** Rarer runs than on 29 February have no use. */
const SPAN_MS = 5 * 366 * 24 * HOUR_MS;

/** Samples one run an hour, and those between only if the gap after them may be the longest. */
function longestGap(after: (afterMs: number) => number): number {
  let longestMs = 0;
  let runMs = after(FROM_MS);
  for (let step = 0; step < STEPS_MAX && runMs < FROM_MS + SPAN_MS; step++) {
    const nextMs = after(runMs + HOUR_MS - 1);
    if (!Number.isFinite(nextMs)) break;
    // Hours with runs at both ends are alike.
    const isDense = nextMs - runMs < 2 * HOUR_MS;
    if (nextMs - runMs > longestMs && (!isDense || step < DENSE_STEPS_MAX)) {
      longestMs = Math.max(longestMs, longestBetween(runMs, nextMs, after));
    }
    runMs = nextMs;
  }
  return longestMs;
}

function longestBetween(fromMs: number, toMs: number, after: (afterMs: number) => number): number {
  let longestMs = 0;
  for (let runMs = fromMs; runMs < toMs;) {
    const nextMs = after(runMs);
    longestMs = Math.max(longestMs, nextMs - runMs);
    runMs = nextMs;
  }
  return longestMs;
}
