import type { ValidatedFile } from "./check_rules.ts";
import { warnOfUnusedChannels } from "./named_channels.ts";
import type { ConfigPath, Problem } from "./problem.ts";
import { defaultsOf } from "./resolve.ts";
import { isObject, valueAt } from "./schema_view.ts";
import { warnOfPublicTags } from "./listen_rules.ts";
import { warnOfLateNotifications } from "./threshold_rules.ts";
import { warnOfSummary } from "./summary_rules.ts";
import { findWarnings, type SettingPlace, warnOfMetricsFile } from "./warnings.ts";
import type { ReadConfig } from "./read_config.ts";
import { kindPath, type ResolvedConfig } from "./resolve_config.ts";

/** Returns the warnings about a config, except those about secrets. */
export function listWarnings(
  { included, validated, main, lacks }: ReadConfig,
  { checks, summary, report, metrics, listen, fileOf, isKindKnown }: ResolvedConfig,
): readonly Problem[] {
  const unknownKinds = checks.filter((check) => !isKindKnown(check));
  return [
    ...included.warnings,
    ...validated.flatMap((file) => file.warnings),
    ...lacks.map((lack) => ({ ...lack, message: `${lack.message}; ${describeLoss(lack.path)}` })),
    ...warnOfUnusedChannels(included.files, { checks, summary }),
    ...findWarnings(checks, (name, key) => locateSetting(name, key, { main, file: fileOf(name) })),
    ...(metrics === null || main.file.isUnresolved(["metrics", "path"]) ? [] : warnOfMetricsFile(metrics)),
    ...summary === null ? [] : warnOfSummary(summary, checks),
    ...warnOfLateNotifications(checks),
    ...warnOfPublicTags({ report: report?.public, listen: listen?.public }, checks),
    ...unknownKinds.map(({ name }) => ({ path: kindPath(name), message: UNKNOWN_KIND })),
  ];
}

const UNKNOWN_KIND = "is unknown without secrets, so the parameters are not validated";

function describeLoss(path: ConfigPath): string {
  const [section, , key] = path;
  if (section === "channels" || (section === "checks" ? key : path[1]) === "notifications") {
    return "the channel cannot deliver";
  }
  if (section === "checks") return "the check is unknown";
  return LOSSES[String(section)] ?? "it is ignored";
}

const LOSSES: Readonly<Record<string, string>> = {
  defaults: "the checks that use it are unknown",
  heartbeat: "no heartbeat is sent",
  report: "no HTML report is written",
  page: "the HTML report has no title, description and announcements",
  metrics: "no metrics are written",
  listen: "the HTTP endpoint does not start",
  summary: "no summary is sent",
  maintenance_windows: "the window is ignored",
};

function locateSetting(
  name: string,
  key: string,
  { main, file }: { readonly main: ValidatedFile; readonly file: ValidatedFile },
): SettingPlace {
  const own = valueAt(file.written, ["checks", name]);
  const isOwn = isObject(own) && key in own;
  const isFromFile = isOwn || key in defaultsOf(file.written);
  return { isOwn, source: (isFromFile ? file : main).file.source };
}
