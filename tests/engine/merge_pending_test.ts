import assert from "node:assert/strict";
import fc from "../support/property.ts";
import type { Condition, NotificationEvent } from "../../src/domain/condition.ts";
import type { QueuedNotification } from "../../src/domain/outbox.ts";
import { mergeNotifications } from "../../src/engine/merge_pending.ts";
import { notificationOf, queuedOf } from "../state/records.ts";
import { testTable } from "../support/rows.ts";

/**
 * Returns rows from a text such as `a:ok>critical b:ok>warning! a:critical>ok`: a check, its previous and its present
 * condition. A final `!` means that it may have arrived, `?` that it is a reminder.
 */
function rowsOf(text: string): readonly QueuedNotification[] {
  return text.split(" ").filter((word) => word !== "").map((word, index) => {
    const [, check = "", previous = "", condition = "", mark = ""] = /^(.+):(.+)>(.+?)([!?]?)$/.exec(word) ??
      [];
    const event: NotificationEvent = mark === "?"
      ? "reminder"
      : condition === "ok"
      ? "recovery"
      : previous === "ok"
      ? "problem"
      : "change";
    return queuedOf(`r${index}`, index, {
      notification: notificationOf(check, {
        id: `r${index}`,
        event,
        condition: condition as Condition,
        previous: previous as Condition,
        output: "",
        detail: "",
      }),
      messageId: mark === "!" ? `m${index}` : null,
    });
  });
}

/**
 * Returns the same text of merged rows; `(critical)` is a problem that recovered unsent, `+3` the number of further
 * ones.
 */
function textOf(rows: readonly QueuedNotification[]): string {
  return rows.map(({ notification, missedProblem, summarized, messageId }) => {
    const missed = missedProblem === null ? "" : `(${missedProblem.condition})`;
    const mark = messageId !== null ? "!" : notification.event === "reminder" ? "?" : "";
    const counted = summarized > 0 ? `+${summarized}` : "";
    return `${notification.check}:${notification.previous}>${notification.condition}${missed}${mark}${counted}`;
  }).join(" ");
}

Deno.test("mergeNotifications() merges the notifications of a check without losing a condition", async (t) => {
  const table = `
    a problem and its recovery | a:ok>critical a:critical>ok | a:critical>ok(critical)
    a reminder and a change | a:warning>warning? a:warning>critical | a:warning>critical
    two problems and their recoveries | a:ok>critical a:critical>ok a:ok>warning a:warning>ok | \
      a:critical>ok(critical) a:warning>ok(warning)
    several checks, each in the place of its first row | a:ok>critical b:ok>warning a:critical>ok b:warning>critical | \
      a:critical>ok(critical) b:ok>critical
    a problem that may have arrived | a:ok>critical! a:critical>ok | nothing to merge
    what follows one that may have arrived | a:ok>warning! a:warning>critical a:critical>ok a:ok>critical a:critical>ok | \
      a:ok>warning! a:critical>ok a:critical>ok(critical)`;
  await testTable(t, table, (_, rows, merged) => {
    const result = mergeNotifications(rowsOf(rows));
    assert.equal(result === null ? "nothing to merge" : textOf(result.notifications), merged);
  });
});

Deno.test("mergeNotifications() adds the counts of the merged rows", () => {
  const rows = rowsOf("a:ok>warning a:warning>critical").map((row, index) => ({
    ...row,
    summarized: 2 + index,
  }));
  assert.deepEqual(mergeNotifications(rows)?.notifications.map(({ summarized }) => summarized), [5]);
});

Deno.test("mergeNotifications() keeps a change apart from a problem that the channel does not get", () => {
  const rows = rowsOf("a:ok>warning a:warning>critical");
  assert.equal(mergeNotifications(rows, ({ notification }) => notification.event === "problem"), null);
});

Deno.test("mergeNotifications() keeps the position and attempts of the older row, and the id of the newer one", async (t) => {
  const [older, newer] = rowsOf("a:ok>warning a:warning>critical");
  if (older === undefined || newer === undefined) assert.fail();
  const tried = { ...older, attempts: 7, nextAttemptAtMs: 500, firstFailedAtMs: 3, lastFailure: "down" };
  for (const state of ["pending", "rejected"] as const) {
    await t.step(state, () => {
      const merged = mergeNotifications([{ ...tried, state }, {
        ...newer,
        attempts: 0,
        nextAttemptAtMs: 100,
      }]);
      const notification = { ...newer.notification, event: "problem", previous: "ok" } as const;
      const nextAttemptAtMs = state === "rejected" ? 500 : 100;
      const row = { ...tried, state, id: newer.id, notification, nextAttemptAtMs };
      assert.deepEqual(merged, { notifications: [row], changed: [row], removed: [older.id], summarized: 0 });
    });
  }
});

Deno.test("mergeNotifications() counts the oldest problems that recovered unsent, if there are too many", async (t) => {
  const missed = (count: number, output = ""): readonly QueuedNotification[] =>
    Array.from({ length: count }, (_, index) =>
      queuedOf(`r${index}`, index, {
        notification: notificationOf(`check ${index}`, { event: "recovery", condition: "ok", output }),
        missedProblem: notificationOf(`check ${index}`, { output: "", detail: "" }),
        messageId: null,
      }));
  await t.step("up to a number, but none that is still a problem, nor one that may have arrived", () => {
    const going = Array.from({ length: 2000 }, (_, index) => ({
      ...rowsOf(`c${index}:ok>critical`)[0] ?? assert.fail(),
      id: `g${index}`,
    }));
    const others = [...missed(5).map((row) => ({ ...row, id: `m${row.id}`, messageId: "m" })), ...going];
    // The difference of thousands of rows takes minutes and gigabytes.
    assert.ok(mergeNotifications([...others, ...missed(1000)]) === null);
    const merged = mergeNotifications([...others, ...missed(1003)]) ?? assert.fail();
    assert.ok(others.every((row, index) => merged.notifications[index] === row));
    assert.equal(merged.notifications.length, 3005);
    assert.deepEqual([merged.removed, merged.summarized], [["r0", "r1", "r2"], 3]);
    assert.deepEqual(merged.changed.map(({ id, summarized }) => [id, summarized]), [["r3", 3]]);
  });
  await t.step("up to a length, but at least one is kept", () => {
    const long = mergeNotifications(missed(100, "x".repeat(64 * 1024))) ?? assert.fail();
    const { length } = long.notifications;
    assert.ok(length < 17 && length + long.summarized === 100, `${length} rows`);
    assert.equal(long.notifications[0]?.summarized, long.summarized);
    const two = missed(2, "x".repeat(2 ** 21));
    assert.equal(mergeNotifications(two.slice(0, 1)), null);
    assert.deepEqual(mergeNotifications(two)?.notifications.map(({ id }) => id), ["r1"]);
  });
});

const CONDITIONS: readonly Condition[] = ["ok", "unknown", "warning", "critical"];

Deno.test("mergeNotifications() loses no condition and no problem, at once or row by row", () => {
  const step = fc.record({
    check: fc.constantFrom("a", "b", "c"),
    condition: fc.constantFrom(...CONDITIONS),
    isSealed: fc.nat(9).map((number) => number === 0),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const now = new Map<string, Condition>();
      const words = steps.flatMap(({ check, condition, isSealed }) => {
        const previous = now.get(check) ?? "ok";
        if (previous === condition) return [];
        now.set(check, condition);
        return [`${check}:${previous}>${condition}${isSealed ? "!" : ""}`];
      });
      const all = rowsOf(words.join(" "));
      const rows = mergeNotifications(all)?.notifications ?? all;
      assert.equal(mergeNotifications(rows), null, "nothing is left to merge");
      const bitByBit = all.reduce<readonly QueuedNotification[]>((some, row) => {
        const more = [...some, row];
        return mergeNotifications(more)?.notifications ?? more;
      }, []);
      assert.deepEqual(bitByBit, rows);
      assert.deepEqual(
        rows.filter(({ messageId }) => messageId !== null),
        all.filter((row) => row.messageId !== null),
      );
      for (const check of now.keys()) {
        const own = rows.filter(({ notification }) => notification.check === check);
        assert.equal(own.at(-1)?.notification.condition, now.get(check));
        const recoveries = (some: readonly QueuedNotification[]): number =>
          some.filter(({ notification }) => notification.check === check && notification.event === "recovery")
            .length;
        assert.equal(recoveries(rows), recoveries(all));
        // Each received notification continues the one before.
        let known: Condition = "ok";
        for (const { notification, missedProblem } of own) {
          if (missedProblem !== null) assert.deepEqual([known, missedProblem.previous], ["ok", "ok"]);
          else if (notification.condition !== "ok") {
            assert.equal(notification.event === "problem", known === "ok");
          } else assert.notEqual(known, "ok");
          known = notification.condition;
        }
      }
    }),
    { numRuns: 500 },
  );
});
