/**
 * From a notification to its channels: what holds it back, which rows it makes, and the outbox that sends them. The repository
 * keeps the rows together with what led to them; what becomes of them is kept here.
 */
import { channelEntryOf, deliverTo } from "../channels/registry.ts";
import { dependencyHolds, dependencyIsUnknown } from "../condition/transition.ts";
import { addCounts, type ChannelCount } from "../domain/channel_count.ts";
import type { Channel } from "../domain/channel.ts";
import type { Check } from "../domain/check.ts";
import type { Condition } from "../domain/condition.ts";
import type { Suppression } from "../domain/condition_state.ts";
import type { DeliverContext } from "../domain/deliver.ts";
import type { DeliveryMarker, OutboxChange, QueuedNotification, Silence } from "../domain/outbox.ts";
import type { Delivery } from "../domain/delivery.ts";
import { type Redact, redactProcesses } from "../shared/redact.ts";
import type { Notification } from "../domain/notification.ts";
import { type KeptOutbox, StoreError } from "../domain/store.ts";
import type { System } from "../domain/system.ts";
import type { RecordOptions, StateRepository } from "../state/state_repository.ts";
import { isInWindow } from "./maintenance_windows.ts";
import type { DeliveryEvent } from "./delivery_event.ts";
import { Dispatcher } from "./dispatcher.ts";
import { joinChanges } from "./outbox_changes.ts";
import { rowsFor } from "./queued_notifications.ts";
import { findRekeyed, type Rekeyed } from "./rekey.ts";
import { isSilenced } from "./silences.ts";

/** What notifying needs of the config; a reload replaces it whole. */
export interface ReportedConfig {
  /** All checks of the config: what waits for a channel of any of them can go. */
  readonly checks: readonly Check[];
  /** The checks that run here: active, and chosen by name or tag. Only these suppress what depends on them. */
  readonly running: readonly Check[];
  /** The config's folder, absolute. */
  readonly folder: string;
  /** Takes secrets out of a text. */
  readonly redact: Redact;
}

/** What notifying needs besides. */
export interface NotifyingOptions {
  /** The parts of the machine that channels use. */
  readonly system: System;
  /** Keeps the rows, and knows what is confirmed. */
  readonly repository: StateRepository;
  /** What the store had when it was opened. */
  readonly kept: KeptOutbox;
  /** Whether anything is notified at all. */
  readonly notifies: boolean;
  /** How long to wait for more, so that what fails together is told together; milliseconds. */
  readonly batchingMs: number;
  /** Writes one line where the console channel's lines go. */
  writeLine(line: string): void;
  /** Told of what becomes of rows. */
  onEvent(event: DeliveryEvent): void;
  /** Told of what must not happen. */
  onBug(error: unknown): void;
}

/** What a notification of a check is decided by. */
export type Deciding = Pick<RecordOptions, "suppressedBy" | "queue"> & Required<Pick<RecordOptions, "known">>;

/** See the top of the file. */
export interface Notifying {
  /** Reads the silences anew: another process may have made one. */
  refresh(): Promise<void>;
  /** What holds a check's notifications back now; `null`: nothing does. */
  suppressedBy(check: Check, nowMs: number): Suppression | null;
  /** What a check's next notification is decided by, and the rows that it makes. */
  deciding(check: Check, nowMs: number): Deciding;
  /** The checks that are to be run at once, so that it is known whether they suppress what is due of a check. */
  parentsToRun(check: Check, nowMs: number): readonly Check[];
  /** Sends rows that are kept, or that the store cannot keep just now. */
  send(rows: readonly QueuedNotification[]): void;
  /** Goes on with another config. */
  adopt(config: ReportedConfig): void;
  /** Tries each waiting row once, and comes back when each was tried or time is up. */
  drain(deadlineMs: number): Promise<void>;
  /** Keeps what became of rows while the store took nothing; for when it takes again. */
  catchUp(): Promise<void>;
  /** What is on its way, rejected or dropped. */
  readonly rows: readonly QueuedNotification[];
  /** Of these, what this config still sends. */
  readonly pending: readonly QueuedNotification[];
  /** What each channel took and did not take, ever, as far as it is kept. */
  readonly counts: readonly ChannelCount[];
  /** The channels of the config, by key: how people call each. */
  readonly channelNames: ReadonlyMap<string, string>;
  /** Sends nothing more, and keeps what became of the last rows. */
  stop(): Promise<void>;
}

/** The time limit of one attempt to deliver, unless the channel itself takes longer. */
const ATTEMPT_MS = 60_000;
/** What a program needs to be ended after its own time limit. */
const OWN_LIMIT_EXTRA_MS = 10_000;

/** As long as a notification that is no longer true is retried. */
const OBSOLETE_AFTER_MS = 24 * 3_600_000;

/** How long the first notification of a channel waits for others, so that what fails together is sent together. */
export const BATCHING_DELAY_MS = 2_000;

/** Starts notifying. */
export function startNotifying(first: ReportedConfig, options: NotifyingOptions): Notifying {
  const { system, repository, kept, notifies } = options;
  const { clock } = system;
  let config = first;
  /** What people call a channel: its name, or its receiver, which may come from a placeholder. */
  const nameOf = (channel: Channel): string =>
    channel.name ?? config.redact(channelEntryOf(channel).describe(channel));
  let channels = channelsByKey(first.checks);
  let keysByCheck = channelKeysOf(first.checks);
  let running = byName(first.running);
  let silences: readonly Silence[] = [];
  let sequence = kept.notifications.reduce((largest, row) => Math.max(largest, row.sequence), 0) + 1;
  /** Rows that were made and not handed to the outbox yet. */
  const upcoming = new Set<QueuedNotification>();
  let unkept: OutboxChange[] = [];
  const counts = new Map(kept.counts.map((count) => [count.channelKey, count]));
  let keeping: Promise<void> = Promise.resolve();
  /** Where all of it is kept so far. */
  let keptIn = repository.store;

  /** Keeps what became of rows, in order; what a store in trouble does not take waits for the next call. */
  const keepAll = async (): Promise<void> => {
    await repository.flush();
    if (repository.store !== keptIn) {
      // A fresh one, in the place of one that was damaged, knows nothing yet.
      keptIn = repository.store;
      unkept = [everything()];
    }
    while (unkept.length > 0 && repository.isWritable) {
      // In one transaction, since each costs the disk a flush.
      const change = joinChanges(unkept);
      unkept = [];
      try {
        await repository.store.changeOutbox(change);
      } catch (error) {
        unkept = [change, ...unkept];
        // The repository says it: it tries to write again before long, and this is tried with it.
        if (error instanceof StoreError) return;
        throw error;
      }
    }
  };
  const everything = (): OutboxChange => {
    const changed = notifies ? dispatcher.all : kept.notifications;
    const ids = new Set(changed.map((row) => row.id));
    return {
      changed,
      // What was told while nothing could be kept may be among what the repository has just written.
      removed: unkept.flatMap(({ removed }) => removed).filter((id) => !ids.has(id)),
      markers: dispatcher.markers,
      cleared: [],
      counted: [...counts.values()],
    };
  };
  const keep = (change: OutboxChange): Promise<void> => {
    repository.amend(change.changed);
    for (const count of change.counted ?? []) {
      counts.set(count.channelKey, addCounts(counts.get(count.channelKey), count));
    }
    unkept.push(change);
    return keeping = keeping.then(keepAll).catch(options.onBug);
  };

  const dispatcher = new Dispatcher(notifies ? kept : { notifications: [], markers: kept.markers }, {
    clock,
    random: system.random,
    batchingMs: options.batchingMs,
    targetOf: (key) => {
      const channel = channels.get(key);
      if (channel === undefined) return null;
      const entry = channelEntryOf(channel);
      const { parameters } = channel;
      return {
        channel,
        batches: entry.batches(channel),
        staleAfterMs: entry.staleAfterMs,
        // A channel with a time limit of its own keeps to it, and then says more than that time is up.
        attemptTimeoutMs: Math.max(
          ATTEMPT_MS,
          "timeoutMs" in parameters ? parameters.timeoutMs + OWN_LIMIT_EXTRA_MS : 0,
        ),
      };
    },
    placeOf: (check, channelKey) => {
      const isOfCheck = keysByCheck.get(check)?.has(channelKey);
      return isOfCheck === false ? "unwanted" : channels.has(channelKey) ? "here" : "absent";
    },
    deliver: async (message, channel, signal) => {
      const { redact } = config;
      const context: DeliverContext = {
        system: { ...system, processes: redactProcesses(system.processes, redact) },
        folder: config.folder,
        writeLine: options.writeLine,
        onStep: () => {},
        signal,
      };
      return redactDelivery(await deliverTo(channel, message, context), redact);
    },
    persist: keep,
    isStillTrue: ({ notification }) =>
      repository.recordOf(notification.check, clock.wallMs()).condition.confirmed === notification.condition,
    onEvent: options.onEvent,
    onBug: options.onBug,
  });

  /** What a channel knew of a check that it has no more is of use for a day after the end of the problem. */
  const isObsolete = ({ check }: DeliveryMarker): boolean => {
    const nowMs = clock.wallMs();
    const { confirmed, confirmedSinceMs } = repository.recordOf(check, nowMs).condition;
    return confirmed === "ok" && nowMs - (confirmedSinceMs ?? nowMs) > OBSOLETE_AFTER_MS;
  };
  const adoptChannels = (rekeyed: Rekeyed): void => {
    if (notifies) dispatcher.reload(rekeyed, isObsolete);
  };
  adoptChannels(new Map());

  /** What is to be sent last of a check to a channel. */
  const lastOf = (check: string, channelKey: string): QueuedNotification | null =>
    [...upcoming].findLast((row) => row.notification.check === check && row.channelKey === channelKey) ??
      dispatcher.lastOf(check, channelKey);
  /** What a channel was notified of last, or is about to be; two conditions where it may have been. */
  const knownOf = (check: string, channelKey: string): readonly Condition[] => {
    const last = lastOf(check, channelKey);
    if (last !== null) return [last.notification.condition];
    const mark = dispatcher.markerOf(check, channelKey);
    if (mark === null) return ["ok"];
    return mark.certain ? [mark.condition] : [mark.condition, "ok"];
  };
  const suppressedBy = (check: Check, nowMs: number): Suppression | null => {
    if (!notifies) return "no_notify";
    if (isSilenced(check.name, silences, nowMs)) return "silence";
    if (isInWindow(check.maintenanceWindows, nowMs)) return "maintenance";
    return parentsWhere(check, nowMs, dependencyHolds).length > 0 ? "dependency" : null;
  };
  const parentsWhere = (check: Check, nowMs: number, isWanted: typeof dependencyHolds): readonly Check[] => {
    const { problemBeganAtMs } = repository.recordOf(check.name, nowMs).condition;
    return check.dependsOn.flatMap((name) => running.get(name) ?? []).filter(({ name }) =>
      isWanted(repository.recordOf(name, nowMs).condition, problemBeganAtMs ?? nowMs)
    );
  };
  const rowsOf = (notification: Notification, check: Check): readonly QueuedNotification[] => {
    const rows = rowsFor(notification, {
      channels: check.notifications,
      nameOf,
      knownOf: ({ key }) => {
        const known = knownOf(check.name, key);
        return known.find((condition) => condition !== notification.condition) ?? notification.condition;
      },
      isPending: ({ key }) => lastOf(check.name, key) !== null,
      textMaxOf: (channel) => channelEntryOf(channel).textMax,
      sequence,
      nowMs: clock.wallMs(),
    });
    sequence += rows.length;
    for (const row of rows) upcoming.add(row);
    return rows;
  };

  return {
    refresh: async () => {
      try {
        silences = await repository.store.silences(clock.wallMs());
      } catch (error) {
        // Without a store to read, the silences known so far go on.
        if (!(error instanceof StoreError)) throw error;
      }
    },
    suppressedBy,
    deciding: (check, nowMs) => ({
      suppressedBy: suppressedBy(check, nowMs),
      // Without notifications nothing is known of what waits.
      known: notifies ? check.notifications.flatMap(({ key }) => knownOf(check.name, key)) : [],
      queue: (notification) => rowsOf(notification, check),
    }),
    parentsToRun: (check, nowMs) => parentsWhere(check, nowMs, dependencyIsUnknown),
    send: (rows) => {
      for (const row of rows) upcoming.delete(row);
      dispatcher.add(rows);
    },
    adopt: (next) => {
      const { checks } = config;
      config = next;
      const rekeyed = findRekeyed(checks, next.checks, nameOf);
      channels = channelsByKey(next.checks);
      keysByCheck = channelKeysOf(next.checks);
      running = byName(next.running);
      adoptChannels(rekeyed);
    },
    drain: (deadlineMs) => dispatcher.drain(deadlineMs),
    catchUp: () => keeping = keeping.then(keepAll).catch(options.onBug),
    get rows() {
      return notifies ? dispatcher.all : kept.notifications;
    },
    get pending() {
      return dispatcher.pending;
    },
    get counts() {
      return [...counts.values()];
    },
    get channelNames() {
      return new Map([...channels].map(([key, channel]) => [key, nameOf(channel)]));
    },
    stop: async () => {
      await dispatcher.stop();
      await (keeping = keeping.then(keepAll).catch(options.onBug));
    },
  };
}

/** A receiver may echo what it was sent. */
function redactDelivery(delivery: Delivery, redact: Redact): Delivery {
  if (!delivery.delivered) return { ...delivery, reason: redact(delivery.reason) };
  return { ...delivery, note: delivery.note === null ? null : redact(delivery.note) };
}

function channelsByKey(checks: readonly Check[]): ReadonlyMap<string, Channel> {
  return new Map(checks.flatMap((check) => check.notifications.map((channel) => [channel.key, channel])));
}

function byName(checks: readonly Check[]): ReadonlyMap<string, Check> {
  return new Map(checks.map((check) => [check.name, check]));
}

/** The keys of each check's channels. */
function channelKeysOf(checks: readonly Check[]): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(
    checks.map(({ name, notifications }) => [name, new Set(notifications.map(({ key }) => key))]),
  );
}
