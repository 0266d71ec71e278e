import { type Command, OPTION, option, UsageError } from "../command_definition.ts";
import { channelsOf, ConfiguredChannels } from "../../engine/configured_channels.ts";
import { conditionOf, describeStale, unconfirmedOf } from "../../engine/check_status.ts";
import {
  deliveryFields,
  describeDelivery,
  describeSilence,
  type ShownNotification,
  shownNotifications,
} from "../../engine/outbox_status.ts";
import { type LastNotified, lastNotified } from "../../engine/queued_notifications.ts";
import { type Cause, explainChannel } from "../../engine/why.ts";
import { initialState } from "../../condition/condition_state.ts";
import type { Channel } from "../../domain/channel.ts";
import type { DeliveryMarker, LoggedDelivery, Silence } from "../../domain/outbox.ts";
import type { Check } from "../../domain/check.ts";
import type { KnownCondition } from "../../domain/check_kind.ts";
import { describeDuration } from "../../domain/duration.ts";
import type { CheckRecord, KeptOutbox } from "../../domain/store.ts";
import { monitorFields, type MonitorStatus } from "../../outputs/json/monitor_fields.ts";
import { isoTime } from "../../shared/json_values.ts";
import { timeText } from "../../shared/local_time.ts";
import { jsonDocument, printable } from "../../shared/text.ts";
import { quoteValue } from "../../config/problem.ts";
import { textWidth } from "../../shared/text_width.ts";
import { EXIT } from "../exit_code.ts";
import { openStateOf } from "../known_config.ts";
import { monitorNotes } from "../monitor_status.ts";
import { type OpenConfig, openConfig } from "../open_config.ts";
import { locateState } from "../state_location.ts";

export const whyCommand: Command = {
  name: "why",
  summary: "explain why channels were, or were not, notified of a check",
  operands: "NAME",
  operandKind: "check",
  description:
    "Shows for each channel of a check what it was notified of, what waits for it, or what holds a notification back: " +
    "the fewest settings, silences and dependencies without which it would be sent now. The decision is that of the " +
    "service itself, from the state and the config.",
  page: "guides/notifications.md",
  options: [
    OPTION.config,
    OPTION.state,
    option("--channel NAME", "only this channel"),
    OPTION.format,
  ],
  examples: [
    ["monitor why web", "explain every channel of one check"],
    ["monitor why web --channel console", "explain one channel"],
    ["monitor why web --format json", "print JSON for scripts"],
  ],
  uses: ["read", "write", "net", "env", "sys"],
  endings: ["done", "name", "state", "permission", "config"],
  run: async (invocation, system) => {
    const [name] = invocation.operands;
    if (name === undefined) throw new UsageError("why requires the name of a check", "monitor why NAME");
    const format = invocation.reportFormat();
    const config = await openConfig(invocation, system, { withoutSecrets: true });
    const check = config.checks.find((one) => one.name === name);
    if (check === undefined) {
      throw new UsageError(
        `the config has no check ${quoteValue(name)}`,
        "list the checks with: monitor status",
      );
    }
    const place = await locateState(invocation, config, system);
    await using state = await openStateOf({ config, place }, system);
    const { store, recordOf, monitor } = state;
    const nowMs = system.clock.wallMs();
    const outbox = await store?.outbox() ?? NO_OUTBOX;
    const silences = await store?.silences(nowMs) ?? [];
    const logged = await store?.deliveries({ checks: [name], sinceMs: -Infinity, untilMs: Infinity }) ?? [];
    const why = explain(check, { config, recordOf, monitor, outbox, nowMs, silences, logged });
    const channel = invocation.text("channel");
    const chosen = channel === undefined ? why : { ...why, channels: chooseChannel(why.channels, channel) };
    system.stdout.write(format === "json" ? whyJson(chosen) : whyText(chosen, system.timeZone()));
    return EXIT.ok;
  },
};

type Why = ReturnType<typeof explain>;
type ExplainedChannel = Why["channels"][number];

/** How many deliveries of each channel are shown. */
const DELIVERIES_SHOWN = 3;

const NO_OUTBOX: KeptOutbox = { notifications: [], markers: [], counts: [] };

function chooseChannel(channels: Why["channels"], name: string): Why["channels"] {
  const chosen = channels.filter((channel) => channel.name === name);
  if (chosen.length > 0) return chosen;
  const names = channels.map((channel) => quoteValue(channel.name)).join(", ");
  throw new UsageError(`the check has no channel ${quoteValue(name)}, expected ${names || "none"}`);
}

function explain(
  check: Check,
  { config, recordOf, monitor, outbox, silences, logged, nowMs }: {
    readonly config: OpenConfig;
    recordOf(name: string): CheckRecord | null;
    readonly monitor: MonitorStatus | null;
    readonly outbox: KeptOutbox;
    readonly silences: readonly Silence[];
    readonly logged: readonly LoggedDelivery[];
    readonly nowMs: number;
  },
) {
  const record = recordOf(check.name);
  const notRunning = monitor?.notRunning ?? null;
  const known = conditionOf(check, record, nowMs, notRunning);
  const names = new ConfiguredChannels({ ...channelsOf(config), redact: config.redact });
  // One that the present service does not run suppresses nothing.
  const isLeft = (name: string): boolean => recordOf(name)?.nextRunAtMs === null;
  const running = new Map(
    config.checks.filter(({ name, active }) => active && !isLeft(name)).map((one) => [one.name, one]),
  );
  const rows = shownNotifications(outbox, nowMs)
    .filter(({ notification }) => notification.check === check.name);
  const markerOf = ({ key }: Channel): DeliveryMarker | null =>
    outbox.markers.find((marker) => marker.check === check.name && marker.channelKey === key) ?? null;
  const lastOf = (channel: Channel): LastNotified =>
    lastNotified(
      rows.findLast(({ channelKey, state }) => channelKey === channel.key && state !== "dropped") ?? null,
      markerOf(channel),
    );
  const options = {
    check,
    silences,
    running,
    stateOf: (name: string) => recordOf(name)?.condition ?? initialState(),
    lastNotifiedOf: lastOf,
    nowMs,
  };
  const unique = new Map(check.notifications.map((channel) => [channel.key, channel]));
  return {
    check,
    record,
    known,
    /** Why its condition does not count; empty if it does. */
    stale: describeStale({ state: known.state, record, notRunning }, nowMs),
    channels: [...unique.values()].map((channel) => ({
      name: names.nameOf(channel),
      /** What it was notified of before what waits for it. */
      notified: lastNotified(null, markerOf(channel)).conditions,
      isLeftOut: markerOf(channel)?.messageId === "",
      /** One that is left out counts as notified, sent or not. */
      events: channel.events,
      /** What waits for it, was rejected or dropped. */
      queued: rows.filter(({ channelKey }) => channelKey === channel.key),
      /** What became of the last ones, the newest first; also before the channel was edited. */
      deliveries: logged.filter(({ channelKey, channelName }) =>
        channelKey === channel.key || channelName === names.nameOf(channel)
      ).slice(-DELIVERIES_SHOWN).reverse(),
      ...record === null || known.state !== "current"
        ? { event: null, causes: [] }
        : explainChannel(channel, { ...options, record }),
    })),
    monitor,
    notes: monitorNotes(monitor, { nowMs, hasErrors: false }),
    nowMs,
  };
}

function whyText(
  { check, record, known, stale, channels, monitor, notes, nowMs }: Why,
  timeZone: string,
): string {
  const since = record?.condition.confirmedSinceMs ?? null;
  const unconfirmed = record === null ? null : unconfirmedOf(check, record);
  const last = record?.last ?? null;
  const options = { known, nowMs, timeZone, whenDecided: describeDecision(monitor) };
  const width = Math.max(0, ...channels.map(({ name }) => textWidth(name)));
  const lines = [
    `${check.name}: ${known.condition}` +
    (stale !== ""
      ? ` (${stale})`
      : since === null || known.condition === "pending"
      ? ""
      : ` since ${timeText(since, timeZone)}`),
    last === null
      ? "never ran"
      : `last run ${
        last.startedAtMs > nowMs
          ? `at ${timeText(last.startedAtMs, timeZone)}`
          : `${describeDuration(nowMs - last.startedAtMs)} ago`
      }: ${last.condition}` +
        (unconfirmed?.threshold === undefined || unconfirmed.threshold === null
          ? ""
          : `, ${unconfirmed.results} of ${unconfirmed.threshold}`) +
        (last.output === "" ? "" : `: ${last.output}`),
    ...notes,
    "",
    ...check.active ? [] : ["The check is inactive, so it does not run."],
    ...channels.length === 0 ? ["The check has no notifications."] : [],
    ...channels.flatMap((channel) => {
      const [first = "", ...rest] = describeChannel(channel, options);
      const pad = " ".repeat(width - textWidth(channel.name));
      return [`${channel.name}${pad}  ${first}`, ...rest.map((line) => `${" ".repeat(width)}  ${line}`)];
    }),
  ];
  return lines.map((line) => `${printable(line)}\n`).join("");
}

interface TextOptions {
  readonly known: KnownCondition;
  readonly nowMs: number;
  readonly timeZone: string;
  /** When something is sent that is due. */
  readonly whenDecided: string;
}

function describeChannel(channel: ExplainedChannel, options: TextOptions): readonly string[] {
  const { notified: [condition = "ok", second], isLeftOut, events, queued, deliveries, event, causes } =
    channel;
  const waits = queued.map((row) => describeQueued(row, options.nowMs));
  const ids = new Set(queued.map(({ id }) => id));
  const sent = deliveries.filter(({ id }) => !ids.has(id))
    .map((one) => describeDelivery(one, ` at ${timeText(one.atMs, options.timeZone)}`));
  const notified = [
    ...condition === "ok"
      ? []
      : isLeftOut
      ? [`${condition} was decided, but not sent: "events" left it out`]
      : isSentWhole(events)
      ? [`notified of ${condition}${second === undefined ? "" : ", which may not have arrived"}`]
      : [`${condition} was decided, of which "events" lets through: ${events?.join(", ")}`],
  ];
  if (event === null && notified.length + waits.length === 0) {
    return [`nothing is due: ${whyNothing(options.known)}`, ...sent];
  }
  const lines = [...notified, ...sent, ...waits];
  if (event === null) return lines;
  if (causes.length === 0) return [...lines, `${event} is due: ${options.whenDecided}`];
  return [...lines, `${event} not sent:`, ...causes.map((cause) => `- ${describeCause(cause, options)}`)];
}

/** Returns whether a channel gets all that tells it of a problem. */
function isSentWhole(events: Channel["events"]): boolean {
  return events === undefined || events.includes("problem") && events.includes("change");
}

/** Of what nothing holds back. */
function describeDecision(monitor: MonitorStatus | null): string {
  if (monitor?.state === "cron") return "it is sent with the next call";
  return monitor?.config === "edited"
    ? "it is sent once the config is reloaded"
    : "it is sent with the next decision, unless the monitor runs with --no-notify";
}

function whyNothing({ condition, state }: KnownCondition): string {
  if (state === "never_ran") return "it never ran";
  if (state !== "current") return "nothing is decided until it runs again";
  return condition === "pending" ? "no condition is confirmed" : `it is ${condition}`;
}

function describeQueued(
  { state, attempts, nextAttemptAtMs, lastFailure, limitedUntilMs, notification }: ShownNotification,
  nowMs: number,
): string {
  const tried = attempts === 0 ? "not tried yet" : `tried ${attempts === 1 ? "once" : `${attempts} times`}`;
  const next = state === "dropped"
    ? ""
    : `, next in ${describeDuration(Math.max(0, nextAttemptAtMs - nowMs))}`;
  const limit = limitedUntilMs === undefined ? "" : ', since "at_most" is reached';
  const failure = lastFailure === null ? "" : `: ${lastFailure}`;
  return `${state}: ${notification.event} ${notification.condition}, ${tried}${next}${limit}${failure}`;
}

function describeCause(cause: Cause, options: TextOptions): string {
  // The type of the words of a kind is that of its causes.
  return (CAUSE_WORDS[cause.kind] as (cause: Cause, options: TextOptions) => string)(cause, options);
}

type CauseOf<K extends Cause["kind"]> = Cause & { readonly kind: K };

const CAUSE_WORDS: { readonly [K in Cause["kind"]]: (cause: CauseOf<K>, options: TextOptions) => string } = {
  threshold: describeThreshold,
  recovery_threshold: describeThreshold,
  silence: ({ silence }, { nowMs }) =>
    `silenced: ${describeSilence(silence, nowMs)}; ends with: monitor unsilence ${
      silence.check ?? (silence.tag === null ? "--all" : `--tag ${silence.tag}`)
    }`,
  acknowledgement: ({ silence }, { nowMs }) =>
    `acknowledged: ${describeSilence(silence, nowMs)}, so it does not escalate`,
  maintenance: ({ reason, untilMs }, { timeZone }) => {
    const until = untilMs === null ? "" : `, until ${timeText(untilMs, timeZone)}`;
    return `maintenance window${reason === "" ? "" : ` (${reason})`}${until}`;
  },
  depends_on: ({ names, isAwaited }) => {
    const [are, have] = names.length === 1 ? ["is", "has"] : ["are", "have"];
    const why = isAwaited ? `${have} not run since the problem began` : `${are} not ok`;
    return `"depends_on": ${names.map(quoteValue).join(" and ")} ${why}`;
  },
  flapping: () => '"flapping": "once": a notification was sent while it flaps',
  conditions: ({ conditions }) => `"conditions": ${conditions.join(", ")} alone`,
  after: ({ dueAtMs }, { nowMs }) =>
    dueAtMs > nowMs ? `"after": in ${describeDuration(dueAtMs - nowMs)}` : '"after"',
  hours: ({ fromMs, isLater }, { timeZone }) => {
    if (!isLater) return '"outside_hours": "never": it began outside of "hours"';
    return fromMs === null
      ? '"hours": it is outside of them'
      : `"hours": they begin at ${timeText(fromMs, timeZone)}`;
  },
  events: ({ events }) => `"events": ${events.join(", ")} alone`,
};

function describeThreshold(
  { kind, condition, results, of }: CauseOf<"threshold" | "recovery_threshold">,
): string {
  return `"${kind}": ${condition}, ${results} of ${of} results`;
}

/** The same for programs; fields are only ever added. */
function whyJson({ check, record, known, stale, channels, monitor, notes, nowMs }: Why): string {
  const time = (ms: number | null): string | null => ms === null ? null : isoTime(ms);
  const last = record?.last ?? null;
  const options = { known, nowMs, timeZone: "UTC", whenDecided: "" };
  return jsonDocument({
    check: check.name,
    condition: known.condition,
    state: known.state,
    reason: stale,
    confirmed_since: known.state === "current" ? time(record?.condition.confirmedSinceMs ?? null) : null,
    last: last === null
      ? null
      : { condition: last.condition, output: last.output, started_at: isoTime(last.startedAtMs) },
    channels: channels.map((channel) => ({
      channel: channel.name,
      notified: channel.notified[0] ?? "ok",
      certain: channel.notified.length === 1 &&
        (channel.notified[0] === "ok" || !channel.isLeftOut && isSentWhole(channel.events)),
      due: channel.event,
      causes: channel.causes.map((cause) => ({ kind: cause.kind, text: describeCause(cause, options) })),
      queued: channel.queued.map((row) => ({
        state: row.state,
        event: row.notification.event,
        condition: row.notification.condition,
        decided_at: isoTime(row.notification.decidedAtMs),
        attempts: row.attempts,
        next_attempt_at: row.state === "dropped" ? null : isoTime(row.nextAttemptAtMs),
        last_failure: row.lastFailure,
      })),
      deliveries: channel.deliveries.map(deliveryFields),
    })),
    monitor: monitorFields(monitor),
    notes,
  });
}
