/**
 * This process as a member: it sends heartbeats, and follows what they show of the others. It changes its share of the
 * checks and of the channel queues, and tells the {@linkcode MemberFollower}.
 *
 * While the database is unreachable, it keeps its share of the checks and sends nothing. If it was so from the start, all
 * checks are its share. After some time it fails open: it sends notifications of its own checks, since a duplicate is
 * better than silence.
 */
import { type Check, combinedChecks, dependencyNames } from "../domain/check.ts";
import type { Clock } from "../domain/clock.ts";
import {
  DEAD_AFTER_MS,
  type EarlyLook,
  type HeartbeatReply,
  type HeartbeatStore,
  type KnownNotification,
  type MemberHeartbeat,
  type QueueRow,
  type ReceivedNotifications,
  type SharedStore,
  type TakenQueue,
  type WorkShare,
} from "../domain/membership.ts";
import type { Silence } from "../domain/outbox.ts";
import { type CheckRecord, StoreError } from "../domain/store.ts";
import { activeConfig } from "./active_config.ts";
import { EarlyLooks } from "./early_looks.ts";
import { type LocatedCheck, LocationShare } from "./location_share.ts";
import { HEARTBEAT_EVERY_MS, liveOthers, observe, type Observed, UNOBSERVED } from "./observer.ts";
import { type ClockReading, maySend, queueSteps } from "./queue_ownership.ts";
import { createPlacement, hostOf, type PlacedCheck, placesOf } from "./rendezvous.ts";

/** What there is to do, as the config has it; a reload replaces it. */
export interface MemberWork {
  readonly configHash: string;
  readonly checks: readonly (PlacedCheck & LocatedCheck & Pick<Check, "parameters">)[];
  readonly channelKeys: readonly string[];
  /** Whether it shows checks that others run, too. */
  readonly showsAll: boolean;
}

/** So often it looks for notifications of channels that left the config. */
const ABANDONED_EVERY_MS = 3_600_000;

/** So often it reads what others know of the checks that it shows. */
const SHOWN_EVERY_MS = 10_000;

/** What follows the share of this process. */
export interface MemberFollower {
  /** Writes what is pending of the checks. */
  flush(): Promise<void>;
  /** Goes by what other members have written: of checks that they run, or that this process will run. */
  load(records: readonly CheckRecord[]): void;
  /** Reads what channels were last notified of, and goes by it. */
  know(
    checks: readonly string[],
    read: (checks: readonly string[]) => Promise<readonly KnownNotification[]>,
  ): Promise<void>;
  /** Goes by the changed share of checks. */
  spread(): void;
  /** Goes by the changed share of the checks of its location. */
  spreadLocation(): void;
  /** Looks at checks with locations at once. */
  look(looks: readonly EarlyLook[]): void;
  /** Begins with a queue. */
  take(taken: TakenQueue): void;
  /** Takes notifications of own queues. */
  receive(received: ReceivedNotifications): void;
  /** Ends with a queue; resolves once nothing of it is being sent, and its outcomes are persisted. */
  release(channelKey: string): Promise<void>;
  silence(silences: readonly Silence[]): void;
  /** Sends notifications of its own checks without the shared state. */
  failOpen(): void;
  /** Ends that: persists everything, and leaves all queues. Resolves to whether it could. */
  failClosed(): Promise<boolean>;
  /** How long an attempt to send to a channel may take. */
  attemptTimeoutMs(channelKey: string): number;
}

/** What is to be logged of the members. */
export type MemberEvent =
  | { readonly event: "joined" | "left"; readonly host: string }
  /** Whether this process has the active config. */
  | { readonly event: "config"; readonly isActive: boolean }
  /** Whether it sends without the shared state. */
  | { readonly event: "fail_open"; readonly isOpen: boolean };

export interface MemberOptions {
  readonly host: string;
  /** This process; unique. */
  readonly id: string;
  readonly location: string | null;
  /** Whether it runs no checks, and sends only while no other member shares the work: a single run. @default false */
  readonly isGuest?: boolean;
  readonly work: MemberWork;
  /** How long the shared state may be unreachable before it sends without it. */
  readonly failOpenAfterMs: number;
  readonly heartbeats: HeartbeatStore;
  readonly store: Pick<
    SharedStore,
    "load" | "readOthers" | "known" | "pendingChannels" | "takeQueue" | "giveBackQueue" | "receive" | "owns"
  >;
  readonly clock: Clock;
  readonly follower: MemberFollower;
  onEvent(event: MemberEvent): void;
  /** Called when a newer process of this host takes part. */
  onSuperseded(): void;
  /** Called with errors that must not happen. */
  onBug(error: unknown): void;
}

/** A queue that this process sends. */
interface HeldQueue {
  readonly row: QueueRow;
  /** Until then, its last owner may be sending; monotonic clock. */
  readonly receivesFromMs: number;
}

/** Makes a member, which takes no work before it has joined. */
export function createMember(options: MemberOptions): Member {
  return new Member(options);
}

export class Member implements WorkShare {
  readonly #options: MemberOptions;
  #work: MemberWork;
  #places: ReadonlyMap<string, string>;
  #observed: Observed = UNOBSERVED;
  #lastSent: ClockReading | null = null;
  #active: string | null = null;
  /** Whether that is its own config. */
  #isActive = true;
  /** The hosts that share the work. */
  #hosts: readonly string[] = [];
  #queues: readonly QueueRow[] = [];
  readonly #location: LocationShare;
  readonly #earlyLooks = new EarlyLooks();
  #runs: ReadonlySet<string> = new Set();
  /** Whether it went by the other members at least once. */
  #hasFollowed = false;
  /** What belongs to this host; `null`: hosts or config have changed. */
  #here: ReadonlySet<string> | null = null;
  #dependencies: { readonly of: ReadonlySet<string>; readonly names: readonly string[] } | null = null;
  readonly #overtaken = new Set<string>();
  #shownAtMs = -Infinity;
  /** Channels with pending notifications that the config does not have: they are to be dropped. */
  #abandoned: readonly string[] = [];
  #abandonedAtMs = -Infinity;
  readonly #held = new Map<string, HeldQueue>();
  /** Queues of which something may still be being sent here, although they are not held any more. */
  readonly #releasing = new Map<string, Promise<void>>();
  /** When the first heartbeat failed of those that failed since the last good one; monotonic clock. */
  #failingSinceMs: number | null = null;
  #isOpen = false;
  #isWithdrawn = false;
  #hasEnded = false;
  #cancel = (): void => {};
  #following: Promise<void> = Promise.resolve();
  #isFollowPlanned = false;

  constructor(options: MemberOptions) {
    this.#options = options;
    this.#work = options.work;
    this.#places = placesOf(options.work.checks);
    this.#location = new LocationShare(options);
  }

  /** What it does at its location. */
  get location(): LocationShare {
    return this.#location;
  }

  /** Calls on the other members to look at a check with locations at once. */
  callFor(check: string, why: EarlyLook["why"]): void {
    this.#earlyLooks.call(check, why, this.#options.clock.monotonicMs());
  }

  /** Whether it runs a check now. */
  runs(check: string): boolean {
    return this.#runs.has(check);
  }

  /** Whether it prunes the state: one member does. */
  get prunes(): boolean {
    return this.#isHere("prune");
  }

  /** Whether it sends without the shared state, which is unreachable. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether it is certain that others share the work. */
  get isSharedByOthers(): boolean {
    const { lastSentMs, countingSinceMs } = this.#observed;
    const isCertain = lastSentMs !== null && lastSentMs - countingSinceMs >= DEAD_AFTER_MS;
    return isCertain && this.#hosts.some((host) => host !== this.#options.host);
  }

  /** Whether the last heartbeat succeeded. */
  get isConnected(): boolean {
    return this.#failingSinceMs === null;
  }

  /** Whether it owns the queue of a channel for certain, and so may send what waits in it. */
  claims(channelKey: string): boolean {
    return this.#held.has(channelKey) && this.#options.store.owns(channelKey) &&
      maySend(this.#lastSent, this.#now());
  }

  /** Whether each member that takes part, or died, is live: as this one sees it, by host. */
  get members(): ReadonlyMap<string, boolean> {
    const others = [...this.#observed.others.values()]
      .filter(({ heartbeat }) => heartbeat.config !== "")
      .map(({ heartbeat, isLive }) => [heartbeat.host, isLive] as const);
    return new Map([[this.#options.host, !this.#hasEnded] as const, ...others].sort(byHost));
  }

  /** The hosts that share the work, in order. */
  get hosts(): readonly string[] {
    return this.#hosts;
  }

  /** Sends the first heartbeat, and goes on. */
  async join(): Promise<void> {
    await this.#beat();
  }

  /** Goes by another config. */
  adopt(work: MemberWork): void {
    this.#work = work;
    this.#places = placesOf(work.checks);
    this.#abandonedAtMs = -Infinity;
    this.#here = null;
    this.#dependencies = null;
    if (!this.isConnected) this.#runAllAlone();
    this.#look();
  }

  /** Looks for notifications that were just persisted. */
  poke(): void {
    this.#follow();
  }

  /** Reads again what the channels know of checks whose results another member has overtaken. */
  overtaken(checks: readonly string[]): void {
    for (const check of checks) this.#overtaken.add(check);
    this.#follow();
  }

  /** Lets others run the checks; the queues stay. */
  async withdraw(): Promise<void> {
    this.#isWithdrawn = true;
    this.#cancel();
    await this.#beat();
  }

  /** Gives the queues back, and removes itself. */
  async leave(): Promise<void> {
    const { heartbeats, store, host, id } = this.#options;
    this.#hasEnded = true;
    this.#cancel();
    await this.#following;
    await Promise.all(this.#releasing.values());
    try {
      // Otherwise the others find out by its heartbeats.
      if (!this.isConnected || this.#lastSent === null) return;
      for (const { row } of this.#held.values()) await store.giveBackQueue(row);
      await heartbeats.leave({ host, id });
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    } finally {
      this.#held.clear();
      await heartbeats.close();
    }
  }

  async #beat(): Promise<void> {
    const { heartbeats, clock, host, onSuperseded, onBug, follower } = this.#options;
    const sent = this.#now();
    let reply: HeartbeatReply | null = null;
    try {
      reply = await heartbeats.beat(this.#published(), this.#lastSent === null);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
    if (this.#hasEnded) return;
    if (reply?.isSuperseded) {
      this.#hasEnded = true;
      return onSuperseded();
    }
    const before = new Set(liveOthers(this.#observed).map((one) => one.host));
    this.#observed = observe(
      this.#observed,
      reply === null
        ? { kind: "failed" }
        : { kind: "sent", sentAtMs: sent.monotonicMs, members: reply.members },
      host,
    );
    this.#followReach(reply !== null, sent.monotonicMs);
    if (reply !== null) {
      this.#lastSent = sent;
      this.#queues = reply.queues;
      follower.silence(reply.silences);
      this.#report(before);
      this.#look();
      const looks = this.#earlyLooks.receive(liveOthers(this.#observed));
      if (looks.length > 0) follower.look(looks);
    }
    const waitMs = sent.monotonicMs + HEARTBEAT_EVERY_MS - clock.monotonicMs();
    this.#cancel = clock.after(Math.max(0, waitMs), () => void this.#beat().catch(onBug));
  }

  #followReach(isReached: boolean, sentAtMs: number): void {
    const { clock, follower, failOpenAfterMs, onEvent } = this.#options;
    if (isReached) {
      this.#failingSinceMs = null;
      return;
    }
    if (this.isConnected) {
      this.#failingSinceMs = sentAtMs;
      this.#runAllAlone();
    }
    const isLong = clock.monotonicMs() - (this.#failingSinceMs ?? sentAtMs) >= failOpenAfterMs;
    if (this.#isOpen || !isLong) return;
    this.#isOpen = true;
    onEvent({ event: "fail_open", isOpen: true });
    follower.failOpen();
  }

  /** Runs all checks if it never knew its share: better twice than not at all. */
  #runAllAlone(): void {
    if (this.#hasFollowed || this.#isWithdrawn) return;
    this.#runs = new Set(this.#work.checks.map(({ name }) => name));
    this.#options.follower.spread();
  }

  /** Everything that is in memory goes to the database, and is received from there again. */
  async #failClosed(): Promise<boolean> {
    const { follower, onEvent } = this.#options;
    this.#held.clear();
    if (!await follower.failClosed()) return false;
    this.#isOpen = false;
    onEvent({ event: "fail_open", isOpen: false });
    return true;
  }

  #published(): Omit<MemberHeartbeat, "count"> {
    const { host, id, location } = this.#options;
    const config = this.#takesWork ? this.#work.configHash : "";
    const looks = this.#earlyLooks.published(this.#options.clock.monotonicMs());
    return { host, id, config, active: this.#active ?? config, location, looks };
  }

  #report(before: ReadonlySet<string>): void {
    const { onEvent } = this.#options;
    const live = new Set(liveOthers(this.#observed).map(({ host }) => host));
    for (const host of live) if (!before.has(host)) onEvent({ event: "joined", host });
    for (const host of before) if (!live.has(host)) onEvent({ event: "left", host });
  }

  /** Works out who shares the work. */
  #look(): void {
    const { onEvent } = this.#options;
    const own = this.#published();
    const all = [own, ...liveOthers(this.#observed)].filter(({ config }) => config !== "");
    this.#active = activeConfig(all, this.#active);
    const isActive = !this.#takesWork || this.#active === own.config;
    if (isActive !== this.#isActive) {
      this.#abandonedAtMs = -Infinity;
      onEvent({ event: "config", isActive });
    }
    this.#isActive = isActive;
    const sharing = all.filter(({ config, host }) =>
      config === this.#active && (host !== own.host || this.#hasJoined)
    );
    const hosts = sharing.map(({ host }) => host);
    if (this.#location.update(sharing, this.#work.checks)) this.#options.follower.spreadLocation();
    const isAlone = this.#options.isGuest === true && hosts.length === 0 && this.#hasJoined;
    const next = isAlone ? [own.host] : hosts.sort();
    const isSame = next.length === this.#hosts.length &&
      next.every((host, index) => host === this.#hosts[index]);
    if (!isSame) {
      this.#hosts = next;
      this.#here = null;
    }
    this.#follow();
  }

  get #takesWork(): boolean {
    return !this.#isWithdrawn && this.#options.isGuest !== true;
  }

  get #hasJoined(): boolean {
    return this.#observed.status !== "joining";
  }

  #isHere(place: string): boolean {
    return hostOf(place, this.#hosts) === this.#options.host;
  }

  /** Follows one time after another; a call while it follows leads to one more. */
  #follow(): void {
    if (this.#isFollowPlanned || this.#hasEnded || !this.isConnected) return;
    this.#isFollowPlanned = true;
    this.#following = this.#following.then(async () => {
      this.#isFollowPlanned = false;
      if (this.#hasEnded) return;
      try {
        if (this.#isOpen && !await this.#failClosed()) return;
        await this.#followChecks();
        await this.#readOthers(this.#runs);
        if (!this.#isWithdrawn) await this.#followQueues();
        await this.#receive();
      } catch (error) {
        // The next heartbeat leads to another try.
        if (!(error instanceof StoreError)) throw error;
      }
    }).catch(this.#options.onBug);
  }

  async #followChecks(): Promise<void> {
    const { store, follower } = this.#options;
    const mine = this.#checksHere();
    const kept = mine === this.#runs ? mine : this.#runs.intersection(mine);
    if (kept.size < this.#runs.size) {
      this.#runs = kept;
      follower.spread();
      await follower.flush();
    }
    if (this.#overtaken.size > 0) {
      const names = [...this.#overtaken];
      this.#overtaken.clear();
      try {
        await follower.know(names, store.known);
      } catch (error) {
        for (const name of names) this.#overtaken.add(name);
        throw error;
      }
    }
    const added = kept.size === mine.size ? [] : [...mine.difference(kept)];
    if (added.length > 0) {
      // A run of one of them may just have ended here.
      await follower.flush();
      follower.load(await store.load(added));
      await follower.know(added, store.known);
      await this.#readOthers(mine);
      // Meanwhile another member may have joined.
      const here = this.#checksHere();
      this.#runs = here === mine ? mine : mine.intersection(here);
      follower.spread();
    } else this.#runs = mine;
    this.#hasFollowed ||= this.#hasJoined;
  }

  /** Reads what own checks depend on and run elsewhere, and now and then everything that does, if it is shown. */
  async #readOthers(runs: ReadonlySet<string>): Promise<void> {
    const { store, clock, follower } = this.#options;
    const { checks, showsAll } = this.#work;
    const isTimeToShow = showsAll && clock.monotonicMs() - this.#shownAtMs >= SHOWN_EVERY_MS;
    if (isTimeToShow) this.#shownAtMs = clock.monotonicMs();
    const others = isTimeToShow
      ? checks.flatMap(({ name }) => runs.has(name) ? [] : [name])
      : this.#dependenciesElsewhere(runs);
    if (others.length === 0) return;
    const records = await store.readOthers(others);
    follower.load(records.filter(({ name }) => !runs.has(name)));
  }

  /** The same set until hosts or config change: with many checks it takes long. */
  #checksHere(): ReadonlySet<string> {
    if (this.#here !== null) return this.#here;
    const placeOn = createPlacement(this.#hosts);
    const { host } = this.#options;
    const names = [...this.#places].flatMap(([name, place]) => placeOn(place) === host ? [name] : []);
    return this.#here = new Set(names);
  }

  /** The dependencies of checks, and the checks that groups combine, that run elsewhere. */
  #dependenciesElsewhere(runs: ReadonlySet<string>): readonly string[] {
    if (this.#dependencies?.of === runs) return this.#dependencies.names;
    const names = this.#work.checks.flatMap((check) =>
      runs.has(check.name) ? [...dependencyNames(check), ...combinedChecks(check)] : []
    );
    this.#dependencies = { of: runs, names: [...new Set(names)].filter((name) => !runs.has(name)) };
    return this.#dependencies.names;
  }

  /** Looks now and then for channels that nothing sends for any more. Their queues are taken like all others. */
  async #findAbandoned(): Promise<void> {
    const { store, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    if (!this.#hasJoined || nowMs - this.#abandonedAtMs < ABANDONED_EVERY_MS) return;
    const own = new Set(this.#work.channelKeys);
    this.#abandoned = (await store.pendingChannels()).filter((key) => !own.has(key));
    this.#abandonedAtMs = nowMs;
  }

  async #followQueues(): Promise<void> {
    await this.#findAbandoned();
    const { store, clock, follower, host, id } = this.#options;
    for (const { channelKey, owner, token } of this.#queues) {
      const held = this.#held.get(channelKey);
      const isLost = held !== undefined &&
        (!store.owns(channelKey) || token > held.row.token && owner !== id);
      if (isLost) this.#release(channelKey);
    }
    const { take, giveBack, owned } = queueSteps({
      own: { host, id },
      hosts: this.#hosts,
      liveIds: new Set([id, ...liveOthers(this.#observed).map((one) => one.id)]),
      channelKeys: this.#hasJoined ? [...this.#work.channelKeys, ...this.#abandoned] : [],
      rows: this.#queues,
    });
    for (const row of giveBack) {
      const { row: present } = this.#held.get(row.channelKey) ?? { row };
      this.#release(row.channelKey, () => store.giveBackQueue(present));
    }
    // An owned queue that is not held was refused.
    for (const row of [...take, ...owned]) {
      if (this.#held.has(row.channelKey) || this.#releasing.has(row.channelKey)) continue;
      const taken = await store.takeQueue(row, id);
      if (taken === null) continue;
      const isDead = row.owner !== null && row.owner !== id;
      const waitMs = isDead && taken.isSending ? follower.attemptTimeoutMs(row.channelKey) : 0;
      this.#held.set(row.channelKey, { row: taken.queue, receivesFromMs: clock.monotonicMs() + waitMs });
      follower.take(taken);
    }
  }

  /** Ends with a queue, without waiting for what is being sent. */
  #release(channelKey: string, then = (): Promise<void> => Promise.resolve()): void {
    const { follower, onBug } = this.#options;
    this.#held.delete(channelKey);
    if (this.#releasing.has(channelKey)) return;
    const released = follower.release(channelKey).then(then).catch((error) => {
      if (!(error instanceof StoreError)) onBug(error);
    }).finally(() => this.#releasing.delete(channelKey));
    this.#releasing.set(channelKey, released);
  }

  async #receive(): Promise<void> {
    const { store, clock, follower } = this.#options;
    const nowMs = clock.monotonicMs();
    const ready = [...this.#held.values()].filter(({ receivesFromMs }) => receivesFromMs <= nowMs)
      .map(({ row }) => row);
    if (ready.length === 0) return;
    const { notifications, markers } = await store.receive(ready);
    // What belongs to a queue that was lost meanwhile is its next owner's.
    const isHeld = ({ channelKey }: { readonly channelKey: string }): boolean => this.#held.has(channelKey);
    follower.receive({ notifications: notifications.filter(isHeld), markers: markers.filter(isHeld) });
  }

  #now(): ClockReading {
    const { clock } = this.#options;
    return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
  }
}

function byHost([one]: readonly [string, boolean], [other]: readonly [string, boolean]): number {
  return one < other ? -1 : 1;
}
