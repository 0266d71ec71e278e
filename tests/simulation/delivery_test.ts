/** What reaches channels whose servers fail, and when. */
import assert from "node:assert/strict";
import { simulate } from "../../testing/simulation/mod.ts";

const START = "2026-03-02 21:55";
const MAIL = { mail: { kind: "email", parameters: { tags: ["ops"] } } };

simulate("a server that is down for an hour gets one message, and the failure is logged once", {
  start: START,
  config: { checks: { web: {} } },
  results: { web: "22:10 critical" },
  servers: { chat: "22:00 refuse, 23:00 up" },
  until: "23:20",
  expect: { chat: ["23:00-23:16 problem web critical"] },
  log: [
    'the notification of "web" not delivered to chat: connecting to chat.example:80 failed: connection refused; retrying',
    'chat accepts notifications again: the notification of "web"',
  ],
});

simulate("each message that is sent is logged in one line, unless it is printed anyway", {
  start: START,
  config: { channels: { chat: {}, terminal: { kind: "console" } }, checks: { web: {} } },
  results: { web: "22:10 critical, 22:20 ok, 22:40 warning" },
  actions: { "22:30": "silence web --for 1h" },
  expect: { chat: "any", terminal: "any" },
  log: [
    /chat events=problem$/,
    /chat events=recovery$/,
    /condition=warning output="it is warning" suppressed=silence/,
  ],
  finally: ({ trace }) => {
    const lines = trace.events.flatMap(({ what, text }) => what === "log" ? [text] : []);
    assert.deepEqual(lines.filter((line) => line.includes("delivered to")).length, 2, lines.join("\n"));
  },
});

for (const fault of ["reset", "hang", "503", "slow 40s"]) {
  // Not for so long that the other channel gets a notice of it. The webhook has a timeout of 10 s, the mail server one of minutes.
  const arrivesAtOnce = { chat: fault === "hang" || fault === "slow 40s", mail: fault === "hang" };
  simulate(`a message arrives at last at a server with a fault: ${fault}`, {
    start: START,
    config: { channels: { chat: {}, ...MAIL }, checks: { web: {} } },
    results: { web: "22:10 critical" },
    servers: { chat: `22:00 ${fault}, 22:16 up`, mail: `22:00 ${fault === "503" ? "451" : fault}, 22:16 up` },
    expect: {
      chat: arrivesAtOnce.chat
        ? ["22:10 problem web critical", "22:10-22:22 problem web critical again…"]
        : ["22:16-22:22 problem web critical"],
      mail: arrivesAtOnce.mail
        ? [
          "22:10 [ops] web is critical: it is critical",
          "22:10-22:22 [ops] web is critical: it is critical again…",
        ]
        : [
          fault === "slow 40s"
            ? "22:10 [ops] web is critical: it is critical"
            : "22:16-22:22 [ops] web is critical: it is critical",
        ],
    },
  });
}

simulate("a message whose reply is lost is sent again under the same id, also after a kill", {
  start: START,
  config: { checks: { web: {} } },
  results: { web: "22:10 critical" },
  servers: { chat: "22:00 lose, 22:15 up" },
  actions: { "22:12": "kill", "22:14": "start" },
  expect: { chat: ["22:10 problem web critical", "22:10-22:31 problem web critical again…"] },
});

simulate("a message that may have arrived keeps its id and its notifications, although it is refused later", {
  start: START,
  config: { checks: { web: {}, other: {} } },
  results: { web: "22:10 critical", other: "22:12 critical" },
  servers: { chat: "22:00 lose, 22:11 503, 22:16 up" },
  expect: {
    chat: [
      "22:10 problem web critical",
      "22:10-22:21 problem web critical again…",
      "22:16-22:21 problem other critical",
    ],
  },
});

for (
  const { name, server, text, expected, until, gapCount } of [
    {
      name: "chat",
      server: "404, 23:30 up",
      text: "problem web critical",
      expected: "23:45-00:00",
      until: "Tue 00:10",
      gapCount: 4,
    },
    {
      name: "mail",
      server: "550, 22:30 up",
      text: "[ops] web is critical: it is critical",
      expected: "22:50-22:59",
      until: "23:05",
      gapCount: 3,
    },
  ]
) {
  simulate(`calls by cron retry what ${name} rejected as rarely as a service`, {
    start: START,
    mode: "cron",
    config: { channels: name === "mail" ? MAIL : { chat: {} }, checks: { web: {} } },
    results: { web: "22:00 critical" },
    servers: { [name]: server },
    until,
    expect: { [name]: [`${expected} ${text}`] },
    log: [/rejected by .*; retrying at the first run after 2026-03-02 22:0[56]:/],
    finally: ({ trace }) => {
      const attempts = trace.events.filter(({ what, text }) => what === "attempt" && text.includes(name));
      const gaps = attempts.slice(1).map(({ atMs }, index) => atMs - (attempts[index]?.atMs ?? 0));
      assert.equal(gaps.length, gapCount);
      for (const gap of gaps) assert.ok(5 * 60_000 <= gap && gap <= 62 * 60_000, `${gap}`);
    },
  });
}

simulate("a rejected message is retried hourly", {
  start: START,
  config: { channels: MAIL, checks: { web: {} } },
  results: { web: "22:10 critical" },
  servers: { mail: "22:00 550, 23:30 up" },
  until: "00:30",
  expect: { mail: ["23:55-00:20 [ops] web is critical: it is critical"] },
  log: [/warning: the notification of "web" rejected by mail: .*550; retrying/],
});

simulate("calls of a mail server that is down say it once, and the mail has the date of the decision", {
  start: START,
  mode: "manual",
  config: { channels: MAIL, checks: { web: {} } },
  results: { web: "critical" },
  servers: { mail: "refuse, 22:10 up" },
  actions: {
    "22:00": "check --once => 2",
    "22:01": "check --once => 2",
    "22:02": "check --once => 2",
    "22:11": ["check --once => 2", "check --once => 2"],
  },
  expect: { mail: ["22:11 [ops] web is critical: it is critical"] },
  log: [/the notification of "web" not delivered to mail: .*next run/],
  finally: (world, { messages }) => {
    assert.equal(world.describeTime(messages[0]?.mail?.dateMs).slice(0, 15), "Mon 03-02 22:00");
  },
});

simulate("a service that is stopped sends what is pending, and the next one does not again", {
  start: START,
  config: { channels: MAIL, checks: { web: {} } },
  results: { web: "22:10 critical" },
  servers: { mail: "22:00 refuse, 22:11:30 up" },
  actions: { "22:12": "stop", "22:20": "start" },
  expect: { mail: ["22:11-22:12 [ops] web is critical: it is critical"] },
});

simulate("a problem and its recovery that wait for a server are one mail, and calls exit with 69", {
  start: START,
  mode: "manual",
  config: { channels: MAIL, checks: { web: {} } },
  results: { web: "critical, 22:01 ok" },
  servers: { mail: "refuse, 22:10 up" },
  actions: {
    "22:00": "check --once => 2",
    "22:02": async (world) => {
      const { code, stderr } = await world.machine().run("check", "--once");
      assert.deepEqual([code, stderr], [69, "monitor: 1 notification is pending, see: monitor status\n"]);
      assert.match((await world.machine().run("status")).stdout, /pending: ok of "web" to mail/);
    },
    "22:11": "check --once",
  },
  expect: { mail: ["22:11 [ops] web was critical for 2 min and is ok again: it is critical"] },
  finally: (_, { messages }) => {
    assert.match(messages[0]?.mail?.text ?? "", /The problem recovered before it was sent/);
  },
});

const CONDITIONS = ["unknown", "warning", "critical"] as const;
const NAMES = Array.from({ length: 90 }, (_, index) => `check ${index}`);
const SEVERITIES: readonly string[] = ["CRITICAL", "WARNING", "UNKNOWN", "OK"];

simulate("90 checks that fail at once are one email, as is their recovery", {
  start: START,
  mode: "manual",
  config: { channels: MAIL, checks: Object.fromEntries(NAMES.map((name) => [name, {}])) },
  results: Object.fromEntries(NAMES.map((name, index) => [name, `${CONDITIONS[index % 3]}, 22:10 ok`])),
  actions: { "22:00": "check --once => 2", "22:20": "check --once" },
  expect: { mail: "any" },
  finally: (_, { messages: [problem, recovery, ...others] }) => {
    assert.deepEqual(others, []);
    const SUBJECT =
      /^\[ops\] 90 checks have a problem \(30 CRITICAL, 30 WARNING, 30 UNKNOWN\): check \d+, .*, and 8\d more$/;
    assert.match(problem?.text ?? "", SUBJECT);
    assert.match(recovery?.text ?? "", /^\[ops\] 90 checks are ok again: check \d+, .*, and 8\d more$/);
    const words = (problem?.mail?.text ?? "").split("\n").flatMap((line) =>
      /^ {2}([A-Z]+)(?: for .*)?, since /.exec(line)?.[1] ?? []
    );
    assert.equal(words.length, 90);
    const rank = (word: string): number => SEVERITIES.indexOf(word);
    assert.deepEqual(words, words.toSorted((one, other) => rank(one) - rank(other)));
    assert.ok(recovery?.mail?.references.includes(problem?.mail?.messageId ?? "none"), "they are a thread");
    for (const { mail } of [problem, recovery].filter((one) => one !== undefined)) {
      assert.ok((mail?.text ?? "").length < 27_000, "a few lines each");
      for (const name of NAMES) assert.match(mail?.text ?? "", new RegExp(`^${name} (?:is|has) `, "m"));
    }
  },
});

simulate("a notification is sent while a slower check runs, and a kill loses no finished check", {
  start: START,
  mode: "manual",
  config: { checks: { bad: {}, good: {}, slow: { timeout: 600 } } },
  results: { bad: "critical", slow: "ok slow 5min, 22:30 ok" },
  actions: {
    "22:00": (world) => void world.machine().start("check", "--once"),
    "22:02": async (world) => {
      world.machine().programs.forEach((program) => program.signal("SIGKILL"));
      const { stdout } = await world.machine().run("status", "--format", "json");
      const { checks } = JSON.parse(stdout) as { checks: { name: string; condition: string }[] };
      assert.deepEqual(checks.map(({ name, condition }) => [name, condition]), [
        ["bad", "critical"],
        ["good", "ok"],
        ["slow", "unknown"],
      ]);
    },
    "22:31": "check --once => 2",
  },
  expect: { chat: ["22:00 problem bad critical"] },
});

simulate("a mail server that accepts and never answers delays no check", {
  start: START,
  config: { channels: MAIL, checks: Object.fromEntries(NAMES.slice(0, 5).map((name) => [name, {}])) },
  results: Object.fromEntries(NAMES.slice(0, 5).map((name) => [name, "22:00 critical"])),
  servers: { mail: "hang" },
  until: "22:25",
  expect: { mail: "any" },
  finally: ({ runs }) => {
    for (const [check, count] of runs) assert.ok(count >= 30 && count <= 31, `${check} ran ${count} times`);
  },
});
