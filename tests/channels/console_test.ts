import assert from "node:assert/strict";
import { consoleKind } from "../../src/channels/console.ts";
import { describeItem, describeItems, describeState, headline } from "../../src/channels/describe_item.ts";
import { fieldsOf, testTable } from "../support/rows.ts";
import { deliverOver, makeItem, makeMessage, makeNotification } from "../support/channel_delivery.ts";

const CONSOLE = { kind: "console", key: "k", parameters: {} } as const;

Deno.test("describeItem() describes an item in one line", async (t) => {
  const table = `
    a problem   | | Website (web) is critical: status is 500, expected 200 (CRITICAL for 2 min, was ok, 3 results in a row SINCE)
    one that was seen once, without title and output | title=null output="" occurrences=1 | \
      web is critical (CRITICAL for 2 min, was ok, 1 result SINCE)
    one of a warning | condition=warning title=null | \
      web has a warning: status is 500, expected 200 (WARNING for 2 min, was ok, 3 results in a row SINCE)
    a change    | event=change condition=warning previous=critical title=web | \
      web now has a warning: status is 500, expected 200 (WARNING for 2 min, was critical, 3 results in a row SINCE)
    a reminder  | event=reminder previous=critical | \
      Website (web) is still critical after 2 min: status is 500, expected 200 (CRITICAL, SINCE)
    a recovery  | RECOVERY | Website (web) is ok again after 2 min: fine (OK, was critical SINCE)
    a recovery for a channel that the present problem is not for | RECOVERY condition=warning | \
      Website (web) is no longer critical after 2 min: fine (WARNING, no longer CRITICAL, was critical SINCE)
    a check that is no longer checked | RECOVERY condition=unknown | \
      Website (web) is no longer checked, was critical for 2 min: fine (UNKNOWN, no longer checked, SINCE)
    a problem that was over before it was sent | RECOVERY | \
      Website (web) was critical for 2 min and is ok again: status is 500, expected 200 (OK, PERIOD)
    one in which older ones are counted | RECOVERY | \
      Website (web) was critical for 2 min and is ok again: status is 500, expected 200 (OK, PERIOD; \
      17 older problems recovered before they could be sent)`;
  const began = "2026-01-31 09:58:00 UTC";
  await testTable(t, table, (_, fields, expected) => {
    const recovery = "event=recovery condition=ok previous=critical output=fine";
    const missed = expected.includes("PERIOD") ? makeNotification() : null;
    const item = makeItem(fieldsOf(fields.replace("RECOVERY", recovery)), missed);
    const line = expected.replace("SINCE", `since ${began}`)
      .replace("PERIOD", `was critical from ${began} to 2026-01-31 10:00:00 UTC`);
    const summarized = line.includes("17 older") ? 17 : 0;
    assert.equal(describeItem({ ...item, summarized }), line);
  });
});

Deno.test("headline() is understood by itself", async (t) => {
  const table = `
    a service  | down | Website is down: status is 500, expected 200
    a service that is slow | down condition=warning | Website has a warning: status is 500, expected 200
    its change | down event=change condition=critical previous=warning | Website is now down: status is 500, expected 200
    a reminder | down event=reminder | Website is still down after 2 min: status is 500, expected 200
    a reminder of a warning | event=reminder condition=warning | \
      Website still has a warning after 2 min: status is 500, expected 200
    no result  | condition=unknown title=null | web is unknown: status is 500, expected 200
    a recovery | down event=recovery condition=ok previous=critical | Website is up again after 2 min
    the end of a warning | down event=recovery condition=ok previous=warning | Website is ok again after 2 min
    the end of a warning for a channel of problems | event=recovery condition=unknown previous=warning | \
      Website is no longer checked, had a warning for 2 min
    one that is to fail | inverted down | Website is up, but must not be: status is 500, expected 200
    one that is to fail, of another kind | inverted | Website is passing, but must not be: status is 500, expected 200
    its reminder | inverted down event=reminder | \
      Website is still up after 2 min, but must not be: status is 500, expected 200
    its change | inverted down event=change condition=critical previous=unknown | \
      Website is now up, but must not be: status is 500, expected 200
    its recovery | inverted down event=recovery condition=ok previous=critical | Website is no longer up after 2 min
    its recovery from no result | inverted down event=recovery condition=ok previous=unknown | \
      Website is ok again after 2 min
    a title with a newline | title="a\\nb" output="" | a b is critical
    a summary  | event=summary title=Week output="all is well" | Week: all is well`;
  await testTable(t, table, (_, fields, expected) => {
    const item = makeItem(fieldsOf(fields.replace(/^(?:inverted ?)?(?:down\b)?/, "")));
    const isInverted = fields.startsWith("inverted");
    assert.equal(headline({ ...item, goesDown: /^(?:inverted )?down/.test(fields), isInverted }), expected);
  });
});

Deno.test("describeState() begins with the condition and its duration, in the time zone of the config", async (t) => {
  const table = `
    a problem  | | CRITICAL for 2 min: status is 500, expected 200 (was ok, 3 results in a row SINCE)
    a new one  | decidedAtMs=${Date.UTC(2026, 0, 31, 9, 58)} occurrences=1 | \
      CRITICAL: status is 500, expected 200 (was ok, 1 result SINCE)
    a recovery | event=recovery condition=ok previous=critical output=fine | OK after 2 min: fine (was critical SINCE)
    a target   | target | CRITICAL for 2 min: status is 500, expected 200 (was ok, 3 results in a row SINCE; \
      target: https://example.org/)`;
  await testTable(t, table, (_, fields, expected) => {
    const item = makeItem(fieldsOf(fields.replace("target", "")));
    const facts = fields === "target" ? { target: "https://example.org/" } : {};
    const line = expected.replace("SINCE", "since 2026-01-31 10:58:00 +01:00");
    assert.equal(describeState({ ...item, facts, timeZone: "Europe/Zurich" }), line);
  });
});

Deno.test("describeItems() counts the checks of a message, and those of its group", async (t) => {
  const table = `
    problems of services  | a=down b=down c=down |   | 3 checks are down: a, b, c
    different problems    | a=down b=warning     |   | 2 checks have a problem (1 CRITICAL, 1 WARNING): a, b
    warnings              | a=warning b=warning  |   | 2 checks have a warning: a, b
    one of a group        | a=up                 | 3 | 1 of 3 checks is up again: a
    some of a group       | a=up b=up            | 9 | 2 of 9 checks are up again: a, b
    all of a group        | a=up b=up            | 2 | 2 checks are up again: a, b
    of different kinds    | a=up b=ok            |   | 2 checks are ok again: a, b
    of checks that are to fail  | !a=down !b=down |  | 2 checks are up, but must not be: a, b
    one of them           | !a=down b=down       |   | 2 checks have a problem (2 CRITICAL): a, b
    that fail again       | !a=up !b=up          |   | 2 checks are no longer up: a, b
    that fails again      | !a=up                | 3 | 1 of 3 checks is no longer up: a
    both                  | a=down b=up          | 4 | 1 check is down, 1 of 4 checks is up again: a, b
    the last one decides  | a=down a=up b=up     | 2 | 2 checks are up again: a, b
    checks that left      | a=gone b=gone        |   | 2 checks are no longer checked: a, b`;
  const fieldsBy: Readonly<Record<string, string>> = {
    down: "condition=critical",
    warning: "condition=warning",
    up: "event=recovery condition=ok previous=critical",
    ok: "event=recovery condition=ok previous=warning",
    gone: "event=recovery condition=unknown previous=critical",
  };
  await testTable(t, table, (_, texts, size, expected) => {
    const items = texts.split(" ").map((text) => {
      const [check = "", state = ""] = text.split("=");
      const item = makeItem(fieldsOf(`check=${check.replace("!", "")} title=null ${fieldsBy[state]}`));
      return { ...item, goesDown: true, isInverted: check.startsWith("!") };
    });
    assert.equal(describeItems({ items, ...size !== "" && { groupSize: Number(size) } }), expected);
  });
});

Deno.test("describeItem() truncates long titles and outputs", () => {
  const line = describeItem(makeItem({ title: "T".repeat(5000), output: "😀".repeat(500_000) }));
  assert.ok(line.length < 1000, `${line.length}`);
  assert.ok(line.isWellFormed());
  assert.match(line, /T… is critical: 😀+… \(CRITICAL for 2 min, was ok/u);
});

Deno.test("consoleKind writes a line for each item, in order", async () => {
  const message = makeMessage([makeItem(), makeItem({ check: "other", title: null })]);
  const { delivery, lines, steps } = await deliverOver(consoleKind, CONSOLE, { message });
  assert.deepEqual(delivery, { delivered: true, note: null });
  assert.deepEqual(lines, message.items.map((item) => `2026-01-31 10:00:00 UTC ${describeItem(item)}`));
  assert.deepEqual(steps, ["written"]);
});

Deno.test("consoleKind marks a test", async () => {
  const { lines } = await deliverOver(consoleKind, CONSOLE, {
    message: makeMessage(undefined, { isTest: true }),
  });
  assert.match(lines[0] ?? "", /^TEST 2026-/);
});
