import type * as written from "../domain/generated/written_config.ts";
import { createCronReader } from "../config/cron_times.ts";
import { type ConfigDraft, type Importer, SourceItem } from "./config_draft.ts";
import { asList, escapePlaceholders, Foreign, isObject, parseJson } from "./foreign_text.ts";
import { intervalText } from "./span_text.ts";

/** Imports checks of Healthchecks, as its Management API lists them. */
export const healthchecksImporter: Importer = {
  expects: "the JSON of GET /api/v3/checks/ of Healthchecks",
  translate: (file, draft) => {
    const root = escapePlaceholders(parseJson(file));
    const listed = isObject(root) ? root["checks"] ?? root : root;
    const checks = asList(listed).map(Foreign.of)
      .filter((one) => one.has("grace") && (one.has("timeout") || one.has("schedule")));
    const readCron = createCronReader();
    for (const check of checks) translateCheck(check, draft, readCron);
    if (checks.some((check) => check.text("channels") !== undefined)) {
      const reason = "the API does not show their settings; write channels and defaults";
      draft.leaveOut("integrations", null, reason);
    }
  },
};

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

function translateCheck(check: Foreign, draft: ConfigDraft, readCron: CronReader): void {
  const [name = "unnamed"] = ["name", "slug", "uuid", "unique_key"].flatMap((key) => check.text(key) ?? []);
  const item = new SourceItem(draft, `check "${name}"`, name);
  const expected = expectedOf(check, readCron);
  if (typeof expected === "string") return item.leaveOut(null, expected);
  const hasFilter = FILTERS.some((key) => check.get(key) === true);
  item.leaveOutSet(hasFilter ? check : check.with({ start_kw: "", success_kw: "", failure_kw: "" }), RULES);
  const tags = check.text("tags")?.split(/\s+/) ?? [];
  draft.addCheck(name, {
    ...(tags.length > 0 && { tags }),
    ...(check.get("status") === "paused" && { active: false }),
    threshold: 1,
    kind: "job",
    parameters: {
      ...expected,
      grace: intervalText((check.number("grace") ?? 3600) * 1000),
      ping_key: item.pingKey(),
    },
  });
}

type CronReader = ReturnType<typeof createCronReader>;
type Expected = Pick<written.JobParameters, "expected_every" | "cron" | "time_zone">;

/** Returns when a check expects its runs, or why that is unknown. */
function expectedOf(check: Foreign, readCron: CronReader): Expected | string {
  const seconds = check.number("timeout");
  if (seconds !== undefined && seconds <= 0) return "its period is not a number of seconds";
  if (seconds !== undefined) return { expected_every: intervalText(seconds * 1000) };
  const [cron = "", time_zone = "UTC"] = [check.text("schedule"), check.text("tz")];
  try {
    return readCron(cron, time_zone) === null ? "its schedule never comes" : { cron, time_zone };
  } catch {
    return "its schedule is not a cron schedule of five fields";
  }
}
