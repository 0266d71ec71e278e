/** Compares decisions with the log of deliveries. Each row has decisions, the log, and the differences. */
import assert from "node:assert/strict";
import type { Condition, NotificationEvent } from "../../src/domain/condition.ts";
import type { LoggedDelivery, QueuedNotification } from "../../src/domain/outbox.ts";
import { isExcluded } from "../../src/engine/channel_filters.ts";
import { differencesFromSent } from "../../src/rehearsal/replay.ts";
import { deliveryOf, notificationOf, NOW_MS, queuedOf } from "../state/records.ts";
import { testTable } from "../support/rows.ts";

const CHANNEL = { channelKey: "key", channelName: "chat" };

/** Parses a text such as `problem critical @10`, with the second of the decision. */
function decisionsIn(text: string): readonly QueuedNotification[] {
  return wordsIn(text).map(([, event, condition, atS], index) =>
    queuedOf(`d${index}`, index, {
      ...CHANNEL,
      notification: notificationOf("web", {
        event: event as NotificationEvent,
        condition: condition as Condition,
        decidedAtMs: NOW_MS + 1000 * Number(atS),
      }),
      missedProblem: null,
      messageId: null,
      state: "pending",
    })
  );
}

/** Parses a text such as `recovery ok (missed critical) @10-20`, with the end of its pending time, or `waits`. */
function sentIn(
  text: string,
): { readonly log: readonly LoggedDelivery[]; readonly waiting: readonly QueuedNotification[] } {
  const waiting = decisionsIn(text.split(", ").filter((part) => part.endsWith("waits")).join(", "));
  const log = wordsIn(text).filter(([, , , , , end]) => end !== "waits").map((
    [, event, condition, atS, missed, end],
  ) =>
    deliveryOf("web", {
      ...CHANNEL,
      event: event as NotificationEvent,
      condition: condition as Condition,
      missedProblem: (missed ?? null) as Condition | null,
      decidedAtMs: NOW_MS + 1000 * Number(atS),
      atMs: NOW_MS + 1000 * Number(end),
    })
  );
  return { log, waiting };
}

function wordsIn(text: string): readonly (readonly (string | undefined)[])[] {
  if (text === "none" || text === "") return [];
  return text.split(", ").map((part) => {
    const [all, event, condition, missed, atS, end] =
      /^(\w+) (\w+)(?: \(missed (\w+)\))? @(\d+)(?:[- ](\w+))?$/.exec(part) ?? assert.fail(part);
    return [all, event, condition, atS, missed, end];
  });
}

function differences(decided: string, sent: string, events?: readonly NotificationEvent[]): string {
  const filters = events === undefined ? {} : { events };
  const found = differencesFromSent(
    sentIn(sent),
    decisionsIn(decided),
    (queued) => isExcluded(filters, queued),
  );
  return found.map(({ sign, message: { text, decidedAtMs } }) =>
    `${sign} ${text.replace(" web", "")} @${(decidedAtMs - NOW_MS) / 1000}`
  ).join(", ") || "none";
}

Deno.test("differencesFromSent() merges decisions like the queue of the channel", async (t) => {
  const table = `
    all was sent | problem critical @10, recovery ok @40 | problem critical @10-12, recovery ok @40-42 | none
    both waited, and the first may have arrived | problem critical @10, recovery ok @40 | \
      problem critical @10-99, recovery ok @40-99 | none
    a problem that recovered while it waited | problem critical @10, recovery ok @40 | \
      recovery ok (missed critical) @40-99 | none
    changes while it waited | problem warning @10, change critical @40, change unknown @80 | \
      problem unknown @80-99 | none
    it still waits | problem critical @10 | problem critical @10 waits | none
    a reminder that was queued before the last one was accepted | reminder critical @10, reminder critical @20 | \
      reminder critical @10-21, reminder critical @20-40 | none
    a reminder is not queued while one waits | problem critical @10, reminder critical @50 | \
      problem critical @10-99 | none
    a reminder that was not sent | problem critical @10, reminder critical @50 | \
      problem critical @10-12 | + reminder critical @50
    a problem that was lost | problem critical @10, recovery ok @200 | recovery ok @200-202 | \
      + recovery ok (missed critical) @200, - recovery ok @200
    a recovery that was lost | problem critical @10, recovery ok @100, problem critical @200 | \
      problem critical @10-12, problem critical @200-202 | + recovery ok @100
    the last one was lost | problem critical @10, recovery ok @100 | problem critical @10-12 | + recovery ok @100
    one that nothing decided | problem critical @10 | problem critical @10-12, recovery ok @40-42 | - recovery ok @40
    another condition | problem critical @10 | problem warning @10-12 | \
      + problem critical @10, - problem warning @10
    another time | problem critical @10 | problem critical @90-92 | + problem critical @10, - problem critical @90`;
  await testTable(t, table, (_name, decided = "", sent = "", expected) => {
    assert.equal(differences(decided, sent), expected);
  });
});

Deno.test("differencesFromSent() ignores decisions that the events of a channel omit", () => {
  const decided = "problem critical @10, recovery ok @100, problem critical @200";
  assert.equal(
    differences(decided, "problem critical @10-12, problem critical @200-202", ["problem"]),
    "none",
  );
  assert.equal(
    differences(decided, "recovery ok (missed critical) @100-150, problem critical @200-202", ["problem"]),
    "none",
  );
  assert.equal(differences(decided, "recovery ok @100-102", ["recovery"]), "none");
});
