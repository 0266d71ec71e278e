/**
 * From a report to its channels: what holds it back, which rows it makes, and the outbox that sends them. The ledger
 * keeps the rows together with what led to them; what becomes of them is kept here.
 */
import { decodeChannelLists, encodeChannelLists, listChannels } from "./channel_lists.ts";
import { channelEntryOf, deliverTo } from "./channels/registry.ts";
import { dependencyHolds } from "./condition/transition.ts";
import { addCounts, type ChannelCount } from "./domain/channel_count.ts";
import type { Channel } from "./domain/channel.ts";
import type { Check } from "./domain/check.ts";
import type { Hold } from "./domain/condition_state.ts";
import type { DeliverContext } from "./domain/deliver.ts";
import type { OutboxChange, OutboxRow, Silence } from "./domain/outbox.ts";
import type { Delivery } from "./domain/delivery.ts";
import { type Redact, redactProcesses } from "./domain/redact.ts";
import type { Report } from "./domain/report.ts";
import { type KeptOutbox, StoreError } from "./domain/store.ts";
import type { System } from "./domain/system.ts";
import type { Ledger } from "./ledger.ts";
import { isInWindow } from "./maintenance.ts";
import { type Outbox, type OutboxEvent, startOutbox } from "./outbox.ts";
import { toldKey } from "./outbox_message.ts";
import { rowsFor } from "./outbox_rows.ts";
import { findSuccessors, type Successors } from "./successors.ts";
import { isSilenced } from "./silences.ts";

/** What reporting needs of the document; a reload replaces it whole. */
export interface ReportedDocument {
  /** All checks of the document: what waits for a channel of any of them can go. */
  readonly checks: readonly Check[];
  /** The document's folder, absolute. */
  readonly folder: string;
  /** Takes secrets out of a text. */
  readonly redact: Redact;
}

/** What reporting needs besides. */
export interface ReportingOptions {
  /** The parts of the machine that channels use. */
  readonly system: System;
  /** Keeps the rows, and knows what is settled. */
  readonly ledger: Ledger;
  /** What the store had when it was opened. */
  readonly kept: KeptOutbox;
  /** Whether anything is reported at all. */
  readonly notifies: boolean;
  /** How long to wait for more, so that what fails together is told together; milliseconds. */
  readonly gatherMs: number;
  /** Writes one line where the console channel's lines go. */
  writeLine(line: string): void;
  /** Told of what becomes of rows. */
  onEvent(event: OutboxEvent): void;
  /** Told of what must not happen. */
  onBug(error: unknown): void;
}

/** See the top of the file. */
export interface Reporting {
  /** Reads the silences anew: another process may have made one. */
  refresh(): Promise<void>;
  /** What holds a check's reports back now; `null`: nothing does. */
  heldBy(check: Check, nowMs: number): Hold | null;
  /** The rows of a report that is due. */
  rowsOf(report: Report, check: Check): readonly OutboxRow[];
  /** Sends rows that are kept, or that the store cannot keep just now. */
  send(rows: readonly OutboxRow[]): void;
  /** Goes on with another document. */
  adopt(document: ReportedDocument): void;
  /** Tries each waiting row once, and comes back when each was tried or time is up. */
  drain(deadlineMs: number): Promise<void>;
  /** Keeps what became of rows while the store took nothing; for when it takes again. */
  catchUp(): Promise<void>;
  /** What is on its way, refused or given up. */
  readonly rows: readonly OutboxRow[];
  /** What each channel took and did not take, ever, as far as it is kept. */
  readonly counts: readonly ChannelCount[];
  /** The channels of the document, by key: how people call each. */
  readonly channelNames: ReadonlyMap<string, string>;
  /** Sends nothing more, and keeps what became of the last rows. */
  stop(): Promise<void>;
}

/** The time limit of one attempt to deliver, unless the channel itself takes longer. */
const ATTEMPT_MS = 60_000;
/** What a program needs to be ended after its own time limit. */
const OWN_LIMIT_EXTRA_MS = 10_000;

/** How long the first notification of a channel waits for others, so that what fails together is sent together. */
export const BATCHING_DELAY_MS = 2_000;

/** Starts reporting. */
export function startReporting(first: ReportedDocument, options: ReportingOptions): Reporting {
  const { system, ledger, kept, notifies } = options;
  const { clock } = system;
  let document = first;
  let channels = channelsByKey(first.checks);
  let successors: ReadonlyMap<string, Successors> = new Map();
  let channelLists = decodeChannelLists(kept.channelLists);
  let keptLists = kept.channelLists;
  let silences: readonly Silence[] = [];
  let sequence = kept.rows.reduce((largest, row) => Math.max(largest, row.sequence), 0) + 1;
  /** Rows that were made and not handed to the outbox yet. */
  const upcoming = new Set<OutboxRow>();
  let unkept: OutboxChange[] = [];
  const counts = new Map(kept.counts.map((count) => [count.channelKey, count]));
  let keeping: Promise<void> = Promise.resolve();
  /** Where all of it is kept so far. */
  let keptIn = ledger.store;

  /** Keeps what became of rows, in order; what a store in trouble does not take waits for the next call. */
  const keepAll = async (): Promise<void> => {
    await ledger.flush();
    if (ledger.store !== keptIn) {
      // A fresh one, in the place of one that was damaged, knows nothing yet.
      keptIn = ledger.store;
      unkept = [everything()];
    }
    while (unkept.length > 0 && !ledger.isInTrouble) {
      const [change] = unkept;
      if (change === undefined) return;
      try {
        await ledger.store.changeOutbox(change);
      } catch (error) {
        // The ledger says it: it tries to write again before long, and this is tried with it.
        if (error instanceof StoreError) return;
        throw error;
      }
      unkept = unkept.slice(1);
    }
  };
  const everything = (): OutboxChange => {
    const changed = notifies ? outbox.rows : kept.rows;
    const ids = new Set(changed.map((row) => row.id));
    return {
      changed,
      // What was told while nothing could be kept may be among what the ledger has just written.
      removed: unkept.flatMap(({ removed }) => removed).filter((id) => !ids.has(id)),
      told: outbox.told,
      untold: [],
      counted: [...counts.values()],
      ...keptLists !== null && { channelLists: keptLists },
    };
  };
  const keep = (change: OutboxChange): Promise<void> => {
    ledger.amend(change.changed);
    for (const count of change.counted ?? []) {
      counts.set(count.channelKey, addCounts(counts.get(count.channelKey), count));
    }
    unkept.push(change);
    return keeping = keeping.then(keepAll).catch(options.onBug);
  };

  const outbox: Outbox = startOutbox(notifies ? kept : { rows: [], told: kept.told }, {
    clock,
    random: system.random,
    gatherMs: options.gatherMs,
    channelOf: (key) => {
      const channel = channels.get(key);
      if (channel === undefined) return null;
      const entry = channelEntryOf(channel);
      const { parameters } = channel;
      return {
        channel,
        gathers: entry.gathers(channel as never),
        staleAfterMs: entry.staleAfterMs,
        // A channel with a time limit of its own keeps to it, and then says more than that time is up.
        attemptMs: Math.max(
          ATTEMPT_MS,
          "timeoutMs" in parameters ? parameters.timeoutMs + OWN_LIMIT_EXTRA_MS : 0,
        ),
      };
    },
    successorsOf: (check, channelKey) => successors.get(toldKey(check, channelKey)) ?? null,
    deliver: async (message, channel, signal) => {
      const { redact } = document;
      const context: DeliverContext = {
        system: { ...system, processes: redactProcesses(system.processes, redact) },
        folder: document.folder,
        writeLine: options.writeLine,
        onStep: () => {},
        signal,
      };
      return redactDelivery(await deliverTo(channel, message, context), redact);
    },
    keep,
    holds: ({ report }) => {
      const { settled, reported } = ledger.recordOf(report.check, clock.wallMs()).condition;
      // What is over and not to be told yet may begin again, and then nothing else tells of it.
      return settled === report.condition || reported === report.condition;
    },
    onEvent: options.onEvent,
    onBug: options.onBug,
  });

  /** Goes by the channels of the present document. */
  const adoptChannels = (): void => {
    const pending = [...outbox.rows, ...upcoming].filter((row) => row.state !== "given_up");
    const known = [
      ...pending.map(({ report: { check }, channelKey }) => ({ check, channelKey })),
      // What was told of a problem that is over is of no use to anybody any more.
      ...outbox.told.filter(({ check }) =>
        ledger.recordOf(check, clock.wallMs()).condition.reported !== "ok"
      ),
    ];
    successors = findSuccessors(document.checks, { known, former: channelLists, nameOf });
    const names = new Set(known.map(({ check }) => check));
    channelLists = listChannels(document.checks, channelLists, (check) => names.has(check));
    const text = encodeChannelLists(channelLists);
    outbox.adopt(text === keptLists ? {} : { channelLists: text });
    keptLists = text;
  };
  if (notifies) adoptChannels();

  /** What is to be told last of a check over a channel. */
  const lastOf = (check: string, channel: Channel): OutboxRow | null => {
    const isOurs = ({ report, channelKey }: OutboxRow): boolean => {
      if (report.check !== check) return false;
      // It may have been made by a document before this one.
      const inPlace = successors.get(toldKey(check, channelKey))?.channels ?? [];
      return channelKey === channel.key || inPlace.some((one) => one.channelKey === channel.key);
    };
    return [...upcoming].findLast(isOurs) ?? outbox.lastOf(check, channel.key);
  };
  const knowsProblem = (check: string, channel: Channel): boolean => {
    if (outbox.toldOf(check, channel.key) !== null) return true;
    const last = lastOf(check, channel);
    return last !== null && last.report.event !== "recovery";
  };

  return {
    refresh: async () => {
      try {
        silences = await ledger.store.silences(clock.wallMs());
      } catch (error) {
        // Without a store to read, the silences known so far go on.
        if (!(error instanceof StoreError)) throw error;
      }
    },
    heldBy: (check, nowMs) => {
      if (!notifies) return "no_notify";
      if (isSilenced(check.name, silences, nowMs)) return "silence";
      if (isInWindow(check.windows, nowMs)) return "maintenance";
      const { problemBeganAtMs } = ledger.recordOf(check.name, nowMs).condition;
      const holds = check.dependsOn.some((name) =>
        dependencyHolds(ledger.recordOf(name, nowMs).condition, problemBeganAtMs ?? nowMs)
      );
      return holds ? "dependency" : null;
    },
    rowsOf: (report, check) => {
      const rows = rowsFor(report, {
        channels: check.notifications,
        nameOf,
        knowsProblem: (channel) => knowsProblem(check.name, channel),
        lastOf: (channel) => lastOf(check.name, channel),
        sequence,
        nowMs: clock.wallMs(),
      });
      sequence += rows.length;
      for (const row of rows) upcoming.add(row);
      return rows;
    },
    send: (rows) => {
      for (const row of rows) upcoming.delete(row);
      outbox.add(rows);
    },
    adopt: (next) => {
      document = next;
      channels = channelsByKey(next.checks);
      if (notifies) adoptChannels();
    },
    drain: (deadlineMs) => outbox.drain(deadlineMs),
    catchUp: () => keeping = keeping.then(keepAll).catch(options.onBug),
    get rows() {
      return notifies ? outbox.rows : kept.rows;
    },
    get counts() {
      return [...counts.values()];
    },
    get channelNames() {
      return new Map([...channels].map(([key, channel]) => [key, nameOf(channel)]));
    },
    stop: async () => {
      await outbox.stop();
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

/** How people call a channel. */
function nameOf(channel: Channel): string {
  return channelEntryOf(channel).describe(channel as never);
}
