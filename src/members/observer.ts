/**
 * The view of one member on the others, as a pure state machine. Each second a member increments its own heartbeat in
 * the database and reads those of all. Only the monotonic clock of the observer decides: no clock of another machine
 * or of the database does.
 *
 * - A member is dead once its heartbeat has not changed for {@linkcode DEAD_AFTER_MS} while the observer's own
 *   succeeded.
 * - It stays dead until its heartbeat changes.
 * - After a failed heartbeat of its own, or a stall, the observer starts counting again.
 * - A new member runs nothing before its second heartbeat, so that two that join at once see each other.
 */
import { DEAD_AFTER_MS, type MemberHeartbeat } from "../domain/membership.ts";

export interface Observed {
  /**
   * - `joining`: less than two heartbeats have succeeded.
   * - `member`: participates.
   * - `uncertain`: the last heartbeat failed; the others are unchanged.
   */
  readonly status: "joining" | "member" | "uncertain";
  /** When the last good heartbeat was sent, and when counting began; the observer's monotonic clock. */
  readonly lastSentMs: number | null;
  readonly countingSinceMs: number;
  readonly others: ReadonlyMap<string, OtherMember>;
}

interface OtherMember {
  readonly heartbeat: MemberHeartbeat;
  /** When the heartbeat that first had this count was sent; the observer's monotonic clock. */
  readonly movedAtMs: number;
  readonly isLive: boolean;
}

/** An own heartbeat that succeeded, and what it read; the time is of the observer's monotonic clock. */
export interface SentHeartbeat {
  readonly sentAtMs: number;
  readonly members: readonly MemberHeartbeat[];
}

export const HEARTBEAT_EVERY_MS = 1_000;
/** Between two own heartbeats so far apart this process stalled. */
const STALL_MS = 2_500;

export const UNOBSERVED: Observed = {
  status: "joining",
  lastSentMs: null,
  countingSinceMs: 0,
  others: new Map(),
};

/** Returns the view after an own heartbeat; `null`: it failed, or its outcome is unknown. */
export function observe(before: Observed, sent: SentHeartbeat | null, ownHost: string): Observed {
  if (sent === null) return { ...before, status: before.status === "joining" ? "joining" : "uncertain" };
  const { sentAtMs, members } = sent;
  const { lastSentMs } = before;
  const isAnew = lastSentMs === null || before.status === "uncertain" || sentAtMs - lastSentMs > STALL_MS;
  const countingSinceMs = isAnew ? sentAtMs : before.countingSinceMs;
  const others = members.filter(({ host }) => host !== ownHost).map((heartbeat) => {
    const known = before.others.get(heartbeat.host);
    return [heartbeat.host, nextOther(known, heartbeat, { sentAtMs, countingSinceMs })] as const;
  });
  return {
    status: lastSentMs === null ? "joining" : "member",
    lastSentMs: sentAtMs,
    countingSinceMs,
    others: new Map(others),
  };
}

/** Returns the participating members as seen by the observer, without itself. */
export function liveOthers({ others }: Observed): readonly MemberHeartbeat[] {
  return [...others.values()].filter(({ isLive }) => isLive).map(({ heartbeat }) => heartbeat);
}

/**
 * Returns the state of another member. A new one counts as live until its heartbeat has not changed for long enough.
 */
function nextOther(
  known: OtherMember | undefined,
  heartbeat: MemberHeartbeat,
  { sentAtMs, countingSinceMs }: { readonly sentAtMs: number; readonly countingSinceMs: number },
): OtherMember {
  const hasMoved = known === undefined || known.heartbeat.count !== heartbeat.count ||
    known.heartbeat.id !== heartbeat.id;
  if (hasMoved) return { heartbeat, movedAtMs: sentAtMs, isLive: true };
  const unmovedMs = sentAtMs - Math.max(known.movedAtMs, countingSinceMs);
  return { heartbeat, movedAtMs: known.movedAtMs, isLive: known.isLive && unmovedMs < DEAD_AFTER_MS };
}

/**
 * Returns the hash of the active config: the one of most live members. With a tie, the one that most of them consider
 * active, and else the first one: so all members choose the same. One that has just joined considers none active.
 */
export function activeConfig(live: readonly Pick<MemberHeartbeat, "config" | "active">[]): string | null {
  const leading = mostCommon(live.map(({ config }) => config));
  const [first = null] = leading;
  const believed = mostCommon(live.map(({ active }) => active).filter((hash) => leading.includes(hash)));
  return believed[0] ?? first;
}

/** The most common values, in order, so that all members see the same first one. */
function mostCommon(values: readonly string[]): readonly string[] {
  const counts = Map.groupBy(values, (value) => value);
  const most = Math.max(0, ...[...counts.values()].map(({ length }) => length));
  return [...counts].filter(([, { length }]) => length === most).map(([value]) => value).sort();
}
