/** Formats an explanation as text. */
import { describeDuration } from "../../domain/duration.ts";
import { agentCheckName, type Check, isReported } from "../../domain/check.ts";
import type { Channel } from "../../domain/channel.ts";
import type { KnownCondition } from "../../domain/check_kind.ts";
import { quoteValue } from "../../config/problem.ts";
import {
  describeDelivery,
  describeSilence,
  type ShownNotification,
  waitsForGroup,
} from "../outbox_status.ts";
import { describeNoRun, statusOf } from "../../engine/check_status.ts";
import type { Cause } from "../../engine/why.ts";
import { timeText } from "../../shared/local_time.ts";
import { type ExplainedChannel, gatherWhy, type Why, type WhySources } from "./gather_why.ts";
import { truncate } from "../../shared/text.ts";
import type { PageWhy } from "../html_report/snapshot.ts";
import type { MaintenanceWindow } from "../../domain/schedule.ts";
import {
  type ChannelsSource,
  ConfiguredChannels,
  toNotifyingConfig,
} from "../../engine/configured_channels.ts";
import { isoTime } from "../../shared/json_values.ts";

interface WhyTextOptions extends Pick<Why, "check" | "record" | "agentOutput"> {
  readonly known: KnownCondition;
  readonly nowMs: number;
  readonly timeZone: string;
  /** The text for a due notification without a cause. */
  readonly whenDecided: string;
  /** Whether the explained time is past. */
  readonly isPast: boolean;
}

/** Returns the lines of a channel, the most important one first. */
export function describeChannel(channel: ExplainedChannel, options: WhyTextOptions): readonly string[] {
  const { notified: [condition = "ok", second], isLeftOut, events, queued, deliveries, event, causes } =
    channel;
  const waits = queued.map((row) => describeQueued(row, options));
  const ids = new Set(queued.map(({ id }) => id));
  const sent = deliveries.filter(({ id }) => !ids.has(id))
    .map((one) => describeDelivery(one, ` at ${timeText(one.atMs, options.timeZone)}`));
  const beganAtMs = options.record?.condition.problemBeganAtMs ?? -Infinity;
  const isOfEarlier = deliveries.length > 0 && deliveries.every(({ atMs }) => atMs < beganAtMs);
  const before = isOfEarlier ? " before this problem began, without a recovery in between" : "";
  const notified = [
    ...condition === "ok"
      ? []
      : isLeftOut
      ? [`${condition} was decided, but not sent: "events" left it out`]
      : isSentWhole(events)
      ? [`notified of ${condition}${before}${second === undefined ? "" : ", which may not have arrived"}`]
      : [`${condition} was decided, of which "events" lets through: ${events?.join(", ")}`],
  ];
  if (event === null && notified.length + waits.length === 0) {
    return [`nothing is due: ${whyNothing(options)}`, ...sent];
  }
  const lines = [...notified, ...sent, ...waits];
  if (event === null) return [...lines, ...describeReminder(channel, options)];
  if (causes.length === 0) return [...lines, `${event} is due: ${options.whenDecided}`];
  return [
    ...lines,
    `${event} ${notSent(causes)}:`,
    ...causes.map((cause) => `- ${describeCause(cause, options)}`),
  ];
}

function describeReminder({ reminder }: ExplainedChannel, options: WhyTextOptions): readonly string[] {
  if (reminder === null) return [];
  const { dueAtMs, causes } = reminder;
  const at = timeText(dueAtMs, options.timeZone);
  if (causes.length === 0) return [`next reminder at ${at}`];
  return [
    `reminder at ${at} ${notSent(causes)}:`,
    ...causes.map((cause) => `- ${describeCause(cause, options)}`),
  ];
}

/** Each of several causes suppresses on its own. */
function notSent(causes: readonly Cause[]): string {
  return causes.length > 1 ? "not sent while any of these applies" : "not sent";
}

/** Returns one line: the causes that suppress a notification, else the pending one, else the last one. */
function describeInLine(channel: ExplainedChannel, options: WhyTextOptions): string {
  const { event, causes, queued } = channel;
  const lines = describeChannel(channel, options);
  if (event !== null && causes.length > 0) {
    return `${event} ${notSent(causes)}: ${causes.map((cause) => describeCause(cause, options)).join("; ")}`;
  }
  const isLast = event !== null || queued.length > 0;
  return lines.at(isLast ? -1 : 0) ?? "";
}

/** Returns whether `events` includes all notifications that report a condition. */
export function isSentWhole(events: Channel["events"]): boolean {
  return events === undefined || events.includes("problem") && events.includes("change");
}

/** Returns why the condition is unknown; empty if it is known. */
export function describeUnknown(
  { check, record, gap, stale }: Pick<Why, "check" | "record" | "gap" | "stale">,
  timeZone: string,
): string {
  if (gap === null) return stale;
  const { name, fromMs, untilMs } = gap;
  const from = timeText(fromMs, timeZone);
  const span = untilMs === null ? `since ${from}` : `from ${from} to ${timeText(untilMs, timeZone)}`;
  return name === check.name
    ? `${describeNoRun(check)} ${span}, was ${record?.condition.confirmed ?? "pending"}`
    : `${quoteValue(name)} not run ${span}`;
}

/** Returns when a due notification without a cause is sent. */
export function describeDecision({ monitor, isPast }: Pick<Why, "monitor" | "isPast">): string {
  if (isPast) return "it was waiting, or was sent with the next decision";
  if (monitor?.state === "cron") return "it is sent with the next call";
  return monitor?.config === "edited"
    ? "it is sent once the config is reloaded"
    : "it is sent with the next decision, unless the monitor runs with --no-notify";
}

function whyNothing({ check, agentOutput, known: { condition, state }, isPast }: WhyTextOptions): string {
  if (state !== "current" && isReported(check)) {
    const { agent = "" } = check;
    const [is, reports] = isPast ? ["was", "reported"] : ["is", "reports"];
    const until = `nothing ${is} decided until agent ${quoteValue(agent)} ${reports} it`;
    return agentOutput === "" ? until : `${until}; ${agentCheckName(agent)}: ${agentOutput}`;
  }
  if (state === "never_ran") return "it never ran";
  if (state !== "current") {
    return `nothing ${isPast ? "was decided until it ran" : "is decided until it runs"} again`;
  }
  return condition === "pending" ? "no condition is confirmed" : `it is ${condition}`;
}

function describeQueued(
  row: ShownNotification,
  { nowMs, isPast, timeZone }: Pick<WhyTextOptions, "nowMs" | "isPast" | "timeZone">,
): string {
  const { state, attempts, nextAttemptAtMs, lastFailure, limitedUntilMs, notification } = row;
  const what = `${state}: ${notification.event} ${notification.condition}`;
  if (isPast) return what;
  if (waitsForGroup(row, nowMs)) {
    return `${what}, waits for its group until ${timeText(nextAttemptAtMs, timeZone)}`;
  }
  const tried = attempts === 0 ? "not tried yet" : `tried ${attempts === 1 ? "once" : `${attempts} times`}`;
  const next = state === "dropped"
    ? ""
    : `, next in ${describeDuration(Math.max(0, nextAttemptAtMs - nowMs))}`;
  const limit = limitedUntilMs === undefined ? "" : ', since "at_most" is reached';
  const failure = lastFailure === null ? "" : `: ${lastFailure}`;
  return `${what}, ${tried}${next}${limit}${failure}`;
}

export function describeCause(cause: Cause, options: WhyTextOptions): string {
  // Types each formatter by the causes of its kind.
  return (CAUSE_WORDS[cause.kind] as (cause: Cause, options: WhyTextOptions) => string)(cause, options);
}

type CauseOf<K extends Cause["kind"]> = Cause & { readonly kind: K };

const CAUSE_WORDS: { readonly [K in Cause["kind"]]: (cause: CauseOf<K>, options: WhyTextOptions) => string } =
  {
    threshold: describeThreshold,
    recovery_threshold: describeThreshold,
    silence: ({ silence }, { nowMs }) =>
      `silenced: ${describeSilence(silence, nowMs)}; ends with: monitor silence end ${
        silence.check ?? (silence.tag === null ? "--all" : `--tag ${silence.tag}`)
      }`,
    acknowledgement: ({ silence }, { nowMs }) =>
      `acknowledged: ${describeSilence(silence, nowMs)}, so there are no reminders and no escalation`,
    maintenance: ({ reason, untilMs }, { timeZone }) => {
      const until = untilMs === null ? "" : `, until ${timeText(untilMs, timeZone)}`;
      return `maintenance window${reason === "" ? "" : ` (${reason})`}${until}`;
    },
    depends_on: ({ names, isAwaited }) => {
      const [are, have] = names.length === 1 ? ["is", "has"] : ["are", "have"];
      const why = isAwaited
        ? `${have} not run since the problem began, or recovered since the last result`
        : `${are} not ok`;
      return `"depends_on": ${names.map(quoteValue).join(" and ")} ${why}`;
    },
    action: ({ title, runs, of }) => {
      const done = runs === 0 ? "is to run" : `ran ${runs} of at most ${of} times`;
      return `"action": ${quoteValue(title)} ${done}, and the next results decide whether it helped`;
    },
    recovering: ({ results, of }) =>
      `it may be over: ok, ${results} of ${of} results, and the next ones decide`,
    late: ({ agent }) => `agent ${quoteValue(agent)} reported it late, so it counts for the history alone`,
    flapping: () => '"flapping": "once": a notification was sent while it flaps',
    conditions: ({ conditions }) => `"conditions": this channel is notified only of ${listed(conditions)}`,
    after: ({ dueAtMs }, { nowMs }) =>
      dueAtMs > nowMs ? `"after": in ${describeDuration(dueAtMs - nowMs)}` : '"after"',
    hours: ({ fromMs, isLater }, { timeZone }) => {
      if (!isLater) return '"outside_hours": "never": it began outside of "hours"';
      return fromMs === null
        ? '"hours": it is outside of them'
        : `"hours": they begin at ${timeText(fromMs, timeZone)}`;
    },
    events: ({ events }) => `"events": this channel is sent only ${listed(events)}`,
  };

function listed(words: readonly string[]): string {
  return [words.slice(0, -1).join(", "), ...words.slice(-1)].filter((word) => word !== "").join(" and ");
}

function describeThreshold(
  { kind, condition, results, of }: CauseOf<"threshold" | "recovery_threshold">,
): string {
  return `"${kind}": ${condition}, ${results} of ${of} results`;
}

const LINE_LENGTH_MAX = 1_000;

/** Returns a line for each channel of a check; none while it is ok and its notifications are not suppressed. */
export function whyOnPage(
  check: Check,
  { timeZone, ...sources }: WhySources & { readonly timeZone: string },
): readonly PageWhy[] {
  const why = gatherWhy(check, sources);
  const { condition, isSilenced, maintenance } = statusOf(check, sources);
  const isNews = condition !== "ok" || isSilenced || maintenance !== null ||
    why.channels.some(({ event, queued }) => event !== null || queued.length > 0);
  if (!isNews) return [];
  const options = { ...why, timeZone, whenDecided: describeDecision(why) };
  return why.channels.map((channel) => ({
    channel: truncate(channel.name, LINE_LENGTH_MAX),
    text: truncate(describeInLine(channel, options), LINE_LENGTH_MAX),
  }));
}

// The channels of a check with their filters, in words.

/** Returns a line for each channel of a check. */
export function describeChannels({ notifications }: Check, config: ChannelsSource): readonly PageWhy[] {
  const names = new ConfiguredChannels(toNotifyingConfig(config));
  return notifications.map((channel) => ({ channel: names.nameOf(channel), text: describeFilters(channel) }));
}

/** Returns which notifications a channel gets, and when. */
export function describeFilters(
  { conditions, events, afterMs, hours, outsideHours, group, atMost, fallback }: Partial<Channel>,
): string {
  const parts = [
    ...conditions === undefined ? [] : [`only ${conditions.join(", ")}`],
    ...events === undefined ? [] : [`only ${events.map((event) => EVENT_WORDS[event]).join(", ")}`],
    ...afterMs === undefined ? [] : [`problems after ${describeDuration(afterMs)}`],
    ...hours === undefined ? [] : [
      `${hours.map(describeWindow).join(" or ")}, ${outsideHours === "never" ? "else never" : "else later"}`,
    ],
    ...group === undefined
      ? []
      : [`one message for ${GROUP_WORDS[group.by]} after ${describeDuration(group.waitMs)}`],
    ...atMost === undefined ? [] : [
      `at most ${atMost.count} message${atMost.count === 1 ? "" : "s"} in ${
        describeDuration(atMost.windowMs)
      }`,
    ],
    ...fallback === undefined ? [] : [`${fallback} if it fails`],
  ];
  return parts.length === 0 ? "everything" : parts.join("; ");
}

const GROUP_WORDS: Readonly<Record<NonNullable<Channel["group"]>["by"], string>> = {
  all: "all checks",
  tag: "each first tag",
  parent: "each check that others depend on",
};

const EVENT_WORDS: Readonly<Record<NonNullable<Channel["events"]>[number], string>> = {
  problem: "problems",
  change: "changes",
  recovery: "recoveries",
  reminder: "reminders",
  burning: "burning error budgets",
};

function describeWindow(window: MaintenanceWindow): string {
  if ("times" in window) return `for ${describeDuration(window.durationMs)} from ${window.times.expression}`;
  if ("untilMs" in window) return `from ${isoTime(window.fromMs)} until ${isoTime(window.untilMs)}`;
  const { days, daysOfMonth, months, fromMinute, toMinute, timeZone } = window;
  const ranges = daysOfMonth?.map(({ from, to }) => from === to ? `${from}` : `${from} to ${to}`);
  return [
    `${clockTime(fromMinute)} to ${clockTime(toMinute)}`,
    ...days === undefined ? [] : [days.join(" ")],
    ...ranges === undefined ? [] : [`day ${ranges.join(", ")} of the month`],
    ...months === undefined ? [] : [months.join(" ")],
    timeZone,
  ].join(" ");
}

function clockTime(minute: number): string {
  return [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, "0")).join(":");
}
