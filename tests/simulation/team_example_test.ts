/** Two weeks in the life of the team of examples/team, with every message that each of them gets. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { simulate } from "../../testing/simulation/mod.ts";
import type { Received } from "../../testing/simulation/receivers.ts";
import { requiresTools, runChild, tool } from "../../testing/tools.ts";
import { tempDirectory } from "../../testing/builders.ts";

const CONFIG = readFileSync(new URL("../../examples/team/monitor.jsonc", import.meta.url), "utf8");

simulate("examples/team: two weeks, with every message that each of the team gets", {
  start: "2026-03-23 07:30",
  zone: "Europe/Zurich",
  config: CONFIG,
  environment: { SLACK_WEBHOOK: "T/B/X", NTFY_TOKEN: "tk", SEVEN_KEY: "key", MAIL_PASSWORD: "secret" },
  results: {
    shop: [
      "03-23 10:00 critical",
      "03-23 10:20 ok",
      "03-24 02:00 critical",
      "03-24 02:20 ok",
      "03-26 14:00 critical",
      "03-26 15:00 ok",
      "03-27 11:00 critical",
      "03-27 12:30 ok",
      "03-28 15:00 critical",
      "03-28 16:00 ok",
      "03-29 03:10 critical",
      "03-29 03:40 ok",
      "04-01 17:50 critical",
      "04-01 18:40 ok",
    ].join(", "),
    payments: [
      "03-30 09:00 critical",
      "03-30 09:05 ok",
      "03-30 09:10 critical",
      "03-30 09:15 ok",
      "03-30 09:20 critical",
      "03-30 09:25 ok",
      "03-30 09:30 critical",
      "03-30 09:35 ok",
    ].join(", "),
    search: [
      "03-25 03:00 warning",
      "03-26 09:00 ok",
      "03-29 03:10 warning",
      "03-29 03:40 ok",
      "03-31 13:05 warning",
      "03-31 13:45 ok",
    ].join(", "),
    queue: [
      "04-02 22:00 warning",
      "04-02 23:00 critical",
      "04-02 23:20 warning",
      "04-03 00:30 ok",
      "04-04 21:00 critical",
      "04-04 21:20 warning",
      "04-04 23:00 ok",
    ].join(", "),
  },
  actions: {
    // No escalation after it.
    "03-27 11:15": 'acknowledge shop --note "Ada is on it"',
    // A problem within it begins and ends unnoticed.
    "03-31 13:00": "silence search --for 1h --reason deploy",
  },
  until: "04-06 12:00",
  words: wordsOf,
  expect: {
    "hooks.slack.com": [
      "Mon 08:00 Summary: All 4 checks were up; there is data of 29 min 59 s only",
      // By day, the chat is notified; the recovery goes where the problem went.
      "Mon 10:02 CRITICAL: shop",
      "Mon 10:22 OK, recovered: shop",
      // A warning of the night is sent when its hours begin.
      "Wed 08:00 WARNING: search",
      "Thu 09:02 OK, recovered: search",
      "Thu 14:02 CRITICAL: shop",
      "Thu 15:02 OK, recovered: shop",
      "Fri 11:02 CRITICAL: shop",
      "Fri 12:32 OK, recovered: shop (acknowledged)",
      "Mon 08:00 Summary: 1 of 4 checks was down; 1 missed its objective",
      "Mon 09:00 CRITICAL: payments",
      "Mon 09:05 OK, recovered: payments",
      "Mon 09:10 CRITICAL: payments",
      // The last notification while it flaps.
      "Mon 09:15 OK, recovered: payments (flapping)",
      // Recoveries come at any time.
      "Wed 17:52 CRITICAL: shop",
      "Wed 18:42 OK, recovered: shop",
      "Mon 08:00 Summary: 3 of 4 checks were down; 2 missed their objectives",
    ],
    "ntfy.sh": [
      // At night.
      "Tue 02:02 CRITICAL: shop",
      "Tue 02:22 OK, recovered: shop",
      // By day at the weekend.
      "Sat 15:02 CRITICAL: shop",
      "Sat 16:02 OK, recovered: shop",
      // It began by day, and goes on in the evening.
      "Wed 18:00 CRITICAL: shop",
      "Wed 18:42 OK, recovered: shop",
      // A change for the others; back to warning is a recovery here.
      "Thu 23:02 CRITICAL: queue",
      "Thu 23:22 WARNING, no longer CRITICAL: queue",
      "Sat 21:06 CRITICAL: queue",
      "Sat 21:22 WARNING, no longer CRITICAL: queue",
    ],
    "gateway.seven.io": [
      // No acknowledgement within 30 minutes.
      "Thu 14:32 CRITICAL: shop",
      "Thu 15:02 OK, recovered: shop",
      "Sat 15:32 CRITICAL: shop",
      "Sat 16:02 OK, recovered: shop",
      "Wed 18:22 CRITICAL: shop",
      "Wed 18:42 OK, recovered: shop",
    ],
    operations: [
      "Mon 08:00 Summary: All 4 checks were up; there is data of 29 min 59 s only",
      "Mon 10:02 CRITICAL: shop",
      "Mon 10:22 OK: shop",
      "Tue 02:02 CRITICAL: shop",
      "Tue 02:22 OK: shop",
      // A warning at night: only email, with a reminder after a day (a tenth early at most).
      "Wed 03:06 WARNING: search",
      "Thu 00:36-03:12 still WARNING: search",
      "Thu 09:02 OK: search",
      "Thu 14:02 CRITICAL: shop",
      "Thu 15:02 OK: shop",
      "Fri 11:02 CRITICAL: shop",
      "Fri 12:32 OK: shop",
      "Sat 15:02 CRITICAL: shop",
      "Sat 16:02 OK: shop",
      // Nothing of the maintenance window on Sunday, in the first minutes of DST.
      "Mon 08:00 Summary: 1 of 4 checks was down; 1 missed its objective",
      "Mon 09:00 CRITICAL: payments",
      "Mon 09:05 OK: payments",
      "Mon 09:10 CRITICAL: payments",
      "Mon 09:15 OK: payments",
      "Wed 17:52 CRITICAL: shop",
      "Wed 18:42 OK: shop",
      "Thu 22:06 WARNING: queue",
      "Thu 23:02 CRITICAL: queue",
      "Thu 23:22 WARNING: queue",
      "Fri 00:32 OK: queue",
      "Sat 21:06 CRITICAL: queue",
      "Sat 21:22 WARNING: queue",
      "Sat 23:02 OK: queue",
      "Mon 08:00 Summary: 3 of 4 checks were down; 2 missed their objectives",
    ],
  },
  finally: (_, { messages }) => {
    const summaries = messages.filter(({ mail }) => mail?.html !== undefined);
    const [, first, second] = summaries.map(({ mail }) => mail);
    assert.equal(summaries.length, 3);
    assert.match(first?.subject ?? "", /down, 4 h (?:39|40|41) min in all;/);
    assert.match(second?.subject ?? "", /down, 1 h 4[4567] min in all;/);
    assert.match(first?.text ?? "", /\n\n2026-03-23 08:00 to 2026-03-30 08:00 \(Europe\/Zurich\)\n/);
    assert.match(second?.text ?? "", /\nDown\n- shop: 2026-0[34]-/);
    assert.match(second?.html ?? "", /^<!DOCTYPE html>.*Availability/s);
  },
}, requiresTools("time"));

/** The seed decides about some seconds of it. */
function withoutDuration(text: string): string {
  return text.replace(/, \d+ h \d+ min in all;/, ";");
}

/** `CRITICAL: shop`, of a body with the line of a notification; of an email the subject. */
function wordsOf({ text, mail }: Received): string {
  if (mail !== null) return withoutDuration(text);
  const body = JSON.parse(text) as { readonly text?: string; readonly message?: string };
  const line = body.text ?? body.message ?? "";
  if (line.includes(" Summary: ")) return withoutDuration(line.replace(/^.*? UTC /, ""));
  const [, words] = /^.*? UTC ([A-Z]+(?:, [\w ]+)?: \w+): /.exec(line) ?? assert.fail(line);
  const marks = ["acknowledged", "flapping"].filter((mark) => line.includes(mark));
  return `${words}${marks.map((mark) => ` (${mark})`).join("")}`;
}

Deno.test("examples/team: check_queue.sh exits by the number of files", async () => {
  const script = fileURLToPath(new URL("../../examples/team/check_queue.sh", import.meta.url));
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  const assertExit = async (count: number, code: number, path: string): Promise<void> => {
    const end = await runChild(tool("sh"), [script, directory], { env: { PATH: path } });
    assert.deepEqual([end.code, end.stderr], [code, ""]);
    assert.equal(end.stdout, `${count} orders are waiting | waiting=${count};1000;10000\n`);
  };
  const path = "/usr/bin:/bin";
  await assertExit(0, 0, path);
  for (const name of ["1", "2", "3"]) Deno.writeTextFileSync(`${directory}/${name}`, "");
  Deno.mkdirSync(`${directory}/bin`);
  await assertExit(3, 0, path);
  // Prints a fixed number of files: the directory is not made.
  for (const [count, code] of [[999, 0], [1000, 1], [9999, 1], [10_000, 2]] as const) {
    Deno.writeTextFileSync(`${directory}/bin/find`, `#!/bin/sh\nseq ${count}\n`, { mode: 0o755 });
    await assertExit(count, code, `${directory}/bin:${path}`);
  }
});
