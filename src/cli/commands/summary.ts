import {
  type Command,
  EXIT,
  formatOption,
  type Invocation,
  OPTION,
  option,
  UsageError,
} from "../command_definition.ts";
import type { System } from "../../domain/system.ts";
import type { Summary } from "../../outputs/summary/summarize.ts";
import { DAY_MS } from "../../shared/time_units.ts";
import { createYield } from "../../shared/deadline.ts";
import { readDuration, readMonth } from "../read_times.ts";
import { openKnownState } from "../known_config.ts";
import { monitorNotes } from "../monitor_status.ts";
import { jsonDocument, printable } from "../../shared/text.ts";
import { isEverything, openConfig, readSelection, selectChecks } from "../open_config.ts";
import { dropOtherPermissions, permissionsOfConfig } from "../config_permissions.ts";
import {
  summaryFields,
  summaryHtml,
  summaryNotification,
  summaryText,
} from "../../outputs/summary/render_summary.ts";

const FORMATS = ["text", "html", "json"] as const;

export const summaryCommand: Command = {
  name: "summary",
  group: "look",
  summary: "summarize outages and availability of a period",
  operands: "[NAME…]",
  description:
    "Prints outages, availability against objectives, slow and flapping checks, certificates that expire soon, and " +
    'notifications that were not delivered. With --send, it goes to the channels of the key "summary" instead.',
  page: "guides/summary.md",
  options: [
    OPTION.config,
    OPTION.state,
    OPTION.tag,
    option("--period TIME", 'time up to now, such as 1w or "30 days" (default: 1 week)'),
    option("--month MONTH", "a month in the time zone of the config, such as 2026-10, instead of --period"),
    formatOption(FORMATS),
    option("--send", 'send it now to the channels of the key "summary"'),
  ],
  examples: [
    ["monitor summary", "print the last week as text"],
    ["monitor summary --period 30d --format html >month.html", "write 30 days as an HTML page"],
    ["monitor summary --month 2026-10", "print October 2026"],
    ["monitor summary --send", "send it now, and print each step"],
  ],
  uses: ["read", "write", "net", "run", "env", "sys"],
  endings: ["done", "name", "undelivered", "state", "permission", "config"],
  run: async (invocation, system) => {
    const format = invocation.choice("format", FORMATS);
    if (invocation.has("month") && invocation.has("period")) {
      throw new UsageError("--month cannot be used with --period");
    }
    if (invocation.has("send")) {
      if (format !== undefined) throw new UsageError("--send cannot be used with --format");
      return await sendSummary(invocation, system);
    }
    system.permissions.drop("run");
    const summary = await readSummary(invocation, system);
    system.stdout.write(RENDERERS[format ?? "text"](summary));
    return EXIT.ok;
  },
};

/** Past the queues: the scheduled summary is sent all the same. */
async function sendSummary(invocation: Invocation, system: System): Promise<number> {
  const config = await openConfig(invocation, system);
  const { summary: settings } = config;
  if (settings === null) {
    const hint = 'add it, with "cron" and "notifications"';
    throw new UsageError('--send requires "summary" in the config', hint);
  }
  const channels = settings.notifications;
  const options = { invocation, system, checks: [], channels, listens: false };
  dropOtherPermissions(await permissionsOfConfig(config, options), { system, config });
  const summary = await readSummary(invocation, system);
  const nowMs = system.clock.wallMs();
  const id = `summary-${system.randomId()}`;
  const notification = summaryNotification(summary, { id, nowMs, nextAtMs: settings.times.after(nowMs) });
  const { messageOf, sendEach } = await import("./notify.ts");
  const message = messageOf(notification, { isTest: false });
  return await sendEach(channels.map((channel) => [channel, message]), { system, config });
}

const RENDERERS: Readonly<Record<typeof FORMATS[number], (summary: Summary) => string>> = {
  text: summaryText,
  html: (summary) => `${summaryHtml(summary)}`,
  json: (summary) => jsonDocument(summaryFields(summary)),
};

async function readSummary(invocation: Invocation, system: System): Promise<Summary> {
  const selection = readSelection(invocation);
  await using known = await openKnownState(invocation, system, { usesNetwork: invocation.has("send") });
  const { config, error, store, checks, records, recordOf, monitor } = known;
  const nowMs = system.clock.wallMs();
  const timeZone = config?.summary?.times.timeZone ?? (config ?? system).timeZone();
  const { gatherSummary, periodUntil } = await import("../../outputs/summary/gather_summary.ts");
  const lastMs = readDuration(invocation, "period");
  const settings = lastMs === null ? config?.summary : null;
  const upToNow = { sinceMs: nowMs - (lastMs ?? 7 * DAY_MS), untilMs: nowMs };
  const period = readMonth(invocation, { timeZone, nowMs }) ??
    (settings ? periodUntil(settings, nowMs) : upToNow);
  const names = new Set(checks.map(({ name }) => name));
  const isWhole = config !== null && monitor?.config !== "another" && isEverything(selection);
  return await gatherSummary({
    ...period,
    store,
    checks: selectChecks(checks, selection),
    ...{ recordOf, nowMs, timeZone },
    hostName: system.hostName(),
    monitor,
    notes: monitorNotes(monitor, { nowMs, hasErrors: error !== null, timeZone }).map(printable),
    removed: (isWhole ? records : []).filter(({ name }) => !names.has(name))
      .map(({ name, last }) => ({ name, title: null, lastRunAtMs: last?.startedAtMs ?? null })),
    pause: createYield(system.clock),
    ...isEverything(selection) && { tags: config?.summary?.tags },
  });
}
