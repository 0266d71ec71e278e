/** The output of `monitor status` on terminals of several widths, from a state with every feature. */
import assert from "node:assert/strict";
import { stripVTControlCharacters } from "node:util";
import stringWidth from "string-width";
import type { Condition } from "../../../src/domain/condition.ts";
import type { CheckRecord } from "../../../src/domain/store.ts";
import {
  notificationOf,
  NOW_MS,
  outboxChangeOf,
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

async function show(
  args: readonly string[],
  {
    columns = null as number | null,
    color = false,
    records = RECORDS,
    hasNotifications = true,
    titles = TITLES,
  } = {},
) {
  const checks = Object.fromEntries(
    Object.entries(titles).map(([name, title]) => [name, { kind: "test", parameters: {}, title }]),
  );
  const { code, stdout, stderr } = await runWithState(["status", ...args], {
    config: { defaults: {}, checks },
    columns,
    hasColor: color,
    fill: async (store) => {
      await store.save(records.map((record) => updateOf(record.name, { record })));
      if (!hasNotifications) return;
      const notification = notificationOf("web", { decidedAtMs: NOW_MS - MINUTE });
      const changed = (["pending", "rejected"] as const).map((state, index) =>
        queuedOf(state, index, { state, channelName: "email to admin@example.org", notification })
      );
      await store.changeOutbox(outboxChangeOf({ changed }));
      await store.addSilences([silenceOf("a", { fromMs: NOW_MS - MINUTE, untilMs: NOW_MS + 60 * MINUTE })]);
    },
  });
  assert.equal(stderr, "");
  return { text: stdout, code };
}

function expected(name: string): string {
  return Deno.readTextFileSync(new URL(`testdata/${name}.txt`, import.meta.url));
}

Deno.test("monitor status shows the problems last, and sums up at the very end", async () => {
  const { text, code } = await show([], { columns: 80 });
  assert.equal(text, expected("status_80_columns"));
  assert.equal(code, 2);
});

Deno.test("monitor status prints the same text with color", async () => {
  for (const columns of [40, 80]) {
    const { text } = await show([], { columns, color: true });
    assert.ok(text.split("\n").every((line) => stringWidth(line) <= columns));
    assert.ok(text.includes("\u001b[31mCRITICAL"), "a problem is red");
    assert.equal(stripVTControlCharacters(text), (await show([], { columns })).text);
  }
});

Deno.test("monitor status --format plugin prints the state as one plugin", async () => {
  const [web] = RECORDS;
  const stale = { ...recordFor("disk", "ok", "5 GB free", MINUTE), nextRunAtMs: NOW_MS - 60 * MINUTE };
  const { text, code } = await show(["--format", "plugin"], {
    records: web === undefined ? [] : [{ ...web, last: resultOf({ ...web.last, metrics: {} }) }, stale],
    titles: { web: undefined, disk: undefined, new: undefined },
  });
  assert.equal(text, expected("status_plugin"));
  assert.equal(code, 2);
});

Deno.test("monitor status --problems shows only checks that are not ok or pending, and counts all", async () => {
  const { text, code } = await show(["--problems"]);
  assert.equal(text, expected("status_problems"));
  assert.equal(code, 2);
  const json = JSON.parse((await show(["--problems", "--format", "json"])).text);
  const conditions = json.checks.map(({ condition }: { condition: string }) => condition);
  assert.deepEqual(conditions, ["critical", "warning", "unknown"]);
  assert.deepEqual([json.condition, json.notifications.length, json.silences], ["critical", 2, []]);
});

Deno.test("monitor status --problems prints only the summary if all checks are ok", async () => {
  const ok = recordFor("web", "ok", "fine", MINUTE);
  const options = { records: [ok], titles: { web: undefined }, hasNotifications: false };
  assert.deepEqual(await show(["--problems"], options), { text: "1 check: 1 ok\n", code: 0 });
});

Deno.test("silences, acknowledgements and windows have the user before sudo, and the machine", async () => {
  const broken = recordFor("web", "critical", "down", MINUTE);
  const problem = { ...broken, condition: { ...broken.condition, problemBeganAtMs: NOW_MS - MINUTE } };
  const variables: Readonly<Record<string, string>> = { SUDO_USER: "ada", USER: "root" };
  const printed = async (...args: readonly string[]): Promise<string> =>
    (await runWithState(args, {
      config: { defaults: {}, checks: { web: { kind: "test", parameters: { condition: "ok" } } } },
      fill: (store) => store.save([updateOf("web", { record: problem })]),
      change: () => ({ environment: (name) => variables[name], hostName: () => "web1" }),
    })).stdout;
  assert.match(await printed("silence", "web"), / \(by ada on web1\)\n$/);
  assert.match(await printed("acknowledge", "web", "--note", "on it"), / \(on it, by ada on web1\)\n$/);
  assert.match(await printed("maintenance", "start", "web", "--for", "1h"), /by ada on web1/);
});
