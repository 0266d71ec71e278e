/** Explains why channels of a check were, or were not, notified at a past time. */
import { type Check, combinedChecks, dependencyNames } from "../domain/check.ts";
import type { CheckRecord, KeptOutbox, Store } from "../domain/store.ts";
import { conditionOf } from "../engine/check_status.ts";
import { ConfiguredChannels, toNotifyingConfig } from "../engine/configured_channels.ts";
import { type Gap, gatherWhy, type Why, type WhySources } from "../outputs/why/gather_why.ts";
import { timeText } from "../shared/local_time.ts";
import { Past, type PastRun } from "./past.ts";
import { withoutLimits } from "../condition/duration_rule.ts";
import { isExcluded } from "../engine/channel_filters.ts";
import { decide, type Decided, NOT_SENT } from "../engine/decide.ts";
import { SECOND_MS } from "../shared/time_units.ts";
import { newRecord } from "../state/record_cache.ts";
import { nextRunAfter, withOverdue } from "../scheduler/next_run.ts";
import { afterSkipped, quietUntilMs } from "./skipped_runs.ts";
import {
  type DeliveryMarker,
  type LoggedDelivery,
  PLAIN_NOTIFICATION,
  type QueuedNotification,
} from "../domain/outbox.ts";
import type { Channel } from "../domain/channel.ts";
import { markerKey, markersAfter, markersOfDropped } from "../engine/outbox_changes.ts";
import { type LastNotified, lastNotified, newQueued } from "../engine/queued_notifications.ts";

interface PastSources {
  readonly config: WhySources["config"];
  readonly state: Pick<WhySources, "recordOf" | "monitor"> & { readonly store: Store | null };
  /** The explained and the present time; wall times, milliseconds since 1970. */
  readonly atMs: number;
  readonly nowMs: number;
  readonly timeZone: string;
}

/** Returns the explanation with the present config, or the reason why there is none. */
export async function explainPast(check: Check, sources: PastSources): Promise<Why | string> {
  const { config, state: { store }, atMs, timeZone } = sources;
  const { name } = check;
  const running = new Map(config.checks.filter(({ active }) => active).map((one) => [one.name, one]));
  const span = { sinceMs: -Infinity, untilMs: Infinity };
  const journals = await store?.journal(namesOf(check, running), span) ?? [];
  const firstMs = journals.find((journal) => journal.name === name)?.rows[0]?.firstMs;
  if (store === null || firstMs === undefined) return `no result of "${name}" is stored`;
  if (atMs < firstMs) {
    const [at, first] = [timeText(atMs, timeZone), timeText(firstMs, timeZone)];
    return `no result of "${name}" until ${at} is stored: the first one is of ${first}`;
  }
  const logged = await store.deliveries({ checks: [name], ...span });
  const kept = await store.outbox();
  const silences = await store.silences(firstMs);
  const names = new ConfiguredChannels(toNotifyingConfig(config));
  const keys = new Map(check.notifications.map((channel) => [names.nameOf(channel), channel.key]));
  const known = new Set(keys.values());
  const outbox = new PastOutbox(
    logged,
    kept.notifications.filter(({ notification }) => notification.check === name),
    ({ channelKey, channelName }) => known.has(channelKey) ? channelKey : keys.get(channelName) ?? channelKey,
  );
  const dependencies = new Map([[name, dependencyNames(check)]]);
  const past = new PastRecords(check, {
    past: new Past({ journals, silences, dependencies }),
    ...{ running, outbox },
    lostMs: (one, plannedMs) => lostSince(running.get(one), { ...sources, plannedMs }),
  });
  // The record of the check first, because it advances the outbox.
  const record = past.recordAt(name, atMs);
  outbox.advance(atMs);
  const recordOf = (other: string): CheckRecord | null => {
    if (other === name) return record;
    const found = past.recordAt(other, atMs);
    // A dependency that did not run is unknown.
    return found === null || past.gapAt(other, atMs) === null
      ? found
      : { ...found, condition: { ...found.condition, observedAtMs: null } };
  };
  return gatherWhy(check, {
    ...{ config, recordOf, outbox: outbox.outbox, nowMs: atMs },
    monitor: null,
    silences: silences.filter(({ fromMs, untilMs }) => fromMs <= atMs && atMs < untilMs),
    logged: logged.filter((sent) => sent.atMs <= atMs),
    isPast: true,
    gap: past.gapAt(name, atMs),
  });
}

/** Returns the names of a check, of its dependencies, and of all checks that they combine. */
function namesOf(check: Check, running: ReadonlyMap<string, Check>): readonly string[] {
  const names = new Set([check.name, ...dependencyNames(check)]);
  // The loop also visits the names that it adds.
  for (const name of names) {
    const found = running.get(name);
    if (found !== undefined) combinedChecks(found).forEach((one) => names.add(one));
  }
  return [...names];
}

/** Returns the end of the known time after the last run of a check; `Infinity`: it is known now. */
function lostSince(
  check: Check | undefined,
  { state: { recordOf, monitor }, nowMs, plannedMs }: PastSources & { readonly plannedMs: number },
): number {
  const { run = null, notRunning = null } = monitor ?? {};
  const record = check === undefined ? null : recordOf(check.name);
  const state = check === undefined ? "never_ran" : conditionOf(check, record, nowMs, notRunning).state;
  if (state === "not_running" && notRunning !== null) return Math.min(plannedMs, notRunning.sinceMs);
  const isRestarted = run?.mode === "service" && plannedMs < run.startedAtMs;
  return state !== "current" || isRestarted ? plannedMs : Infinity;
}

// Reconstructs the records of checks at a past time: replays each result of their journals, with the silences of that
// time and the logged deliveries until then.

interface PastRecordsOptions {
  readonly past: Past;
  readonly running: ReadonlyMap<string, Check>;
  /** The outbox of the check; it advances with its results. */
  readonly outbox: PastOutbox;
  /** Returns the end of the known time after the last run of a check, from its planned run; `Infinity`: it is known now. */
  lostMs(name: string, plannedMs: number): number;
}

/** Moves forward in time only. */
class PastRecords {
  readonly #check: Check;
  readonly #options: PastRecordsOptions;
  /** By name: the record after the last replayed run, and the time of that run. */
  readonly #played = new Map<string, { readonly record: CheckRecord; readonly lastMs: number }>();

  constructor(check: Check, options: PastRecordsOptions) {
    this.#check = check;
    this.#options = options;
  }

  /** Returns the record of the check, or of a dependency, at a time; `null`: it never ran until then. */
  recordAt(name: string, atMs: number): CheckRecord | null {
    const { past, running } = this.#options;
    const found = name === this.#check.name ? this.#check : running.get(name);
    if (found === undefined) return null;
    // Past reminders are not explained.
    const check = { ...withoutLimits(found), reminders: false as const };
    for (;;) {
      const run = past.runAfter(name, this.#played.get(name)?.lastMs ?? -Infinity);
      if (run === null || run.atMs > atMs) return this.#played.get(name)?.record ?? null;
      this.#take(check, run, atMs);
    }
  }

  /**
   * Returns the gap in the runs of a check, or of one that it combines, at a time; `null`: none. The last confirmed
   * condition counts until the planned run, as in `observedUntil`.
   */
  gapAt(name: string, atMs: number): Gap | null {
    const own = this.#gapAt(name, atMs);
    const check = this.#options.running.get(name);
    if (own !== null || check === undefined) return own;
    // While the service runs, a result of the group already includes an overdue check.
    return combinedChecks(check).map((one) => this.gapAt(one, atMs)).find((gap) => gap?.isStop === true) ??
      null;
  }

  #gapAt(name: string, atMs: number): Gap | null {
    const { past, lostMs } = this.#options;
    const { last = null, nextRunAtMs = null } = this.recordAt(name, atMs) ?? {};
    if (last === null) return null;
    const fromMs = last.startedAtMs;
    // The present config may have another interval.
    const plannedMs = Math.min(nextRunAtMs ?? fromMs, fromMs + past.intervalUntil(name, atMs));
    let next = past.runAfter(name, atMs);
    while (next !== null && past.isReview(name, next.atMs)) next = past.runAfter(name, next.atMs);
    if (next === null) {
      return atMs < lostMs(name, plannedMs) ? null : { name, fromMs, untilMs: null, isStop: true };
    }
    const { atMs: untilMs, isInterrupted: isStop, isAfterGap } = next;
    const isGap = (isStop || isAfterGap) && untilMs > plannedMs + PUNCTUAL_MS;
    return isGap && atMs >= plannedMs ? { name, fromMs, untilMs, isStop } : null;
  }

  /** Decides on a result, and counts the same results after it, until a time. */
  #take(check: Check, run: PastRun, untilMs: number): void {
    const { past } = this.#options;
    const { name } = check;
    const { atMs: nowMs, result: { condition, awaits } } = run;
    const entry = this.#decide(check, run);
    this.#played.set(name, { record: entry.record, lastMs: nowMs });
    if (awaits !== undefined || check.dependsOn.length > 0 && condition !== "ok") return;
    const { silences } = past;
    const beforeMs = Math.min(
      quietUntilMs(check, entry, { silences, nowMs }),
      past.nextChangeMs(name, nowMs),
      untilMs + 1,
    );
    const fromMs = past.runAfter(name, nowMs)?.atMs ?? Infinity;
    if (fromMs >= beforeMs) return;
    const { count, lastMs } = past.runsBefore(name, { fromMs, beforeMs });
    const { condition: state } = entry.record;
    const { atMs } = nextRunAfter(check, { state, plannedMs: lastMs, nowMs: lastMs });
    const record = afterSkipped(check, entry.record, { count, lastMs, nextMs: atMs });
    this.#played.set(name, { record, lastMs });
  }

  #decide(check: Check, { atMs: nowMs, result, isAfterGap, isInterrupted }: PastRun): Decided {
    const { past, running, outbox } = this.#options;
    const { name } = check;
    const isMain = name === this.#check.name;
    const before = this.#played.get(name)?.record ?? newRecord(name, nowMs);
    // The decision must not depend on its own deliveries.
    if (isMain) outbox.advance(nowMs - 1);
    const entry = decide(
      before,
      check,
      {
        ...NOT_SENT,
        nowMs,
        silences: past.silences.filter(({ fromMs }) => fromMs <= nowMs),
        // The dependencies of a dependency do not affect its condition.
        running: isMain ? running : new Map(),
        stateOf: (other) =>
          other === name
            ? before.condition
            : (this.recordAt(other, nowMs) ?? newRecord(other, nowMs)).condition,
        lastNotifiedOf: isMain ? (channel) => outbox.lastNotifiedOf(name, channel) : null,
      },
      past.isReview(name, nowMs) ? null : {
        result: { ...result, check, startedAtMs: nowMs, durationMs: 0 },
        isAfterGap,
        isInterrupted,
        plan: (state) => withOverdue(check, state, nextRunAfter(check, { state, plannedMs: nowMs, nowMs })),
      },
    );
    for (const queued of entry.queued) {
      const channel = check.notifications.find(({ key }) => key === queued.channelKey);
      if (channel !== undefined && isExcluded(channel, queued)) outbox.leaveOut(queued);
    }
    return entry;
  }
}

/** The tolerated delay of a planned run. */
const PUNCTUAL_MS = SECOND_MS;

// Reconstructs the outbox of a check at a past time, from the log of deliveries and pending notifications.

/** An event of a notification: it was queued, or has an outcome. */
interface Step {
  readonly atMs: number;
  readonly queued: QueuedNotification;
  /** `null`: it was queued. */
  readonly outcome: LoggedDelivery["outcome"] | null;
}

/** Moves forward in time only. The attempts and texts of queued notifications are not stored. */
class PastOutbox {
  readonly #steps: readonly Step[];
  #next = 0;
  readonly #queued = new Map<string, QueuedNotification>();
  readonly #markers = new Map<string, DeliveryMarker>();

  /** Expects rows of one check. An edited channel is found by its name. */
  constructor(
    logged: readonly LoggedDelivery[],
    waiting: readonly QueuedNotification[],
    keyOf: (sent: Pick<LoggedDelivery, "channelKey" | "channelName">) => string,
  ) {
    const outcomes = logged.map((sent): Step => ({
      atMs: sent.atMs,
      queued: queuedOf(sent, keyOf(sent)),
      outcome: sent.outcome,
    }));
    // A notification that was rejected first has two outcomes, but was queued once.
    const queued = new Map(
      [...waiting.filter(({ state }) => state !== "dropped"), ...outcomes.map((step) => step.queued)]
        .map((one): [string, Step] => {
          const pending = { ...one, state: "pending", messageId: null } as const;
          return [one.id, { atMs: one.notification.decidedAtMs, queued: pending, outcome: null }];
        }),
    );
    this.#steps = [...queued.values(), ...outcomes].sort((one, other) =>
      one.atMs - other.atMs || one.queued.notification.decidedAtMs - other.queued.notification.decidedAtMs
    );
  }

  /** Applies the events until a time, inclusive. */
  advance(untilMs: number): void {
    for (let step = this.#steps[this.#next]; step !== undefined && step.atMs <= untilMs;) {
      this.#take(step);
      step = this.#steps[++this.#next];
    }
  }

  /** Records a notification that its channel's `events` omit: it is not in the log. */
  leaveOut(queued: QueuedNotification): void {
    this.#deliver(queued, "");
  }

  /** The outbox of the check, without counts. */
  get outbox(): KeptOutbox {
    return { notifications: [...this.#queued.values()], markers: [...this.#markers.values()], counts: [] };
  }

  lastNotifiedOf(check: string, { key }: Pick<Channel, "key">): LastNotified {
    const waiting = [...this.#queued.values()].findLast(({ channelKey }) => channelKey === key) ?? null;
    return lastNotified(waiting, this.#markers.get(markerKey(check, key)) ?? null);
  }

  #take({ queued, outcome }: Step): void {
    if (outcome === "rejected") {
      this.#queued.set(queued.id, { ...queued, state: "rejected" });
      return;
    }
    if (outcome === null) {
      // A pending notification is merged with the next one.
      for (const { id, channelKey } of this.#queued.values()) {
        if (channelKey === queued.channelKey && queued.missedProblem !== null) this.#queued.delete(id);
      }
      this.#queued.set(queued.id, queued);
      return;
    }
    this.#queued.delete(queued.id);
    if (outcome === "accepted") this.#deliver(queued, queued.messageId ?? "");
    else for (const marker of markersOfDropped([queued])) this.#setMarker(marker);
  }

  #deliver(queued: QueuedNotification, messageId: string): void {
    const { markers, cleared } = markersAfter([queued], messageId, this.#markers);
    for (const { check, channelKey } of cleared) this.#markers.delete(markerKey(check, channelKey));
    markers.forEach((marker) => this.#setMarker(marker));
  }

  #setMarker(marker: DeliveryMarker): void {
    this.#markers.set(markerKey(marker.check, marker.channelKey), marker);
  }
}

function queuedOf(sent: LoggedDelivery, channelKey: string): QueuedNotification {
  const { check, event, condition, missedProblem, decidedAtMs } = sent;
  const notification = {
    ...PLAIN_NOTIFICATION,
    id: sent.id,
    ...{ check, event, condition, decidedAtMs },
    output: "",
    problemBeganAtMs: decidedAtMs,
    nextRunAtMs: decidedAtMs,
    hostName: "",
  };
  return {
    ...newQueued(notification, {
      channelKey,
      channelName: sent.channelName,
      sequence: 0,
      nowMs: decidedAtMs,
    }),
    id: sent.id,
    missedProblem: missedProblem === null
      ? null
      : { ...notification, event: "problem", condition: missedProblem },
    summarized: sent.summarized,
    messageId: sent.messageId,
  };
}
