import { createCronReader } from "../../config/cron_times.ts";
import type { ConfigDraft } from "./config_draft.ts";
import {
  asList,
  asNumber,
  asObject,
  asText,
  escapePlaceholders,
  fieldOf,
  type Foreign,
  isForeign,
} from "./foreign_value.ts";
import { parseJson } from "./foreign_text.ts";
import type { Importer } from "./importer.ts";
import { intervalText } from "./span_text.ts";

/** Imports checks of Healthchecks, as its Management API lists them. */
export const healthchecksImporter: Importer = {
  expects: "the JSON of GET /api/v3/checks/ of Healthchecks",
  translate: (file, draft) => {
    const root = escapePlaceholders(parseJson(file));
    const listed = isForeign(root) ? fieldOf(root, "checks") ?? (isCheck(root) ? root : undefined) : root;
    const checks = asList(listed).map(asObject).filter(isCheck);
    for (const check of checks) translateCheck(check, draft);
    if (checks.some((check) => asText(fieldOf(check, "channels")) !== undefined)) {
      draft.leaveOut(
        "integrations",
        null,
        "the API does not show their settings; write channels and defaults",
      );
    }
  },
};

function isCheck(value: Foreign): boolean {
  return Object.hasOwn(value, "grace") &&
    (Object.hasOwn(value, "timeout") || Object.hasOwn(value, "schedule"));
}

/** Settings that change what a ping means. */
const RULES: Readonly<Record<string, string>> = {
  subject: "a job fails by its exit code or POST /ping/KEY/fail",
  subject_fail: "a job fails by its exit code or POST /ping/KEY/fail",
  start_kw: "a start is POST /ping/KEY/start",
  success_kw: "a success is POST /ping/KEY",
  failure_kw: "a failure is POST /ping/KEY/fail",
  manual_resume: "an inactive check is resumed in the config",
  desc: "write it as a comment",
};

function translateCheck(check: Foreign, draft: ConfigDraft): void {
  const [name = "unnamed"] = ["name", "slug", "uuid", "unique_key"].flatMap((key) =>
    asText(fieldOf(check, key)) ?? []
  );
  const item = `check "${name}"`;
  const expectedMs = periodOf(check);
  if (typeof expectedMs === "string") return draft.leaveOut(item, null, expectedMs);
  for (const [key, reason] of Object.entries(RULES)) {
    const value = fieldOf(check, key);
    if (value !== undefined && value !== "" && value !== false) draft.leaveOut(item, key, reason);
  }
  if (fieldOf(check, "schedule") !== undefined) {
    draft.leaveOut(item, "schedule", "expected_every is the longest time between two of its runs");
  }
  const tags = asText(fieldOf(check, "tags"))?.split(/\s+/) ?? [];
  draft.addCheck(name, {
    ...(tags.length > 0 && { tags }),
    ...(fieldOf(check, "status") === "paused" && { active: false }),
    threshold: 1,
    kind: "job",
    parameters: {
      expected_every: intervalText(expectedMs),
      grace: intervalText((asNumber(fieldOf(check, "grace")) ?? 3600) * 1000),
      ping_key: draft.pingKey(name, item),
    },
  });
}

/** The longest time between two runs, or why it is unknown. */
function periodOf(check: Foreign): number | string {
  const seconds = asNumber(fieldOf(check, "timeout"));
  if (seconds !== undefined) return seconds > 0 ? seconds * 1000 : "its period is not a number of seconds";
  const schedule = asText(fieldOf(check, "schedule")) ?? "";
  try {
    const times = createCronReader()(schedule, asText(fieldOf(check, "tz")) ?? "UTC");
    return times === null ? "its schedule never comes" : longestGap((afterMs) => times.after(afterMs));
  } catch {
    return "its schedule is not a cron schedule of five fields";
  }
}

const FROM_MS = Date.UTC(2026, 0, 1);
/** Gaps repeat within this time, except for rare days such as 29 February. */
const SPAN_MS = 400 * 86_400_000;
const RUNS_MAX = 3000;

function longestGap(after: (afterMs: number) => number): number {
  let longestMs = 0;
  let lastMs = after(FROM_MS);
  for (let run = 0; run < RUNS_MAX && (lastMs < FROM_MS + SPAN_MS || run === 0); run++) {
    const nextMs = after(lastMs);
    if (!Number.isFinite(nextMs)) break;
    longestMs = Math.max(longestMs, nextMs - lastMs);
    lastMs = nextMs;
  }
  return longestMs;
}
