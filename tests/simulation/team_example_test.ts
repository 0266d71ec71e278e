/** A week in the life of the team of examples/team, with every message that each of them gets. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { simulate } from "../../testing/simulation/mod.ts";
import type { Received } from "../../testing/simulation/receivers.ts";
import { requiresTools, runChild, tool } from "../../testing/tools.ts";
import { tempDirectory } from "../../testing/builders.ts";

const CONFIG = readFileSync(new URL("../../examples/team/monitor.jsonc", import.meta.url), "utf8");

simulate("examples/team: a week, with every message that each of the team gets", {
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
    ].join(", "),
    search: [
      "03-25 03:00 warning",
      "03-26 09:00 ok",
      "03-29 03:10 warning",
      "03-29 03:40 ok",
    ].join(", "),
    queue: ["03-26 22:00 warning", "03-26 23:00 critical", "03-26 23:20 warning", "03-27 00:30 ok"].join(
      ", ",
    ),
  },
  actions: {
    // No escalation after it.
    "03-27 11:15": 'acknowledge shop --note "Ada is on it"',
  },
  until: "03-30 12:00",
  words: wordsOf,
  expect: {
    "hooks.slack.com": [
      "Mon 08:00 Summary: All 4 checks were up; there is data of 29 min 59 s at most",
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
      "Mon 08:00 Summary: 2 of 4 checks were down; 2 missed their objectives",
    ],
    "ntfy.sh": [
      // At night.
      "Tue 02:02 CRITICAL: shop",
      "Tue 02:22 OK, recovered: shop",
      // A change for the others; back to warning is a recovery here.
      "Thu 23:02 CRITICAL: queue",
      "Thu 23:22 WARNING, no longer CRITICAL: queue",
      // By day at the weekend.
      "Sat 15:02 CRITICAL: shop",
      "Sat 16:02 OK, recovered: shop",
    ],
    "gateway.seven.io": [
      // No acknowledgement within 30 minutes.
      "Thu 14:32 CRITICAL: shop",
      "Thu 15:02 OK, recovered: shop",
      "Sat 15:32 CRITICAL: shop",
      "Sat 16:02 OK, recovered: shop",
    ],
    operations: [
      "Mon 08:00 Summary: All 4 checks were up; there is data of 29 min 59 s at most",
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
      "Thu 22:06 WARNING: queue",
      "Thu 23:02 CRITICAL: queue",
      "Thu 23:22 WARNING: queue",
      "Fri 00:32 OK: queue",
      "Fri 11:02 CRITICAL: shop",
      "Fri 12:32 OK: shop",
      "Sat 15:02 CRITICAL: shop",
      "Sat 16:02 OK: shop",
      // Nothing of the maintenance window on Sunday, in the first minutes of DST.
      "Mon 08:00 Summary: 2 of 4 checks were down; 2 missed their objectives",
    ],
  },
  finally: (_, { messages }) => {
    const summaries = messages.filter(({ mail }) => mail?.html !== undefined);
    const [, { mail: last } = { mail: null }] = summaries;
    assert.equal(summaries.length, 2);
    assert.match(last?.subject ?? "", /down, (?:4 h 59 min|5 h|5 h 1 min) in all;/);
    assert.match(last?.text ?? "", /\n\n2026-03-23 08:00 to 2026-03-30 08:00 \(Europe\/Zurich\)\n/);
    assert.match(last?.text ?? "", /\nDown\n- shop: 2026-03-/);
    assert.match(last?.html ?? "", /^<!DOCTYPE html>.*Availability/s);
  },
}, requiresTools("time"));

/** The seed decides about some seconds of it. */
function withoutDuration(text: string): string {
  return text.replace(/, \d h(?: \d+ min)? in all;/, ";");
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
