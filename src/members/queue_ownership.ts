/**
 * The ownership of channel queues. Each queue has one owner with a token; claiming it increments the token, and every
 * statement of a sender names its token. So two members that both believe to be the owner can't both send.
 */
import { DEAD_AFTER_MS, type QueueRow } from "../domain/membership.ts";
import { hostOf } from "./rendezvous.ts";

interface QueueSteps {
  /** Queues to take, if the token is still the one that was read. */
  readonly take: readonly QueueRow[];
  readonly giveBack: readonly QueueRow[];
  readonly owned: readonly QueueRow[];
}

export interface QueueStepsInput {
  readonly own: { readonly host: string; readonly id: string };
  /** The hosts of the live members that have the active config. */
  readonly hosts: readonly string[];
  /** The processes of all live members. */
  readonly liveIds: ReadonlySet<string>;
  /** The channels of the config, and those that left it and have pending notifications. */
  readonly channelKeys: readonly string[];
  readonly rows: readonly QueueRow[];
}

/**
 * Returns the queues to claim and to release. A queue of a live owner is not claimed: that one releases it as soon as
 * it sees the same members.
 */
export function queueSteps({ own, hosts, liveIds, channelKeys, rows }: QueueStepsInput): QueueSteps {
  const rowOf = new Map(rows.map((row) => [row.channelKey, row]));
  const wanted = new Set(channelKeys.filter((key) => hostOf(key, hosts) === own.host));
  const isOwn = ({ owner }: QueueRow): boolean => owner === own.id;
  return {
    take: [...wanted]
      .map((channelKey) => rowOf.get(channelKey) ?? { channelKey, owner: null, token: 0 })
      .filter((row) => !isOwn(row) && (row.owner === null || !liveIds.has(row.owner))),
    giveBack: rows.filter((row) => isOwn(row) && !wanted.has(row.channelKey)),
    owned: rows.filter((row) => isOwn(row) && wanted.has(row.channelKey)),
  };
}

export interface ClockReading {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/**
 * Returns whether a member may send: the last successful heartbeat was sent a short time ago by both clocks. The
 * monotonic clock stops in a suspended system, and the wall clock may be set.
 */
export function maySend(lastSent: ClockReading | null, now: ClockReading): boolean {
  if (lastSent === null) return false;
  const wallMs = now.wallMs - lastSent.wallMs;
  return now.monotonicMs - lastSent.monotonicMs < DEAD_AFTER_MS && Math.abs(wallMs) < DEAD_AFTER_MS;
}
