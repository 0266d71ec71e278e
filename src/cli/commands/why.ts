import { type Command, EXIT, OPTION, option, UsageError } from "../command_definition.ts";
import { actionTitle, describeRun } from "../../condition/action.ts";
import { describeBurning } from "../../condition/burn.ts";
import { describeDurationRule, describeMetricRules } from "../../condition/duration_rule.ts";
import { lastsSinceMs, unconfirmedOf } from "../../engine/check_status.ts";
import { deliveryFields, describeDelivery } from "../../outputs/outbox_status.ts";
import { describeFoundCause, foundCauseFields } from "../../outputs/present_causes.ts";
import { gatherWhy, type Why } from "../../outputs/why/gather_why.ts";
import {
  describeCause,
  describeChannel,
  describeDecision,
  describeUnknown,
  isSentWhole,
} from "../../outputs/why/describe_why.ts";
import type { ExplainedSuspect } from "../../engine/causes.ts";
import type { Cause } from "../../engine/why.ts";
import { describeDuration } from "../../domain/duration.ts";
import { NOTHING_KEPT } from "../../domain/store.ts";
import { monitorFields } from "../../outputs/json/monitor_fields.ts";
import { isoTime, isoTimeOrNull } from "../../shared/json_values.ts";
import { TIME_EXAMPLES, timeText } from "../../shared/local_time.ts";
import { jsonDocument, printable } from "../../shared/text.ts";
import { didYouMean } from "../../config/nearest.ts";
import { quoteValue } from "../../config/problem.ts";
import { pad, textWidth } from "../../shared/wrap.ts";
import { type KnownState, openStateOf } from "../known_config.ts";
import { monitorNotes } from "../monitor_status.ts";
import { type OpenConfig, openConfig } from "../open_config.ts";
import { locateState } from "../open_state.ts";
import { readTime } from "../read_times.ts";

export const whyCommand: Command = {
  name: "why",
  group: "look",
  summary: "explain why channels were, or were not, notified of a check",
  operands: "NAME",
  description:
    "Shows for each channel of a check the last notification, pending notifications, or why a notification is " +
    "suppressed: the fewest settings, silences and dependencies without which it would be sent now. It uses the same " +
    "decision code as the service. With --at, it replays the stored results and deliveries.",
  page: "guides/why.md",
  options: [
    OPTION.config,
    OPTION.state,
    option("--channel NAME", "only this channel"),
    option(
      "--at TIME",
      `past time to explain, in the time zone of the config or one of its own, such as ${TIME_EXAMPLES}`,
    ),
    OPTION.format,
  ],
  examples: [
    ["monitor why web", "explain every channel of one check"],
    ["monitor why web --channel console", "explain one channel"],
    ["monitor why web --at 03:10", "explain a past notification, or its absence"],
    ["monitor why web --format json", "print JSON for scripts"],
  ],
  uses: ["read", "write", "net", "env", "sys"],
  endings: ["done", "nothing_stored", "name", "state", "permission", "config"],
  run: async (invocation, system) => {
    const [name] = invocation.operands;
    if (name === undefined) throw new UsageError("why requires the name of a check", "monitor why NAME");
    const format = invocation.reportFormat();
    const config = await openConfig(invocation, system, { withoutSecrets: true });
    const place = await locateState(invocation, config, system);
    await using state = await openStateOf({ config, place }, system);
    const { store, recordOf, monitor } = state;
    const check = config.checks.find((one) => one.name === name);
    if (check === undefined) throw await unknownCheck(name, state, config);
    const [timeZone, nowMs] = [config.timeZone(), system.clock.wallMs()];
    const example = "monitor why NAME --at 03:10:30";
    const atMs = readTime(invocation, "at", { timeZone, nowMs, isPast: true, includesSecond: true, example });
    const explained = atMs === null
      ? gatherWhy(check, {
        ...{ config, recordOf, monitor, nowMs },
        outbox: await store?.outbox() ?? NOTHING_KEPT,
        silences: await store?.silences(nowMs) ?? [],
        logged: await store?.deliveries({ checks: [name], sinceMs: -Infinity, untilMs: Infinity }) ?? [],
      })
      : await (await import("../../rehearsal/explain_past.ts")).explainPast(check, {
        ...{ config, state, atMs, nowMs, timeZone },
      });
    if (typeof explained === "string") {
      system.stderr.write(printable(`monitor: ${explained}`) + "\n");
      return EXIT.nothing;
    }
    const channel = invocation.text("channel");
    const why = channel === undefined
      ? explained
      : { ...explained, channels: chooseChannel(explained.channels, channel) };
    system.stdout.write(format === "json" ? whyJson(why) : whyText(why, timeZone));
    return EXIT.ok;
  },
};

/** The deliveries of a check that left the config stay stored for some time. */
async function unknownCheck(name: string, { store, recordOf }: KnownState, config: OpenConfig) {
  const quoted = quoteValue(name);
  const last = (await store?.deliveries({ checks: [name], sinceMs: -Infinity, untilMs: Infinity }))?.at(-1);
  if (last === undefined && recordOf(name) === null) {
    const hint = didYouMean(name, config.checks.map((check) => check.name)) ??
      "list the checks with: monitor status";
    return new UsageError(`the config has no check ${quoted}`, hint);
  }
  const sent = last === undefined ? "no delivery is stored" : `last to ${quoteValue(last.channelName)}: ` +
    describeDelivery(last, ` at ${timeText(last.atMs, config.timeZone())}`);
  return new UsageError(
    `the config no longer has the check ${quoted}; ${sent}`,
    "see the rest with: monitor history --deliveries NAME",
  );
}

function chooseChannel(channels: Why["channels"], name: string): Why["channels"] {
  const chosen = channels.filter((channel) => channel.name === name);
  if (chosen.length > 0) return chosen;
  const names = channels.map((channel) => quoteValue(channel.name)).join(", ");
  throw new UsageError(`the check has no channel ${quoteValue(name)}, expected ${names || "none"}`);
}

function whyText(why: Why, timeZone: string): string {
  const { check, record, known, channels, nowMs, isPast } = why;
  const stale = describeUnknown(why, timeZone);
  const since = lastsSinceMs(why);
  const unconfirmed = record === null ? null : unconfirmedOf(check, record);
  const last = record?.last ?? null;
  const options = { ...why, timeZone, whenDecided: describeDecision(why) };
  const { durations, metricLimits, actions, burning, notes } = factsOf(why, timeZone);
  const width = Math.max(0, ...channels.map(({ name }) => textWidth(name)));
  const lines = [
    ...isPast ? [`At ${timeText(nowMs, timeZone)}, by the config of now:`] : [],
    `${check.name}: ${known.condition}` +
    (stale !== ""
      ? ` (${stale})`
      : since === null || known.condition === "pending"
      ? ""
      : ` since ${timeText(since, timeZone)}`),
    last === null ? "never ran" : `last run ${runTime(last.startedAtMs, why, timeZone)}: ${last.condition}` +
      ((unconfirmed?.threshold ?? null) === null
        ? ""
        : `, ${unconfirmed?.results} of ${unconfirmed?.threshold}`) +
      (last.output === "" ? "" : `: ${last.output}`),
    ...durations.map((text) => `duration: ${text}`),
    ...metricLimits.map((text) => `metric ${text}`),
    ...actions.map((run) =>
      `action ${quoteValue(run.title)} at ${timeText(run.atMs, timeZone)}: ${describeRun(run)}`
    ),
    ...causeOf(why, timeZone),
    ...burning === null ? [] : [`${burning.text} (since ${timeText(burning.sinceMs, timeZone)})`],
    ...notes,
    "",
    ...check.active ? [] : ["The check is inactive, so it does not run."],
    ...channels.length === 0 ? ["The check has no notifications."] : [],
    ...channels.flatMap((channel) => {
      const lines = describeChannel(channel, options);
      return lines.map((line, index) => `${pad(index === 0 ? channel.name : "", width)}  ${line}`);
    }),
  ];
  return lines.map((line) => `${printable(line)}\n`).join("");
}

/** The time of a run, which a set clock may have moved into the future. */
function runTime(startedAtMs: number, { nowMs, isPast }: Why, timeZone: string): string {
  if (startedAtMs > nowMs) return `at ${timeText(startedAtMs, timeZone)}`;
  return `${describeDuration(nowMs - startedAtMs)} ${isPast ? "before" : "ago"}`;
}

function causeOf({ cause: explained }: Why, timeZone: string): readonly string[] {
  if (explained === null) return [];
  const { cause, suspects } = explained;
  if (cause !== null) return [describeFoundCause(cause, timeZone)];
  return [
    "no common cause with other checks:",
    ...suspects.map((suspect) => {
      const { attribute, refutedBy, required } = suspect;
      const why = refutedBy === null ? required : `it works for ${quoteValue(refutedBy)}`;
      return `- ${attribute}: ${describeOthers(suspect)}; ${why}`;
    }),
  ];
}

function describeOthers({ failing, unconfirmed }: ExplainedSuspect): string {
  if (failing.length > 0) {
    const more = unconfirmed === 0 ? "" : `, ${unconfirmed} more not confirmed yet`;
    return `${failing.join(", ")} fail with it${more}`;
  }
  if (unconfirmed === 0) return "no other check fails with it";
  return `${unconfirmed === 1 ? "1 other fails" : `${unconfirmed} others fail`} with it, not confirmed yet`;
}

const ACTIONS_SHOWN = 3;

/** What text and JSON show alongside the channels. The durations and metrics of past runs are not stored. */
function factsOf({ check, record, monitor, nowMs, isPast }: Why, timeZone: string) {
  const { actions = [], burn } = record?.condition ?? {};
  const burning = record === null ? "" : describeBurning(check, record.condition, nowMs);
  const title = check.action === undefined ? null : actionTitle(check.action);
  return {
    durations: isPast ? [] : describeDurationRule(check, record, nowMs),
    metricLimits: isPast ? [] : describeMetricRules(check, record, nowMs),
    actions: title === null ? [] : actions.slice(-ACTIONS_SHOWN).map((run) => ({ ...run, title })),
    burning: burn?.alert && burning !== "" ? { ...burn.alert, text: burning } : null,
    notes: monitorNotes(monitor, { nowMs, hasErrors: false, timeZone }),
  };
}

/** The same for programs; fields are only ever added. */
function whyJson(why: Why): string {
  const { check, record, known, cause, channels, monitor, nowMs, isPast } = why;
  const last = record?.last ?? null;
  const options = { ...why, timeZone: "UTC", whenDecided: "" };
  const found = cause?.cause ?? null;
  const { durations, metricLimits, actions, burning, notes } = factsOf(why, "UTC");
  const causeFields = (causes: readonly Cause[]) =>
    causes.map((cause) => ({ kind: cause.kind, text: describeCause(cause, options) }));
  return jsonDocument({
    check: check.name,
    at: isPast ? isoTime(nowMs) : null,
    condition: known.condition,
    state: known.state,
    reason: describeUnknown(why, "UTC"),
    confirmed_since: known.state === "current" ? isoTimeOrNull(record?.condition.confirmedSinceMs) : null,
    last: last === null
      ? null
      : { condition: last.condition, output: last.output, started_at: isoTime(last.startedAtMs) },
    durations,
    metric_limits: metricLimits,
    actions: actions.map(({ title, atMs, endedAtMs, outcome, reason }) => (
      { title, started_at: isoTime(atMs), ended_at: isoTimeOrNull(endedAtMs), outcome, reason }
    )),
    cause: found === null ? null : foundCauseFields(found),
    suspects: (cause?.suspects ?? []).map(({ attribute, failing, unconfirmed, refutedBy }) => (
      { attribute, failing, unconfirmed, works_for: refutedBy }
    )),
    burning: burning && {
      ...{ rate: burning.rate, since: isoTime(burning.sinceMs) },
      ...{ notified: burning.isTold, text: burning.text },
    },
    channels: channels.map((channel) => ({
      channel: channel.name,
      notified: channel.notified[0] ?? "ok",
      certain: channel.notified.length === 1 &&
        (channel.notified[0] === "ok" || !channel.isLeftOut && isSentWhole(channel.events)),
      due: channel.event,
      causes: causeFields(channel.causes),
      reminder: channel.reminder === null ? null : {
        due_at: isoTime(channel.reminder.dueAtMs),
        causes: causeFields(channel.reminder.causes),
      },
      queued: channel.queued.map((row) => ({
        state: row.state,
        event: row.notification.event,
        condition: row.notification.condition,
        decided_at: isoTime(row.notification.decidedAtMs),
        attempts: isPast ? null : row.attempts,
        next_attempt_at: isPast || row.state === "dropped" ? null : isoTime(row.nextAttemptAtMs),
        last_failure: isPast ? null : row.lastFailure,
      })),
      deliveries: channel.deliveries.map(deliveryFields),
    })),
    monitor: monitorFields(monitor),
    notes,
  });
}
