/**
 * This process as a member: it sends heartbeats, and reads those of the others. It changes its share of the checks
 * and of the channel queues, which the other parts of the process follow.
 *
 * While the database is unreachable, it keeps its share of the checks and sends nothing. If it was so from the start,
 * all checks are its share. After some time it fails open: it sends notifications of its own checks, since a
 * duplicate is better than silence.
 */
import {
  DEAD_AFTER_MS,
  type EarlyLook,
  type HeartbeatReply,
  type MemberHeartbeat,
  type QueueRow,
  type RelatedChecks,
  type WorkShare,
} from "../domain/membership.ts";
import { StoreError } from "../domain/store.ts";
import { endsWithin, pause } from "../shared/deadline.ts";
import {
  activeConfig,
  HEARTBEAT_EVERY_MS,
  liveOthers,
  observe,
  type Observed,
  UNOBSERVED,
} from "./observer.ts";
import { CheckShare } from "./check_share.ts";
import { EarlyLooks, LocationShare } from "./location_share.ts";
import type { MemberOptions, MemberParts, MemberWork } from "./member_parts.ts";
import { type ClockReading, maySend, QueueShare, type QueueView } from "./queue_share.ts";

/** The longest wait for a read of related checks: a database that does not respond delays no problem further. */
const RELATED_MS = 2_000;
/** The pause between two of these reads. */
const RELATED_AFTER_MS = 500;

export class Member implements WorkShare {
  readonly #options: MemberOptions;
  #work: MemberWork;
  #parts: MemberParts | null = null;
  #observed: Observed = UNOBSERVED;
  #lastSent: ClockReading | null = null;
  #active: string | null = null;
  /** Whether that is its own config. */
  #isActive = true;
  #queues: readonly QueueRow[] = [];
  readonly #checkShare: CheckShare;
  readonly #queueShare: QueueShare;
  readonly #location: LocationShare;
  readonly #earlyLooks = new EarlyLooks();
  /** Whether it followed the other members at least once. */
  #hasFollowed = false;
  /** Whether it left the checks that its config does not have, which is active. */
  #hasLeftOthers = false;
  /** When the first heartbeat failed of those that failed since the last good one; monotonic clock. */
  #failingSinceMs: number | null = null;
  #isOpen = false;
  #isWithdrawn = false;
  #hasEnded = false;
  #cancel = (): void => {};
  /** The heartbeat in progress, or the last one. */
  #beating: Promise<void> = Promise.resolve();
  #following: Promise<void> = Promise.resolve();
  #isFollowPlanned = false;
  /** The read of related checks that has not begun yet: what is wanted meanwhile is read together. */
  #nextRelated: { readonly wanted: RelatedChecks[]; readonly read: Promise<void> } | null = null;
  #lastRelated: Promise<unknown> = Promise.resolve();

  /** It has no share before it has joined. */
  constructor(options: MemberOptions) {
    this.#options = options;
    this.#work = options.work;
    this.#checkShare = new CheckShare(options);
    this.#queueShare = new QueueShare(options);
    this.#location = new LocationShare(options);
  }

  /** Whether its config is that of most members; a single run has none that counts. */
  get hasActiveConfig(): boolean {
    return this.#isActive && this.#takesWork;
  }

  /** Whether what it receives from agents is found and recorded by the members that share the work. */
  get receives(): boolean {
    return this.hasActiveConfig && this.#hasJoined && this.isConnected && !this.#hasEnded;
  }

  get location(): LocationShare {
    return this.#location;
  }

  /** Requests the other members to run a check at once. */
  callFor(check: string, why: EarlyLook["why"]): void {
    this.#earlyLooks.call(check, why, this.#options.clock.monotonicMs());
  }

  get readsRelated(): boolean {
    return this.isOneOfSeveral && this.isConnected && !this.#hasEnded;
  }

  async readRelated(related: RelatedChecks): Promise<void> {
    if (!this.readsRelated) return;
    const { wanted, read } = this.#nextRelated ??= this.#planRelated();
    wanted.push(related);
    await endsWithin(this.#options.clock, RELATED_MS, read);
  }

  runs(check: string): boolean {
    return this.#checkShare.runs(check);
  }

  /** Returns whether it prunes the state: one member does. */
  get prunes(): boolean {
    return this.#checkShare.isHere("prune");
  }

  /** Whether it queues the summary: one member does. */
  get summarizes(): boolean {
    return this.#checkShare.isHere("summary");
  }

  /** Whether it sends without the shared state, which is unreachable. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether it is certain that others share the work. */
  get isSharedByOthers(): boolean {
    const { lastSentMs, countingSinceMs } = this.#observed;
    const isCertain = lastSentMs !== null && lastSentMs - countingSinceMs >= DEAD_AFTER_MS;
    return isCertain && this.isOneOfSeveral;
  }

  /** Whether another member shares the work, as far as this one knows. */
  get isOneOfSeveral(): boolean {
    return this.hosts.some((host) => host !== this.#options.host);
  }

  get name(): string {
    return this.#options.host;
  }

  get isConnected(): boolean {
    return this.#failingSinceMs === null;
  }

  /** Returns whether it certainly owns the queue of a channel, and so may send its pending notifications. */
  claims(channelKey: string): boolean {
    return this.#queueShare.holds(channelKey) && this.#options.store.owns(channelKey) &&
      maySend(this.#lastSent, this.#now());
  }

  /** Returns whether each participating or dead member is live, as seen by this one, by host. */
  get members(): ReadonlyMap<string, boolean> {
    const others = [...this.#observed.others.values()]
      .filter(({ heartbeat }) => heartbeat.config !== "")
      .map(({ heartbeat, isLive }) => [heartbeat.host, isLive] as const);
    return new Map(
      [[this.#options.host, !this.#hasEnded] as const, ...others].sort(([one], [other]) =>
        one < other ? -1 : 1
      ),
    );
  }

  get hosts(): readonly string[] {
    return this.#checkShare.hosts;
  }

  /** Takes part, with the parts that follow it. */
  async join(parts: MemberParts): Promise<void> {
    this.#parts = parts;
    await this.#beat();
  }

  adopt(work: MemberWork): void {
    this.#work = work;
    this.#hasLeftOthers = false;
    this.#checkShare.adopt(work);
    this.#queueShare.expectAbandoned();
    if (!this.isConnected) this.#runAllAlone();
    this.#look();
  }

  /** Reads notifications that were just persisted. */
  poke(): void {
    this.#follow();
  }

  /** Reads the delivery markers of checks again whose results another member has overtaken. */
  overtaken(checks: readonly string[]): void {
    // A member with another config may have run a check that this one has left.
    this.#hasLeftOthers = false;
    this.#checkShare.overtaken(checks);
    this.#follow();
  }

  /** Leaves its checks to others, and keeps the queues. */
  async withdraw(): Promise<void> {
    this.#isWithdrawn = true;
    await this.#beat();
  }

  /** Gives the queues back, and removes itself. */
  async leave(): Promise<void> {
    const { heartbeats, host, id } = this.#options;
    this.#hasEnded = true;
    this.#cancel();
    await this.#following;
    await this.#queueShare.released();
    try {
      // Otherwise the others find out by its heartbeats.
      if (!this.isConnected || this.#lastSent === null) return;
      await this.#queueShare.giveAllBack();
      await heartbeats.leave({ host, id });
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    } finally {
      this.#queueShare.forget();
      await heartbeats.close();
    }
  }

  /** Sends a heartbeat behind the one in progress, and plans the next one. */
  #beat(): Promise<void> {
    return this.#beating = this.#beating.then(() => this.#beatOnce());
  }

  async #beatOnce(): Promise<void> {
    this.#cancel();
    if (this.#hasEnded) return;
    const { heartbeats, clock, host, onSuperseded, onBug } = this.#options;
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
      reply === null ? null : { sentAtMs: sent.monotonicMs, members: reply.members },
      host,
    );
    this.#followReach(reply !== null, sent.monotonicMs);
    if (reply !== null) {
      this.#lastSent = sent;
      this.#queues = reply.queues;
      this.#checkShare.noteUncertain(reply.uncertain);
      this.#joined.sender.silence(reply.silences);
      this.#report(before);
      this.#look();
      const looks = [
        ...this.#earlyLooks.receive(liveOthers(this.#observed)),
        ...this.#earlyLooks.receiveCheckIns(reply.checkIns),
      ];
      if (looks.length > 0) this.#joined.located?.look(looks);
      this.#joined.reports?.heard(reply.received);
    }
    const waitMs = sent.monotonicMs + HEARTBEAT_EVERY_MS - clock.monotonicMs();
    this.#cancel = clock.after(Math.max(0, waitMs), () => void this.#beat().catch(onBug));
  }

  #followReach(isReached: boolean, sentAtMs: number): void {
    const { clock, failOpenAfterMs, onEvent } = this.#options;
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
    this.#joined.sender.failOpen();
  }

  /** Runs all checks if it never knew its share: better twice than not at all. */
  #runAllAlone(): void {
    if (this.#hasFollowed || this.#isWithdrawn) return;
    this.#checkShare.runAll(this.#joined);
  }

  /** Everything that is in memory goes to the database, and is received from there again. */
  async #failClosed(): Promise<boolean> {
    const { onEvent } = this.#options;
    this.#queueShare.forget();
    if (!await this.#joined.sender.failClosed()) return false;
    this.#isOpen = false;
    onEvent({ event: "fail_open", isOpen: false });
    return true;
  }

  #published(): Omit<MemberHeartbeat, "count"> {
    const { host, id, location } = this.#options;
    const config = this.#takesWork ? this.#work.configHash : "";
    const looks = this.#earlyLooks.published(this.#options.clock.monotonicMs());
    return { host, id, config, active: this.#active ?? "", location, looks };
  }

  #report(before: ReadonlySet<string>): void {
    const { onEvent } = this.#options;
    const live = new Set(liveOthers(this.#observed).map(({ host }) => host));
    for (const host of live) if (!before.has(host)) onEvent({ event: "joined", host });
    for (const host of before) if (!live.has(host)) onEvent({ event: "left", host });
  }

  /** Computes which members share the work. */
  #look(): void {
    const { onEvent } = this.#options;
    const own = this.#published();
    const all = [own, ...liveOthers(this.#observed)].filter(({ config }) => config !== "");
    this.#active = activeConfig(all);
    const isActive = !this.#takesWork || this.#active === own.config;
    if (isActive !== this.#isActive) {
      this.#queueShare.expectAbandoned();
      this.#hasLeftOthers = false;
      onEvent({ event: "config", isActive });
    }
    this.#isActive = isActive;
    const sharing = all.filter(({ config, host }) =>
      config === this.#active && (host !== own.host || this.#hasJoined)
    );
    const hosts = sharing.map(({ host }) => host);
    if (this.#location.update(sharing, this.#work.checks)) this.#parts?.located?.spread();
    const isAlone = this.#options.isGuest === true && hosts.length === 0 && this.#hasJoined;
    this.#checkShare.hosts = isAlone ? [own.host] : hosts.sort();
    this.#follow();
  }

  get #joined(): MemberParts {
    if (this.#parts === null) throw new Error("The member has not joined");
    return this.#parts;
  }

  get #takesWork(): boolean {
    return !this.#isWithdrawn && this.#options.isGuest !== true;
  }

  get #hasJoined(): boolean {
    return this.#observed.status !== "joining";
  }

  /** Follows one time after another; a call while it follows leads to one more. */
  #follow(): void {
    const parts = this.#parts;
    if (parts === null || this.#isFollowPlanned || this.#hasEnded || !this.isConnected) return;
    this.#isFollowPlanned = true;
    this.#following = this.#following.then(async () => {
      this.#isFollowPlanned = false;
      if (this.#hasEnded) return;
      try {
        if (this.#isOpen && !await this.#failClosed()) return;
        await this.#checkShare.follow(parts);
        this.#hasFollowed ||= this.#hasJoined;
        await this.#leaveOthers(parts);
        await this.#checkShare.readOthers(parts);
        if (!this.#isWithdrawn) await this.#queueShare.follow(this.#queueView(), parts.sender);
        await this.#queueShare.receive(parts.sender);
      } catch (error) {
        // The next heartbeat leads to another try.
        if (!(error instanceof StoreError)) throw error;
      }
    }).catch(this.#options.onBug);
  }

  #planRelated(): { readonly wanted: RelatedChecks[]; readonly read: Promise<void> } {
    const { clock, onBug } = this.#options;
    const wanted: RelatedChecks[] = [];
    const read = this.#lastRelated.then(() => {
      this.#nextRelated = null;
      const related = {
        checks: wanted.flatMap(({ checks = [] }) => checks),
        attributes: wanted.flatMap(({ attributes = [] }) => attributes),
      };
      // In turn: the share of the checks must not change meanwhile.
      return this.#following = this.#following.then(async () => {
        await this.#checkShare.readRelated(this.#joined, related);
        // Of the results that were read, the notifications are stored, too.
        if (related.checks.length > 0) await this.#queueShare.receive(this.#joined.sender);
      }).catch((error) => void (error instanceof StoreError || onBug(error)));
    });
    this.#lastRelated = read.then(() => pause(clock, RELATED_AFTER_MS));
    return { wanted, read };
  }

  /** Leaves the checks that it knows and no member runs any more. */
  async #leaveOthers({ repository }: MemberParts): Promise<void> {
    if (this.#hasLeftOthers || !this.#hasJoined || !this.hasActiveConfig) return;
    this.#hasLeftOthers = true;
    repository.leaveOthers(this.#work.checks);
    await repository.flush();
  }

  #queueView(): QueueView {
    return {
      hosts: this.hosts,
      liveIds: liveOthers(this.#observed).map(({ id }) => id),
      rows: this.#queues,
      channelKeys: this.#hasJoined ? this.#work.channelKeys : null,
    };
  }

  #now(): ClockReading {
    const { clock } = this.#options;
    return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
  }
}
