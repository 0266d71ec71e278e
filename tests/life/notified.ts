/** Compares the notifications that reached a webhook with the stored changes. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { Harness } from "./program.ts";
import type { Post, PostedNotification } from "./receivers.ts";

/** A change of a confirmed condition. */
export interface Change {
  readonly atMs: number;
  readonly from: string;
  readonly to: string;
}

/** Returns each posted message once; fails if duplicates differ or a notification arrived under two ids. */
export function withoutDuplicates(posts: readonly Post[]): readonly Post[] {
  const first = new Map<string, Post>();
  const messageOf = new Map<string, string>();
  for (const post of posts) {
    assert.deepEqual(
      (first.get(post.key) ?? post).notifications,
      post.notifications,
      "a twin tells the same",
    );
    if (!first.has(post.key)) first.set(post.key, post);
    for (const { id } of post.notifications.flatMap(expanded)) {
      assert.equal(messageOf.get(id) ?? post.key, post.key, `${id} came under two ids`);
      messageOf.set(id, post.key);
    }
  }
  return [...first.values()];
}

/** The changes of a check that its state has kept, in order. */
export function changesOf({ directory }: Pick<Harness, "directory">, name: string): readonly Change[] {
  return allChangesOf({ directory }).get(name) ?? [];
}

/** The changes that a state has kept, by check, in order. */
function allChangesOf({ directory }: Pick<Harness, "directory">): ReadonlyMap<string, readonly Change[]> {
  using database = new DatabaseSync(`${directory}/kept.sqlite`, { readOnly: true });
  const rows = database.prepare(
    "SELECT name, at_ms, from_condition, to_condition FROM changes JOIN checks ON checks.id = changes.check_id " +
      "ORDER BY changes.id",
  ).all();
  const changes = new Map<string, Change[]>();
  for (const row of rows) {
    const name = String(row["name"]);
    const change = {
      atMs: Math.floor(Number(row["at_ms"])),
      from: String(row["from_condition"]),
      to: String(row["to_condition"]),
    };
    const known = changes.get(name);
    if (known === undefined) changes.set(name, [change]);
    else known.push(change);
  }
  return changes;
}

/**
 * Asserts that with a threshold of 1 and without suppression, each stored change is sent, in order, and nothing else.
 * One that was decided while another of its problem was pending counts for that as well.
 */
export function assertAllNotified(
  notifications: readonly PostedNotification[],
  changes: readonly Change[],
): void {
  const notified = notifications.flatMap(expanded).map(({ decided_at, event, previous, condition }) => ({
    atMs: Date.parse(decided_at),
    event,
    from: previous,
    to: condition,
  })).toSorted((one, other) => one.atMs - other.atMs || one.from.localeCompare(other.from));
  const left = [...changes];
  for (const { event, ...one } of notified) {
    const place = left.findIndex(({ atMs, to }) => atMs === one.atMs && to === one.to);
    const merged = left.splice(0, place + 1);
    const own = merged.pop();
    assert.ok(own !== undefined, `invented, or told twice: ${JSON.stringify(one)}`);
    assert.deepEqual(merged.filter(({ to }) => to === "ok"), [], "these were never told");
    const from = merged[0]?.from ?? "";
    const isMergedProblem = ["ok", "pending"].includes(from) && event === "problem";
    assert.deepEqual(one, isMergedProblem ? { ...own, from } : own);
  }
  assert.deepEqual(left, [], "these were never told");
}

/** Returns a notification, and before it the problem that recovered before it could be sent. */
export function expanded(notification: PostedNotification): readonly PostedNotification[] {
  return notification.missed_problem === null ? [notification] : [notification.missed_problem, notification];
}
