/** The processes that share a state (members): the data that they publish, and the interface for other layers. */
import type { DeliveryMarker, LimitUse, Notification, QueuedNotification, Silence } from "./outbox.ts";
import type { ReportBatch } from "./reports.ts";
import type { CheckRecord, KeptResult, Store } from "./store.ts";

/** This process's share of the work of several. */
export interface WorkShare {
  runs(check: string): boolean;
  readonly prunes: boolean;
  /** The name of this member. Absent: there are no others. */
  readonly name?: string;
  /** Its location; `null` without one. */
  readonly location?: { readonly name: string | null };
  /** Requests the others to run a check at once. Absent: there are none. */
  callFor?(check: string, why: EarlyLook["why"]): void;
  /**
   * Reads the last results of the others that decide about common causes: of some checks, and of those that share
   * attributes with them. Never rejects: what can't be read stays as it was. Absent: there are no others.
   */
  readRelated?(related: RelatedChecks): Promise<void>;
}

export interface RelatedChecks {
  /** @default none */
  readonly checks?: readonly string[];
  /** @default those that the checks suspect */
  readonly attributes?: readonly string[];
}

export const ALL_WORK: WorkShare = { runs: () => true, prunes: true };

export interface MemberHeartbeat {
  readonly host: string;
  /** The process; another one after a restart. */
  readonly id: string;
  readonly count: number;
  /** The hash of its config; empty if it does not participate. */
  readonly config: string;
  /** The hash of the config that it considers active. */
  readonly active: string;
  /** The location of its `--location`; `null` without one. */
  readonly location: string | null;
  /** Checks that others are to run now, without waiting for their interval; of the last few seconds. */
  readonly looks: readonly EarlyLook[];
}

export interface EarlyLook {
  /** Grows with each call of its process. */
  readonly sequence: number;
  readonly check: string;
  /**
   * - `failing`: it fails at the member's location; the others are to run it, unless they know that it fails there.
   * - `changed`: its result at the member's location changed.
   * - `requested`: all locations are to run it.
   * - `needed`: another check depends on it; the member that owns it is to run it.
   */
  readonly why: "failing" | "changed" | "requested" | "needed";
}

export interface LocationResult {
  readonly check: string;
  readonly location: string;
  /** With one vote: that of the location. */
  readonly result: KeptResult;
  /** The trace of the last failing run, line by line; empty: it was not traced, or the last run was ok. */
  readonly trace: string;
}

export interface StoredLocationResult extends LocationResult {
  /** Grows with each result. */
  readonly runs: number;
  /** The time since its end, by the clock of the database; 0 or more. */
  readonly ageMs: number;
}

export interface QueueRow {
  readonly channelKey: string;
  /** The process that owns it; `null`: it was given back. */
  readonly owner: string | null;
  readonly token: number;
}

export interface HeartbeatReply {
  /** Whether a newer process of this host participates; then nothing was written. */
  readonly isSuperseded: boolean;
  readonly members: readonly MemberHeartbeat[];
  readonly queues: readonly QueueRow[];
  /** Those whose end is still to come. */
  readonly silences: readonly Silence[];
  /** The checks of which a channel may have been notified of another condition than their record has. */
  readonly uncertain: readonly string[];
  /** The jobs of which the end of a run was recorded in the last few seconds. */
  readonly checkIns: readonly JobCheckIn[];
  /** What is stored of the reports of each agent. */
  readonly received: readonly ReceivedReports[];
}

/** The stored batches of an agent: those that are not recorded yet, and the last one. */
export interface ReceivedReports {
  readonly agent: string;
  /** The id of the last one; another one after each report. */
  readonly last: number;
  readonly count: number;
}

export interface ReceivedBatch {
  /** Unique; grows with each batch of an agent that reports one after the other. */
  readonly id: number;
  readonly batch: ReportBatch;
  /** The time since it was received, by the clock of the database; 0 or more. */
  readonly ageMs: number;
}

export interface JobCheckIn {
  readonly job: string;
  /** When it was recorded, by the clock of the database; another one for each check-in. */
  readonly atMs: number;
}

/** Longer than the time between two heartbeats of a live member. */
export const CHECK_INS_FOR_MS = 5_000;

/** The connection of a member on which it sends its heartbeats. Every method rejects with a `StoreError`. */
export interface HeartbeatStore {
  /** Increments the count of a member, and reads everything in the same round trip. The first one replaces an older process. */
  beat(own: Omit<MemberHeartbeat, "count">, isFirst: boolean): Promise<HeartbeatReply>;
  /** Removes the member, unless a newer process has its place. */
  leave(own: Pick<MemberHeartbeat, "host" | "id">): Promise<void>;
  close(): Promise<void>;
}

/** The last notification of a channel, for a check: a queued one, otherwise the delivered one. */
export type KnownNotification = Pick<DeliveryMarker, "check" | "channelKey" | "condition" | "certain">;

export interface SharedStore extends Store {
  /** Resolves once its server was reached, and it has tables; at once if that was so when it was opened. */
  open(): Promise<void>;
  /** Reads the records of checks that run here from now on; `save` expects their versions. */
  load(names: readonly string[]): Promise<readonly CheckRecord[]>;
  members(): Promise<readonly MemberStatus[]>;
  /**
   * Returns the records of some checks, and of those whose last run depended on one of some attributes: at most
   * {@linkcode SHARING_MAX} of these. A later save does not expect their versions.
   */
  readOthers(names: readonly string[], attributes?: readonly string[]): Promise<readonly CheckRecord[]>;
  /** Returns the last notifications of channels, for checks with a problem. */
  known(names: readonly string[]): Promise<readonly KnownNotification[]>;
  pendingChannels(): Promise<readonly string[]>;
  /** Claims a queue if its token is still the given one; returns it with the new token, `null` if another was faster. */
  takeQueue(queue: QueueRow, owner: string): Promise<TakenQueue | null>;
  /** Gives a queue back, if it is still owned. */
  giveBackQueue(queue: QueueRow): Promise<void>;
  /** Returns the notifications in these queues that were not received under their present token. */
  receive(queues: readonly QueueRow[]): Promise<ReceivedNotifications>;
  /**
   * Returns whether a claimed queue is still owned, as far as this process detects. `changeOutbox` changes only rows
   * of such a queue, and detects if another member has claimed it.
   */
  owns(channelKey: string): boolean;
  /** The version of a record as this process read it or saved a result last; `null` if nothing is stored of its check. */
  versionOf(check: string): number | null;
  /** Saves results at a location, each in the place of the last one; at most one of each check and location. */
  saveLocationResults(results: readonly (LocationResult & { readonly ageMs: number })[]): Promise<void>;
  /** Returns the last results of some checks at all locations, in no order. */
  locationResults(checks: readonly string[]): Promise<readonly StoredLocationResult[]>;
  /** Stores what an agent reports until it is recorded. Persisted once this resolves, but to `false` if too much waits. */
  keepReceived(agent: string, batch: ReportBatch): Promise<boolean>;
  /** Returns the first stored batches of an agent, in order of their ids; at most {@linkcode RECEIVED_READ_MAX}. */
  received(agent: string): Promise<readonly ReceivedBatch[]>;
  deleteReceived(ids: readonly number[]): Promise<void>;
}

/**
 * The most checks that a search by attributes returns: first those that suspect something, then those whose next run is
 * the latest.
 */
export const SHARING_MAX = 1_000;

/** With so many batches of an agent that are not recorded, no more are received. */
export const RECEIVED_MAX = 200;
export const RECEIVED_READ_MAX = 20;

export function isShared(store: Store): store is SharedStore {
  return "members" in store;
}

export interface MemberStatus extends MemberHeartbeat {
  /** The time since its last heartbeat, by the clock of the database. */
  readonly silentForMs: number;
  readonly channelKeys: readonly string[];
}

/** A member without a heartbeat for so long is dead. */
export const DEAD_AFTER_MS = 3_500;

/** Returns whether a member seems to be live at a single read, by the clock of the database: for people. */
export function isLiveMember({ silentForMs }: Pick<MemberStatus, "silentForMs">): boolean {
  return silentForMs < DEAD_AFTER_MS;
}

export interface ReceivedNotifications {
  /** In the order in which they were saved. */
  readonly notifications: readonly QueuedNotification[];
  /** The last notifications of the channels, for the checks of these notifications. */
  readonly markers: readonly DeliveryMarker[];
}

export interface TakenQueue {
  readonly queue: QueueRow;
  /** The condition that the channel was last notified of. */
  readonly markers: readonly DeliveryMarker[];
  /** The use of the channel's limit; `null`: it never had one. */
  readonly limitUse: LimitUse | null;
  /** Whether its last owner may be sending a message just now. */
  readonly isSending: boolean;
}

export interface SharedState {
  readonly store: SharedStore;
  /** Makes the id of a notification, see `src/state/record_writer.ts`. */
  newId(facts: Pick<Notification, "check" | "condition">): string;
  openHeartbeats(): HeartbeatStore;
  /** How long it may be unreachable before members send without it. */
  readonly failOpenAfterMs: number;
}
