/** What `monitor why` says, and that it is what decides. */
import assert from "node:assert/strict";
import { type Scenario, simulate, type World } from "../../testing/simulation/mod.ts";

const START = "2026-03-02 21:55";

/** Returns what holds the notification of each channel back, or what it was notified of. */
async function why(world: World, name = "web"): Promise<Readonly<Record<string, string>>> {
  const { code, stdout } = await world.machine().run("why", name, "--format", "json");
  assert.equal(code, 0, stdout);
  const { channels } = JSON.parse(stdout) as {
    readonly channels: readonly {
      readonly channel: string;
      readonly notified: string;
      readonly certain: boolean;
      readonly due: string | null;
      readonly causes: readonly { readonly kind: string }[];
      readonly queued: readonly { readonly state: string }[];
    }[];
  };
  return Object.fromEntries(channels.map(({ channel, notified, certain, due, causes, queued }) => [
    channel,
    queued.length > 0
      ? queued.map(({ state }) => state).join(", ")
      : due === null
      ? `${notified}${certain ? "" : "?"}`
      : `${due}: ${causes.map(({ kind }) => kind).join(", ")}`,
  ]));
}

const CHANNELS = {
  chat: {},
  late: { after: "30 minutes" },
  critical: { conditions: ["critical"] },
  night: { hours: [{ from: "23:00", to: "23:30" }] },
  ends: { events: ["recovery"] },
};

simulate("why names for each channel what holds a notification back", {
  start: START,
  config: { channels: CHANNELS, checks: { web: {}, router: {} } },
  results: { web: "22:00 warning" },
  actions: {
    "22:10": async (world) => {
      assert.deepEqual(await why(world), {
        chat: "warning",
        late: "problem: after",
        critical: "problem: conditions",
        night: "problem: hours",
        ends: "warning?",
      });
      assert.deepEqual(await why(world, "router"), {
        chat: "ok",
        late: "ok",
        critical: "ok",
        night: "ok",
        ends: "ok",
      });
      const { stdout } = await world.machine().run("why", "web", "--channel", "late");
      assert.match(
        stdout,
        /^web: warning since .*\n.*: warning: it is warning\n\nlate {2}problem not sent:\n {6}- "after": in 20 min(?: \d s)?\n$/,
      );
    },
    "22:11": "acknowledge web",
    "22:40": async (world) => {
      assert.equal((await why(world))["late"], "problem: acknowledgement");
    },
  },
  until: "22:41",
  expect: { chat: ["22:00 problem web warning"] },
});

const CAUSES: Readonly<
  Record<string, Pick<Scenario, "results" | "actions"> & { readonly check?: object; readonly causes: string }>
> = {
  threshold: { check: { threshold: 90 }, causes: "problem: threshold" },
  silence: { actions: { "21:58": "silence web --for 1h" }, causes: "problem: silence" },
  "a silence of a problem that may be over": {
    check: { recovery_threshold: 90 },
    results: { web: "22:00 critical, 22:05 ok" },
    actions: { "21:58": "silence web --for 1h" },
    causes: "problem: silence, recovering",
  },
  "several silences": {
    actions: { "21:58": ["silence web --for 1h", "silence --all --for 1h"] },
    causes: "problem: silence, silence",
  },
  "a window by hand": {
    actions: { "21:58": "maintenance start web --for 1h" },
    causes: "problem: maintenance",
  },
  "a window and a silence": {
    actions: { "21:58": ["maintenance start web --for 1h", "silence web --for 1h"] },
    causes: "problem: silence, maintenance",
  },
  dependency: {
    check: { depends_on: ["router"] },
    results: { web: "22:00 critical", router: "21:57 critical" },
    causes: "problem: depends_on",
  },
};

simulate("why names the delay of a channel for a condition that it lists", {
  start: START,
  config: {
    channels: { chat: {}, pager: { conditions: ["critical"], after: "10 minutes" } },
    checks: { web: { threshold: 1 } },
  },
  results: { web: "22:00 warning, 22:11 critical" },
  actions: {
    "22:15": async (world) => {
      assert.equal((await why(world))["pager"], "problem: after");
    },
  },
  until: "22:16",
  expect: { chat: "any" },
});

for (const [name, { check = {}, results = {}, actions = {}, causes }] of Object.entries(CAUSES)) {
  simulate(`why names ${name}`, {
    start: START,
    config: { checks: { web: check, router: {} } },
    results: { web: "22:00 critical", ...results },
    actions: {
      ...actions,
      "22:10": async (world) => {
        assert.equal((await why(world))["chat"], causes);
      },
    },
    until: "22:11",
    expect: { chat: "any" },
  });
}

simulate("why names what waits for a channel, and nothing while no service runs", {
  start: START,
  config: { checks: { web: {} } },
  results: { web: "22:00 critical" },
  servers: { chat: "22:00 refuse" },
  actions: {
    "22:10": async (world) => {
      assert.deepEqual(await why(world), { chat: "pending" });
    },
    "22:11": "kill",
    "22:20": async (world) => {
      const { stdout } = await world.machine().run("why", "web");
      assert.match(
        stdout,
        /^web: unknown \(monitor terminated unexpectedly, last seen .* ago, was critical\)\n/,
      );
    },
    "22:21": "why wbe => 64",
    "22:22": "why web --channel sms => 64",
  },
  until: "22:23",
  expect: {},
});

simulate("why does not call a channel notified of what it left out, once it leaves nothing out", {
  start: START,
  config: { channels: { ends: { events: ["recovery"] } }, checks: { web: {} } },
  results: { web: "22:00 warning, 22:20 critical" },
  actions: {
    "22:10": [{ config: { channels: { ends: {} }, checks: { web: {} } } }, "reload"],
    "22:11": async (world) => {
      assert.deepEqual(await why(world), { ends: "warning?" });
      const { stdout } = await world.machine().run("why", "web");
      assert.match(stdout, /^ends {2}warning was decided, but not sent: "events" left it out$/m);
    },
    "22:21": async (world) => assert.deepEqual(await why(world), { ends: "critical" }),
  },
  until: "22:22",
  expect: { ends: ["22:20 change web critical"] },
});

simulate("why and history show what was sent to a channel, and its answer", {
  start: START,
  config: { checks: { web: {}, dns: {} } },
  results: { web: "22:00 critical, 22:30 ok, 22:50 warning, 22:51 ok", dns: "22:00 critical" },
  servers: { chat: "22:50 404, 23:00 up" },
  actions: {
    "22:40": async (world) => {
      const { stdout } = await world.machine().run("why", "web");
      assert.match(
        stdout,
        /^chat {2}nothing is due: it is ok\n {6}sent recovery at .*22:3\d.*, accepted\n {6}sent critical at .*22:0\d.*, accepted\n$/m,
      );
    },
    "00:30": async (world) => {
      const { stdout } = await world.machine().run("why", "web", "--format", "json");
      const [last] = JSON.parse(stdout).channels[0].deliveries;
      const { at, decided_at, first_failed_at } = last;
      const times = [at, decided_at, first_failed_at].map((time) => time.slice(11, 16));
      assert.deepEqual(times, ["23:05", "22:51", "22:50"]);
      assert.deepEqual({ ...last, message_id: "" }, {
        at,
        channel: "chat",
        event: "recovery",
        condition: "ok",
        missed_problem: "warning",
        decided_at,
        first_failed_at,
        outcome: "accepted",
        answer: "",
        message_id: "",
        message_size: 1,
        summarized: 0,
        cause: null,
      });
      const { stdout: text } = await world.machine().run("history", "--deliveries", "web");
      assert.match(
        text,
        new RegExp([
          "\ndeliveries, newest first:",
          "  .*chat: sent warning and its recovery, accepted",
          "  .*chat: sent warning, rejected: status is 404",
          "  .*chat: sent recovery, accepted",
          "  .*chat: sent critical, accepted\n$",
        ].join("\n")),
      );
    },
  },
  until: "00:31",
  expect: { chat: "any" },
});

simulate("why prints the time of the next reminder, and the settings that suppress it", {
  start: START,
  config: {
    channels: { chat: {}, quiet: { events: ["problem", "recovery"] } },
    checks: { web: { reminders: "1 hour" } },
  },
  results: { web: "22:00 critical" },
  actions: {
    "22:10": async (world) => {
      const { stdout } = await world.machine().run("why", "web");
      assert.match(
        stdout,
        /\nchat {3}notified of critical\n.*\n {7}next reminder at 2026-03-02 22:54:\d\d UTC\n/,
      );
      assert.match(
        stdout,
        /\n {7}reminder at 2026-03-02 22:54:\d\d UTC not sent:\n {7}- "events": this channel is sent only problem and recovery\n$/,
      );
    },
    "23:00": "acknowledge web",
    "23:10": async (world) => {
      const { stdout } = await world.machine().run("why", "web", "--format", "json");
      const [{ reminder }] = JSON.parse(stdout).channels;
      assert.equal(reminder.due_at.slice(0, 15), "2026-03-02T23:4");
      assert.deepEqual(reminder.causes.map(({ kind }: { readonly kind: string }) => kind), [
        "acknowledgement",
      ]);
    },
  },
  until: "23:11",
  expect: { chat: ["22:00 problem web critical", "22:54 reminder web critical"], quiet: "any" },
});

// The page of a check has the explanation of `monitor why`.

const TOKEN = "sesame-open-sesame";

/** Returns the lines of the explanation on a page. */
async function whyOf(world: World, name: string): Promise<readonly string[]> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const response = await world.machine().request(`/checks/${name}`, { headers });
  if (response === null) throw new Error("nothing listens");
  const { status, body } = response;
  assert.equal(status, 200, body);
  const [, part = ""] = /<details class=why>.*?<ul class=e>(.*?)<\/ul>/s.exec(body) ?? [];
  return part.split("<li>").slice(1).map((line) =>
    line.replaceAll(/<[^>]*>|\n/g, "").replaceAll("&quot;", '"')
  );
}

simulate("the page of a check explains why its channels were, or were not, notified", {
  start: "2026-03-02 21:55",
  config: {
    listen: { address: "127.0.0.1:9797", token: TOKEN, public: ["site"] },
    channels: { chat: {}, pager: { after: "30 minutes" } },
    checks: { web: { tags: ["site"] }, db: { tags: ["site"] } },
  },
  results: { web: "22:00 critical" },
  actions: {
    "21:59": async (world) => assert.deepEqual(await whyOf(world, "web"), []),
    "22:10": async (world) => {
      const [chat = "", pager = ""] = await whyOf(world, "web");
      assert.equal(chat, "chat notified of critical");
      assert.match(pager, /^pager problem not sent: "after": in (?:19|20) min/);
      const open = await world.machine().request("/checks/web");
      assert.equal(open?.status, 401, "the page of a check is not public");
      assert.deepEqual(await whyOf(world, "db"), []);
    },
    "22:11": "silence db --for 1h",
    "22:12": async (world) => {
      assert.deepEqual(await whyOf(world, "db"), [
        "chat nothing is due: it is ok",
        "pager nothing is due: it is ok",
      ]);
    },
  },
  until: "22:13",
  expect: { chat: ["22:00 problem web critical"] },
});

// With the URL of the page, each message has a link to the page of its check.

const LINK = "https://status.example.org/monitor/checks/web%20%26%20more";

simulate("messages have a link to the page of their check", {
  start: "2026-03-02 21:55",
  config: {
    page: { url: "https://status.example.org/monitor" },
    channels: {
      chat: {},
      mail: { kind: "email" },
      call: { kind: "command" },
      short: { parameters: { body: { text: "{{check}} {{url}}" } } },
    },
    checks: { "web & more": {} },
  },
  results: { "web & more": "22:00 critical" },
  until: "22:05",
  expect: { chat: "any", mail: "any", call: "any", short: "any" },
  actions: {
    "22:03": async (world) => {
      const { code } = await world.machine().run("notify", "chat");
      assert.equal(code, 0);
    },
  },
  finally: (_, { messages }) => {
    const linkOf = (name: string) => messages.find(({ channel }) => channel === name)?.items[0]?.url;
    assert.deepEqual([linkOf("chat"), linkOf("call")], [LINK, LINK]);
    const [mail] = messages.flatMap((message) => message.mail ?? []);
    assert.match(mail?.text ?? "", new RegExp(`^Page: ${LINK}$`, "m"));
    const [short] = messages.filter(({ channel }) => channel === "short");
    assert.equal(short?.request?.body, JSON.stringify({ text: `web & more ${LINK}` }));
    const test = messages.filter(({ channel }) => channel === "chat").at(-1);
    assert.equal(test?.items[0]?.url, LINK);
  },
});
