/** The output of `monitor status` on terminals of several widths, from a state with every feature. */
import assert from "node:assert/strict";
import { stripVTControlCharacters } from "node:util";
import stringWidth from "string-width";
import type { Condition } from "../../../src/domain/condition.ts";
import type { CheckRecord } from "../../../src/domain/store.ts";
import {
  notificationOf,
  NOW_MS,
  queuedOf,
  recordOf,
  resultOf,
  silenceOf,
  updateOf,
} from "../../state/records.ts";
import { runWithState } from "./run_with_state.ts";

const MINUTE = 60_000;

const TITLES: Readonly<Record<string, string | undefined>> = {
  web: "Website",
  "日本語": "全角の題名",
  "family 👩‍👩‍👧‍👦": undefined,
  "a-name-that-a-generator-has-made-and-that-is-longer-than-any-column": undefined,
  disk: "Root disk",
};

function recordFor(name: string, condition: Condition, output: string, sinceMs: number): CheckRecord {
  const base = recordOf(name);
  return {
    ...base,
    condition: {
      ...base.condition,
      confirmed: condition,
      observed: condition,
      notified: condition,
      confirmedSinceMs: NOW_MS - sinceMs,
    },
    last: resultOf({ condition, output, startedAtMs: NOW_MS - 10_000 }),
    nextRunAtMs: NOW_MS + MINUTE,
    seenAtMs: NOW_MS,
  };
}

const RECORDS: readonly CheckRecord[] = [
  recordFor(
    "web",
    "critical",
    'status is 500, expected 200; header content-type is "text/plain"',
    3 * MINUTE,
  ),
  recordFor("日本語", "ok", "正常に動作しています。", 49 * 60 * MINUTE),
  recordFor("family 👩‍👩‍👧‍👦", "warning", "🔥 cafe\u0301", 5000),
  recordFor("a-name-that-a-generator-has-made-and-that-is-longer-than-any-column", "ok", "fine", MINUTE),
];

interface ShowOptions {
  readonly columns: number | null;
  readonly color?: boolean;
  readonly records?: readonly CheckRecord[];
  readonly withNotifications?: boolean;
  readonly titles?: Readonly<Record<string, string | undefined>>;
  readonly args?: readonly string[];
}

async function show(options: ShowOptions) {
  const { columns, color = false, records = RECORDS, withNotifications = true, titles = TITLES, args = [] } =
    options;
  const checks = Object.fromEntries(
    Object.entries(titles).map(([name, title]) => [name, { kind: "test", parameters: {}, title }]),
  );
  const { code, stdout, stderr } = await runWithState(["status", ...args], {
    config: { defaults: {}, checks },
    columns,
    hasColor: color,
    fill: async (store) => {
      await store.save(records.map((record) => updateOf(record.name, { record })));
      if (!withNotifications) return;
      await store.changeOutbox({
        changed: (["pending", "rejected"] as const).map((state, index) =>
          queuedOf(state, index, {
            state,
            channelName: "email to admin@example.org",
            notification: notificationOf("web", { decidedAtMs: NOW_MS - MINUTE }),
          })
        ),
        removed: [],
        markers: [],
        cleared: [],
      });
      await store.addSilences([silenceOf("a", { fromMs: NOW_MS - MINUTE, untilMs: NOW_MS + 60 * MINUTE })]);
    },
  });
  assert.equal(stderr, "");
  return { text: stdout, code };
}

Deno.test("monitor status shows the problems last, and sums up at the very end", async () => {
  const { text, code } = await show({ columns: 80 });
  assert.equal(
    text,
    `pending: critical of "web" to email to admin@example.org, decided 1 min ago,
    tried 2 times: connection refused
rejected: critical of "web" to email to admin@example.org, decided 1 min ago,
    tried 2 times: connection refused

silenced: "web" for 1 h more (maintenance)

condition  check                             for  output
OK         日本語 (全角の題名)           2 d 1 h  正常に動作しています。
OK         a-name-that-a-generator-has-    1 min  fine
           made-and-that-is-longer-than
           -any-column
UNKNOWN    disk (Root disk)                       never ran
WARNING    family 👩‍👩‍👧‍👦                         5 s  🔥 cafe\u0301
CRITICAL   web (Website)                   3 min  status is 500, expected 200;
                                                  header content-type is
                                                  "text/plain" [silenced]

5 checks: 2 ok, 1 unknown, 1 warning, 1 critical; 1 notification is pending, 1
was rejected; 1 silence
`,
  );
  assert.equal(code, 2);
});

Deno.test("monitor status prints the same text with color", async () => {
  for (const columns of [40, 80]) {
    const { text } = await show({ columns, color: true });
    assert.ok(text.split("\n").every((line) => stringWidth(line) <= columns));
    assert.ok(text.includes("\u001b[31mCRITICAL"), "a problem is red");
    assert.equal(stripVTControlCharacters(text), (await show({ columns })).text);
  }
});

Deno.test("monitor status --format plugin prints the state as one plugin", async () => {
  const [web] = RECORDS;
  const stale = { ...recordFor("disk", "ok", "5 GB free", MINUTE), nextRunAtMs: NOW_MS - 60 * MINUTE };
  const { text, code } = await show({
    columns: null,
    records: web === undefined ? [] : [{ ...web, last: resultOf({ ...web.last, metrics: {} }) }, stale],
    titles: { web: undefined, disk: undefined, new: undefined },
    args: ["--format", "plugin"],
  });
  const output = 'status is 500, expected 200; header content-type is "text/plain"';
  assert.equal(
    text,
    `MONITOR CRITICAL - 1 of 3 checks critical, 2 unknown: web (${output}), disk (not run for 10 s, ` +
      "was ok: 5 GB free), new (never ran) | 'ok'=0;;;0;3 'pending'=0;;;0;3 'unknown'=2;;;0;3 'warning'=0;;;0;3 " +
      `'critical'=1;;;0;3 'web::duration'=0.012s 'web::time'=1s\nCRITICAL web: ${output}\n` +
      "UNKNOWN disk: not run for 10 s, was ok: 5 GB free\nUNKNOWN new: never ran\n",
  );
  assert.equal(code, 2);
});

Deno.test("monitor status --problems shows only checks that are not ok or pending, and counts all", async () => {
  const args = ["--problems"];
  const { text, code } = await show({ columns: null, args });
  assert.equal(
    text,
    `pending: critical of "web" to email to admin@example.org, decided 1 min ago, tried 2 times: connection refused
rejected: critical of "web" to email to admin@example.org, decided 1 min ago, tried 2 times: connection refused

condition  check               for  output
UNKNOWN    disk (Root disk)         never ran
WARNING    family 👩\u200d👩\u200d👧\u200d👦           5 s  🔥 cafe\u0301
CRITICAL   web (Website)     3 min  status is 500, expected 200; header content-type is "text/plain" [silenced]

5 checks: 2 ok, 1 unknown, 1 warning, 1 critical; 1 notification is pending, 1 was rejected; 1 silence
`,
  );
  assert.equal(code, 2);
  const json = JSON.parse((await show({ columns: null, args: [...args, "--format", "json"] })).text);
  assert.deepEqual(json.checks.map(({ condition }: { condition: string }) => condition), [
    "critical",
    "warning",
    "unknown",
  ]);
  assert.deepEqual([json.condition, json.notifications.length, json.silences], ["critical", 2, []]);
});

Deno.test("monitor status --problems prints only the summary if all checks are ok", async () => {
  const ok = recordFor("web", "ok", "fine", MINUTE);
  const options = { columns: null, records: [ok], titles: { web: undefined }, withNotifications: false };
  assert.deepEqual(await show({ ...options, args: ["--problems"] }), { text: "1 check: 1 ok\n", code: 0 });
});
