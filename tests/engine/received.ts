/** Compares the notifications that channels received with those that were due. */
import assert from "node:assert/strict";
import type { Arrival, ArrivedItem, ArrivedNotification } from "./flaky_channels.ts";
import type { ExpectedNotification } from "./reference_model.ts";

/** Returns when each notification arrived for the last time, by its id. */
export function lastArrivalsOf(arrivals: readonly Arrival[]): ReadonlyMap<string, number> {
  return new Map(
    arrivals.flatMap(({ items, atMs }) => items.flatMap(notificationsOf).map(({ id }) => [id, atMs])),
  );
}

/** Returns the first of each message; a duplicate has the same id and contents. */
export function withoutDuplicates(arrivals: readonly Arrival[]): readonly Arrival[] {
  const first = new Map<string, Arrival>();
  for (const arrival of arrivals) {
    const { messageId, items } = arrival;
    const duplicate = first.get(messageId);
    if (duplicate === undefined) first.set(messageId, arrival);
    else assert.deepEqual(items, duplicate.items, `what arrives as ${messageId} again tells the same`);
  }
  return [...first.values()];
}

/** No notification arrives in two messages of different ids. */
export function assertNoStrayDuplicate(arrivals: readonly Arrival[]): void {
  const messages = new Map<string, string>();
  for (const { messageId, channel, items } of arrivals) {
    for (const { id } of items.flatMap(notificationsOf)) {
      const other = messages.get(id);
      assert.equal(other, undefined, `${channel}: ${id} came in ${other} and in ${messageId}`);
      messages.set(id, messageId);
    }
  }
}

export function notificationsOf(item: ArrivedItem): readonly ArrivedNotification[] {
  return item.missed_problem === null ? [item] : [item.missed_problem, item];
}

/**
 * Returns the received notifications of one check, in order; within a message the highest severity is first, so its
 * items are ordered by time.
 */
export function itemsOf(arrivals: readonly Arrival[], check: string): readonly ArrivedItem[] {
  return arrivals.flatMap(({ items }) =>
    items.filter((item) => item.check === check)
      .toSorted((one, other) => Date.parse(one.decided_at) - Date.parse(other.decided_at))
  );
}

/**
 * Asserts that the received notifications are the due ones. One that was decided while another of its problem was
 * pending counts for that as well; and reminders are missing that were due before the channel had accepted the
 * problem.
 */
export function assertNotifiedInOrder(
  items: readonly ArrivedItem[],
  { due, lastArrivals, events, where }: {
    readonly due: readonly ExpectedNotification[];
    /** When a notification arrived for the last time, by its id. */
    readonly lastArrivals: ReadonlyMap<string, number>;
    /** The events that the channel gets. @default all */
    readonly events?: readonly string[] | undefined;
    readonly where: string;
  },
): void {
  let place = 0;
  let arrivedAtMs = -Infinity;
  /** The pending notification before a position, with those that were merged into it. */
  const isWanted = ({ event }: ExpectedNotification): boolean => events?.includes(event) ?? true;
  const skipTo = (end: number): readonly ExpectedNotification[] => {
    const merged: ExpectedNotification[] = [];
    for (const notification of due.slice(place, end)) {
      if (!isWanted(notification)) {
        // Only other unwanted ones are merged with it.
        if (notification.event === "recovery") merged.splice(0, Infinity, ...merged.filter(isWanted));
        else if (due[end] !== undefined && !isWanted(due[end])) merged.push(notification);
        continue;
      }
      if (notification.event !== "reminder") merged.push(notification);
      // A pending one is merged with the one decided after it.
      else if (due[end]?.event === "reminder" || due[end] === undefined) {
        assert.ok(
          merged.length > 0 || notification.decidedAtMs <= arrivedAtMs,
          `${where}: a reminder was lost`,
        );
      }
    }
    assert.ok(merged.every(({ event }) => event !== "recovery"), `${where}: a recovery was lost`);
    return merged;
  };
  const take = (notification: ArrivedNotification): void => {
    const decidedAtMs = Date.parse(notification.decided_at);
    const end = due.findIndex((one, index) => index >= place && one.decidedAtMs === decidedAtMs);
    const [first] = skipTo(Math.max(end, place));
    const own = due[end] ?? assert.fail(`${where}: invented: ${JSON.stringify(notification)}`);
    place = end + 1;
    const isEnd = own.event === "recovery";
    const expected = first?.event === "problem" && !isEnd
      ? { ...own, event: "problem", previous: first.previous }
      : own;
    assert.deepEqual(notified(notification), expected, `${where}: notification ${end} of ${due.length}`);
  };
  for (const item of items) {
    if (item.missed_problem !== null) take(item.missed_problem);
    take(item);
    arrivedAtMs = lastArrivals.get(item.id) ?? -Infinity;
  }
  assert.deepEqual(skipTo(due.length), [], `${where}: something was lost`);
}

function notified(notification: ArrivedNotification): unknown {
  const { check, event, condition, previous } = notification;
  return {
    check,
    event,
    condition,
    previous,
    decidedAtMs: Date.parse(notification.decided_at),
    problemBeganAtMs: Date.parse(notification.problem_began_at),
  };
}
