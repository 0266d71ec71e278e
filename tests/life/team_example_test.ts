/** Two weeks in the life of the team of examples/team, with every message that each of them gets. */
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import type { Condition } from "../../src/domain/condition.ts";
import { runChild, tool } from "../../testing/tools.ts";
import { type FakeService, type Message, startFakeService } from "../support/fake_service.ts";

const CONFIG = fileURLToPath(new URL("../../examples/team/monitor.jsonc", import.meta.url));
const HOUR_MS = 3_600_000;

/** By the host that a message goes to. */
const RECEIVERS = {
  "hooks.slack.com": "chat",
  "ntfy.sh": "pager",
  "gateway.seven.io": "manager",
  "mail.example.org": "mail",
} as const;

type Receiver = typeof RECEIVERS[keyof typeof RECEIVERS];

/** The target of each check. */
const TARGETS = {
  shop: "shop.example.org",
  payments: "payments.example.org",
  search: "search.example.org",
  queue: "check_queue.sh",
} as const;

type Step =
  | { readonly [check in keyof typeof TARGETS]?: Condition }
  | { readonly acknowledge: string }
  | { readonly silence: string; readonly hours: number };

/** Something happens at a local time, and these messages arrive until the next thing happens. */
type Chapter = readonly [
  at: string,
  what: string,
  step: Step,
  messages: { readonly [receiver in Receiver]?: readonly string[] },
];

const STORY: readonly Chapter[] = [
  ["2026-03-23 07:45", "on Monday morning, the first summary", {}, {
    chat: ["Mon 08:00 Summary: All 4 checks were up; there is data of 29 min 59 s only"],
    mail: ["Mon 08:00 Summary: All 4 checks were up; there is data of 29 min 59 s only"],
  }],
  ["2026-03-23 10:00", "by day, the chat is notified", { shop: "critical" }, {
    chat: ["Mon 10:02 CRITICAL: shop"],
    mail: ["Mon 10:02 CRITICAL: shop"],
  }],
  ["2026-03-23 10:20", "the recovery goes where the problem went", { shop: "ok" }, {
    chat: ["Mon 10:22 OK, recovered: shop"],
    mail: ["Mon 10:22 OK: shop"],
  }],
  ["2026-03-24 02:00", "at night, the pager", { shop: "critical" }, {
    pager: ["Tue 02:02 CRITICAL: shop"],
    mail: ["Tue 02:02 CRITICAL: shop"],
  }],
  ["2026-03-24 02:20", "the chat had no problem, so it gets no recovery", { shop: "ok" }, {
    pager: ["Tue 02:22 OK, recovered: shop"],
    mail: ["Tue 02:22 OK: shop"],
  }],
  [
    "2026-03-25 03:00",
    "a warning at night: only email, with a reminder after a day (a tenth early at most)",
    { search: "warning" },
    {
      mail: ["Wed 03:06 WARNING: search", "Thu 00:42 still WARNING: search"],
    },
  ],
  ["2026-03-26 09:00", "by day, the recovery of a problem that the chat missed", { search: "ok" }, {
    mail: ["Thu 09:02 OK: search"],
  }],
  ["2026-03-26 14:00", "no acknowledgement within 30 minutes: the manager", { shop: "critical" }, {
    chat: ["Thu 14:02 CRITICAL: shop"],
    manager: ["Thu 14:32 CRITICAL: shop"],
    mail: ["Thu 14:02 CRITICAL: shop"],
  }],
  ["2026-03-26 15:00", "the recovery of an escalated problem", { shop: "ok" }, {
    chat: ["Thu 15:02 OK, recovered: shop"],
    manager: ["Thu 15:02 OK, recovered: shop"],
    mail: ["Thu 15:02 OK: shop"],
  }],
  ["2026-03-27 11:00", "the same problem", { shop: "critical" }, {
    chat: ["Fri 11:02 CRITICAL: shop"],
    mail: ["Fri 11:02 CRITICAL: shop"],
  }],
  ["2026-03-27 11:15", "Ada acknowledges it: no escalation", { acknowledge: "shop" }, {}],
  ["2026-03-27 12:30", "the recovery, with her note", { shop: "ok" }, {
    chat: ["Fri 12:32 OK, recovered: shop (acknowledged)"],
    mail: ["Fri 12:32 OK: shop"],
  }],
  ["2026-03-28 15:00", "by day at the weekend: the pager, then the manager", { shop: "critical" }, {
    pager: ["Sat 15:02 CRITICAL: shop"],
    manager: ["Sat 15:32 CRITICAL: shop"],
    mail: ["Sat 15:02 CRITICAL: shop"],
  }],
  ["2026-03-28 16:00", "the recovery at the weekend", { shop: "ok" }, {
    pager: ["Sat 16:02 OK, recovered: shop"],
    manager: ["Sat 16:02 OK, recovered: shop"],
    mail: ["Sat 16:02 OK: shop"],
  }],
  ["2026-03-29 03:10", "the maintenance window, in the first minutes of DST", {
    shop: "critical",
    search: "warning",
  }, {}],
  ["2026-03-29 03:40", "well again before the window ends; on Monday, the summary", {
    shop: "ok",
    search: "ok",
  }, {
    chat: ["Mon 08:00 Summary: 1 of 4 checks was down, 4 h 40 min in all; 1 missed its objective"],
    mail: ["Mon 08:00 Summary: 1 of 4 checks was down, 4 h 40 min in all; 1 missed its objective"],
  }],
  ["2026-03-30 09:00", "payments begins to flap", { payments: "critical" }, {
    chat: ["Mon 09:00 CRITICAL: payments"],
    mail: ["Mon 09:00 CRITICAL: payments"],
  }],
  ["2026-03-30 09:05", "payments flaps", { payments: "ok" }, {
    chat: ["Mon 09:05 OK, recovered: payments"],
    mail: ["Mon 09:05 OK: payments"],
  }],
  ["2026-03-30 09:10", "payments flaps", { payments: "critical" }, {
    chat: ["Mon 09:10 CRITICAL: payments"],
    mail: ["Mon 09:10 CRITICAL: payments"],
  }],
  ["2026-03-30 09:15", "the last notification while it flaps", { payments: "ok" }, {
    chat: ["Mon 09:15 OK, recovered: payments (flapping)"],
    mail: ["Mon 09:15 OK: payments"],
  }],
  ["2026-03-30 09:20", "no more notifications", { payments: "critical" }, {}],
  ["2026-03-30 09:25", "payments flaps", { payments: "ok" }, {}],
  ["2026-03-30 09:30", "payments flaps", { payments: "critical" }, {}],
  ["2026-03-30 09:35", "it stays ok", { payments: "ok" }, {}],
  ["2026-03-31 13:00", "Ben silences search for a deployment", { silence: "search", hours: 1 }, {}],
  ["2026-03-31 13:05", "a problem during the silence", { search: "warning" }, {}],
  ["2026-03-31 13:45", "its recovery before the silence ends", { search: "ok" }, {}],
  ["2026-04-01 17:50", "a problem that begins by day goes on in the evening: not sent to the pager", {
    shop: "critical",
  }, {
    chat: ["Wed 17:52 CRITICAL: shop"],
    manager: ["Wed 18:22 CRITICAL: shop"],
    mail: ["Wed 17:52 CRITICAL: shop"],
  }],
  ["2026-04-01 18:40", "recoveries at any time, also outside the hours of the chat", { shop: "ok" }, {
    chat: ["Wed 18:42 OK, recovered: shop"],
    manager: ["Wed 18:42 OK, recovered: shop"],
    mail: ["Wed 18:42 OK: shop"],
  }],
  ["2026-04-02 22:00", "a warning in the evening", { queue: "warning" }, {
    mail: ["Thu 22:06 WARNING: queue"],
  }],
  ["2026-04-02 23:00", "it becomes critical: a problem for the pager, a change for email", {
    queue: "critical",
  }, {
    pager: ["Thu 23:02 CRITICAL: queue"],
    mail: ["Thu 23:02 CRITICAL: queue"],
  }],
  ["2026-04-02 23:20", "back to warning: a recovery for the pager", { queue: "warning" }, {
    pager: ["Thu 23:22 WARNING, recovered: queue"],
    mail: ["Thu 23:22 WARNING: queue"],
  }],
  ["2026-04-03 00:30", "the recovery of the warning: only email", { queue: "ok" }, {
    mail: ["Fri 00:32 OK: queue"],
  }],
  ["2026-04-04 21:00", "critical on Saturday evening", { queue: "critical" }, {
    pager: ["Sat 21:06 CRITICAL: queue"],
    mail: ["Sat 21:06 CRITICAL: queue"],
  }],
  ["2026-04-04 21:20", "only a warning within 30 minutes: no escalation", { queue: "warning" }, {
    pager: ["Sat 21:22 WARNING, recovered: queue"],
    mail: ["Sat 21:22 WARNING: queue"],
  }],
  ["2026-04-04 23:00", "the recovery of the rest, and the summary of the second week", { queue: "ok" }, {
    chat: ["Mon 08:00 Summary: 3 of 4 checks were down, 1 h 46 min in all; 2 missed their objectives"],
    mail: [
      "Sat 23:02 OK: queue",
      "Mon 08:00 Summary: 3 of 4 checks were down, 1 h 46 min in all; 2 missed their objectives",
    ],
  }],
];

Deno.test("examples/team: two weeks, with every message that each of the team gets", async () => {
  await using service = await startFakeService({
    config: CONFIG,
    environment: { SLACK_WEBHOOK: "T/B/X", NTFY_TOKEN: "tk", SEVEN_KEY: "key", MAIL_PASSWORD: "secret" },
    startMs: msOf("2026-03-23 07:30"),
  });
  const sent: Chapter[] = [];
  for (const [index, [at, what, step]] of STORY.entries()) {
    await service.clock.advance(msOf(at) - service.clock.wallMs());
    const before = index === 0 ? 0 : service.messages.length;
    await take(service, step);
    const next = STORY[index + 1]?.[0] ?? "2026-04-06 12:00";
    await service.clock.advance(msOf(next) - service.clock.wallMs());
    sent.push([at, what, step, byReceiver(service.messages.slice(before))]);
  }
  assert.deepEqual(sent, STORY);
  const summaries = service.messages.filter(({ html }) => html !== undefined);
  const [, first, second] = summaries;
  assert.equal(summaries.length, 3);
  assert.match(first?.text ?? "", /\n\n2026-03-23 08:00 to 2026-03-30 08:00 \(Europe\/Zurich\)\n/);
  assert.match(second?.text ?? "", /\nDown\n- shop: 2026-0[34]-/);
  assert.match(second?.html ?? "", /^<!DOCTYPE html>.*Availability/s);
});

Deno.test("examples/team: check_queue.sh exits by the number of files", async () => {
  const script = fileURLToPath(new URL("../../examples/team/check_queue.sh", import.meta.url));
  const directory = await Deno.makeTempDir({ prefix: "monitor_team_" });
  try {
    let count = 0;
    for (const [wanted, code] of [[0, 0], [999, 0], [1000, 1], [9999, 1], [10_000, 2]] as const) {
      for (; count < wanted; count++) Deno.writeTextFileSync(`${directory}/${count}`, "");
      const end = await runChild(tool("sh"), [script, directory]);
      assert.deepEqual([end.code, end.stderr], [code, ""]);
      assert.equal(end.stdout, `${count} orders are waiting | waiting=${count};1000;10000\n`);
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

async function take(service: FakeService, step: Step): Promise<void> {
  if ("acknowledge" in step) {
    const options = { forMs: 1000 * HOUR_MS, note: "Ada is on it" };
    return await service.annotate("acknowledgement", step.acknowledge, options);
  }
  if ("silence" in step) {
    return await service.annotate("silence", step.silence, { forMs: step.hours * HOUR_MS, note: "deploy" });
  }
  for (const [check, condition] of Object.entries(step)) {
    service.conditions.set(TARGETS[check as keyof typeof TARGETS], condition);
  }
}

function byReceiver(messages: readonly Message[]): Chapter[3] {
  const sent: { [receiver in Receiver]?: string[] } = {};
  for (const { receiver, atMs, text } of messages) {
    const name = RECEIVERS[receiver as keyof typeof RECEIVERS];
    (sent[name] ??= []).push(`${localTime(atMs)} ${name === "mail" ? text.split("\n")[0] : wordsOf(text)}`);
  }
  return sent;
}

/** `CRITICAL: shop`, of a body with the line of a notification. */
function wordsOf(body: string): string {
  const { text, message } = JSON.parse(body) as { readonly text?: string; readonly message?: string };
  const line = text ?? message ?? "";
  if (line.includes(" Summary: ")) return line.replace(/^\S+Z /, "");
  const [, words] = /^\S+Z ([A-Z]+(?:, \w+)?: \w+): /.exec(line) ?? assert.fail(line);
  return `${words}${line.includes("acknowledged") ? " (acknowledged)" : ""}${
    line.includes("flapping") ? " (flapping)" : ""
  }`;
}

function msOf(local: string): number {
  return Temporal.PlainDateTime.from(local).toZonedDateTime("Europe/Zurich").epochMilliseconds;
}

function localTime(ms: number): string {
  const { dayOfWeek, hour, minute } = Temporal.Instant.fromEpochMilliseconds(ms)
    .toZonedDateTimeISO("Europe/Zurich");
  const day = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][dayOfWeek - 1];
  return `${day} ${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`;
}
