/** Configs that change under a service, and channels that change under what is pending. */
import assert from "node:assert/strict";
import { simulate, type World } from "../../testing/simulation/mod.ts";

const START = "2026-03-02 21:55";
const PATH = "/etc/monitor/monitor.jsonc";

/** The events that the service has printed, such as `reload`, without what is the same each time. */
function eventsOf({ trace }: World, kind: string): readonly Record<string, unknown>[] {
  return trace.events.filter(({ what, text }) => what === kind && text.startsWith("{")).map(({ text }) =>
    JSON.parse(text)
  );
}

simulate("a valid config is adopted, and unchanged checks keep their counts and their offset", {
  start: START,
  config: { checks: { web: { threshold: 30 }, gone: {}, turned: {} } },
  results: { web: "22:00 critical", turned: "22:00 critical" },
  actions: {
    "22:05": [
      {
        config: {
          checks: { web: { threshold: 30 }, turned: { title: "Turned" }, added: {}, off: { active: false } },
        },
      },
      "reload",
    ],
  },
  until: "22:45",
  expect: { chat: ["22:00 problem turned critical", "22:29 problem web critical"] },
  log: ['config reloaded: 3 checks, 1 added ("added"), 1 changed ("turned"), 1 removed ("gone")'],
  finally: (world) => {
    assert.deepEqual(eventsOf(world, "reload"), [
      {
        adopted: true,
        checks: 3,
        inactive: 1,
        added: ["added"],
        changed: ["turned"],
        removed: ["gone"],
        settings: [],
      },
    ]);
    assert.equal(world.runs.get("web"), 50, "each minute, also around the reload");
    assert.equal(world.runs.get("gone"), 10);
  },
});

simulate("errors are logged at their places and the old config stays active, until it is fixed", {
  start: START,
  config: { checks: { fine: {} } },
  results: { fine: "22:06 critical", added: "critical" },
  actions: {
    "22:05": [
      {
        config:
          '{\n  "defaults": { "threshold": 0 },\n  "checks": { "fine": { "kind": "tset", "parameters": {} } }\n}\n',
      },
      "reload",
    ],
    "22:10": [{ config: { checks: { fine: {}, added: {} } } }, "reload"],
    "22:20": [(world) => world.machine().files.delete(PATH), "reload"],
    "22:30": "stop",
  },
  expect: { chat: ["22:06 problem fine critical", "22:10-22:11 problem added critical"] },
  log: [
    "error: /etc/monitor/monitor.jsonc:2:30: defaults.threshold: is 0",
    'error: /etc/monitor/monitor.jsonc:3:33: checks.fine.kind: is "tset"',
    'config not reloaded, the old one stays active: cannot use config "/etc/monitor/monitor.jsonc": 2 errors',
    "config not reloaded, the old one stays active: cannot find a config",
  ],
  finally: (world) => {
    const [invalid, fixed, missing, ...others] = eventsOf(world, "reload");
    assert.deepEqual(others, []);
    assert.deepEqual(invalid, {
      adopted: false,
      error: 'cannot use config "/etc/monitor/monitor.jsonc": 2 errors',
      first: "/etc/monitor/monitor.jsonc:2:30: defaults.threshold: is 0, expected 1 or more",
    });
    assert.equal(fixed?.["adopted"], true);
    assert.match(String(missing?.["error"]), /^cannot find a config/);
  },
});

const LISTENING = { listen: { address: "127.0.0.1:9797" }, checks: { fine: {} } };
const BROKEN = JSON.stringify({ defaults: { threshold: 0 }, checks: {} });

simulate("a failed reload is shown by the page, by status and by reload, until one succeeds", {
  start: START,
  zone: "Europe/Berlin",
  config: LISTENING,
  actions: {
    "22:05": [{ config: BROKEN }, async (world) => {
      const { code, stderr } = await world.machine().run("reload");
      assert.equal(code, 78);
      assert.match(stderr, /not reloaded: .* 1 error; the first one is .*:1:26: defaults\.threshold: is 0/);
    }],
    "22:10": async (world) => {
      const since = "2026-03-02 22:05";
      assert.match(
        await pageOf(world),
        new RegExp(`The config was not reloaded at .*${since}.*defaults\\.threshold`),
      );
      const { stdout } = await world.machine().run("status");
      assert.match(
        stdout,
        new RegExp(`^config: not reloaded at ${since}:00 \\+01:00, .*threshold: is 0`, "m"),
      );
      const plugin = await world.machine().run("status", "--format", "plugin");
      assert.match(
        plugin.stdout,
        new RegExp(
          `^MONITOR OK - config: not reloaded at ${since}:00 \\+01:00, .*threshold: is 0.*; 1 check ok \\|`,
        ),
      );
      const { monitor } = JSON.parse((await world.machine().run("status", "--format", "json")).stdout);
      assert.equal(monitor.reload_failed_at.slice(0, 16), "2026-03-02T21:05");
      assert.match(await pageOf(world, "/metrics"), /^monitor_config_last_reload_successful 0$/m);
    },
    "22:15": [{ config: LISTENING }, "reload"],
    "22:20": async (world) => {
      assert.doesNotMatch(await pageOf(world), /not reloaded/);
      assert.match(await pageOf(world, "/metrics"), /^monitor_config_last_reload_successful 1$/m);
    },
  },
  log: ["error: config not reloaded, the old one stays active"],
});

async function pageOf(world: World, path = "/"): Promise<string> {
  const response = await world.machine().request(path);
  return String(response?.body);
}

const INCLUDED = "/etc/monitor/conf.d";
const SCRIPT = { kind: "script", parameters: { path: "/bin/probe" } };

simulate("included files are read again, and those that a pattern matches now", {
  start: START,
  config: { include: "conf.d/*.json", checks: { own: {} } },
  mode: "manual",
  actions: {
    "22:00": [(world) => include(world, "a.json", { a: SCRIPT }), "start"],
    "22:05": [
      (world) => {
        include(world, "a.json", { a: { ...SCRIPT, title: "A" } });
        include(world, "b.json", { b: SCRIPT });
      },
      "reload",
    ],
    "22:10": [(world) => include(world, "b.json", { a: SCRIPT }), "reload"],
  },
  log: [
    '/etc/monitor/conf.d/b.json:1:12: checks.a: the name "a" is already defined in /etc/monitor/conf.d/a.json:1:12',
  ],
  until: "22:20",
  finally: (world) => {
    const [read, refused] = eventsOf(world, "reload");
    assert.deepEqual([read?.["added"], read?.["changed"], read?.["removed"]], [["b"], ["a"], []]);
    assert.equal(refused?.["adopted"], false);
    assert.ok((world.runs.get("b") ?? 0) >= 14, "the old config goes on");
  },
});

function include(world: World, name: string, checks: unknown): void {
  world.machine().files.put(`${INCLUDED}/${name}`, JSON.stringify({ checks }));
}

simulate("a hangup before the config is read is not lost", {
  start: START,
  mode: "manual",
  config: { checks: { fine: {} } },
  actions: {
    "22:00": async (world) => {
      const service = world.machine().start("check", "--format", "ndjson");
      await world.until(() => service.reloadListeners.size > 0, "the first moment");
      service.signal("SIGHUP");
    },
  },
  finally: (world) => assert.equal(eventsOf(world, "reload").length, 1),
});

simulate("a config from stdin cannot be read again", {
  start: START,
  mode: "manual",
  config: { checks: {} },
  actions: {
    "22:00": (world) => {
      const stdin = JSON.stringify({ defaults: {}, checks: { fine: SCRIPT } });
      world.machine().startWith({ args: ["check", "--config", "-", "--format", "ndjson"], stdin });
    },
    "22:05": "reload",
  },
  until: "22:10",
  log: ["the config is read from stdin and cannot be reloaded"],
  finally: (world) => assert.equal(world.runs.get("fine"), 11),
});

simulate("another state waits for a restart, and a config that is found instead is not used", {
  start: START,
  config: { checks: { fine: {} } },
  actions: {
    "22:00": [{ config: { state: "other.sqlite", checks: { fine: {} } } }, "reload"],
    "22:05": [
      (world) => {
        const { files } = world.machine();
        files.put("/etc/monitor/monitor.json", files.textOf(PATH));
        files.delete(PATH);
      },
      "reload",
    ],
  },
  log: [
    'the state path is now "/etc/monitor/other.sqlite"; restart to use it',
    'another config, "/etc/monitor/monitor.json", is found now instead of "/etc/monitor/monitor.jsonc"',
  ],
});

const WEB = { checks: { web: {} } };
const TO = (name: string, others = {}): Record<string, unknown> => ({
  parameters: { target: `http://${name}.example/` },
  ...others,
});

simulate("a channel that is new is sent a problem that goes on, and the others are not again", {
  start: START,
  config: { channels: { chat: {} }, ...WEB },
  results: { web: "22:00 critical" },
  actions: { "22:10": [{ config: { channels: { chat: {}, new: {} }, ...WEB } }, "reload"] },
  expect: { chat: ["22:00 problem web critical"], new: ["22:10-22:11 problem web critical"] },
});

simulate("what an edited channel rejected goes to its new receiver, and its recovery too", {
  start: START,
  config: { channels: { chat: TO("old") }, ...WEB },
  results: { web: "22:00 critical, 22:30 ok" },
  servers: { old: "404" },
  actions: { "22:10": [{ config: { channels: { chat: TO("new") }, ...WEB } }, "reload"] },
  expect: { new: ["22:10 problem web critical", "22:30 recovery web ok"] },
  log: [/the notification of "web" rejected by chat: status is 404/],
});

simulate("an edited channel of the same name gets what may have arrived under the same id", {
  start: START,
  config: {
    channels: { chat: TO("old", { parameters: { target: "http://old.example/", timeout: 1 } }) },
    ...WEB,
  },
  results: { web: "22:00 critical, 22:30 ok" },
  servers: { old: "slow 2s" },
  actions: {
    // Another host, timeout and position in the list: only the name identifies it.
    "22:00:05": [
      {
        config: {
          channels: { chat: TO("new"), lines: { kind: "console" } },
          defaults: { notifications: ["lines", "chat"] },
          ...WEB,
        },
      },
      "reload",
    ],
  },
  expect: {
    old: ["22:00 problem web critical"],
    new: ["22:00 problem web critical", "22:30 recovery web ok"],
  },
  finally: (_, { messages: [first, second] }) => assert.equal(first?.id, second?.id),
});

simulate("a restart sends what is pending to a channel of the same name and another kind", {
  start: START,
  mode: "manual",
  config: { channels: { admins: { kind: "email" } }, checks: { web: {}, mail: {} } },
  results: { web: "critical, 22:20 ok", mail: "critical" },
  servers: { admins: "refuse, 22:05 up" },
  actions: {
    "22:00": "check --once => 2",
    "22:10": [{ config: { channels: { admins: {} }, checks: { web: {}, mail: {} } } }, "check --once => 2"],
    "22:30": "check --once => 2",
  },
  expect: { admins: "any" },
  log: [/2 notifications of "(?:web", "mail|mail", "web)" not delivered to admins: /],
  finally: (_, { messages }) => {
    const items = messages.map(({ items }) =>
      items.map(({ check, condition }) => `${check} ${condition}`).sort()
    );
    assert.deepEqual(items, [["mail critical", "web critical"], ["web ok"]]);
  },
});

simulate("what a check without the channel had pending is dropped and logged once", {
  start: START,
  mode: "manual",
  config: { channels: { one: {} }, ...WEB },
  results: { web: "critical" },
  servers: { one: "503", two: "503" },
  actions: {
    "22:00": "check --once => 2",
    "22:05": [{ config: { channels: { two: {} }, ...WEB } }, "check --once => 2"],
    "22:10": [{ config: { channels: {}, ...WEB } }, "check --once => 2", "check --once => 2"],
  },
  log: [
    'the notification of "web" to one dropped: its check no longer has this channel',
    'the notification of "web" to two dropped: its check no longer has this channel',
  ],
  finally: ({ trace }) => {
    const attempts = trace.events.filter(({ what }) => what === "attempt").map(({ text }) => text);
    assert.deepEqual(attempts, ["POST one.example: 503", "POST two.example: 503"]);
  },
});

/** A check that left the config is no longer checked, which the channels are sent that are still there. */
const ENDED = "22:20 recovery web unknown (missed critical)";
const INCLUDING = { include: "conf.d/*.json", checks: {} };

const AWAY: Readonly<Record<string, (world: World) => void>> = {
  "its channel": (world) => write(world, { web: { ...SCRIPT, notifications: [] } }),
  "its check": (world) => write(world, { other: SCRIPT }),
  "all of it, as with another config on the same state,": (world) => {
    world.machine().files.put("/etc/monitor/monitor.jsonc", JSON.stringify({ checks: { other: SCRIPT } }));
  },
  "the file that has it": (world) => world.machine().files.put(`${INCLUDED}/web.json`, "{}"),
};

function write(world: World, checks: unknown): void {
  world.machine().files.put(`${INCLUDED}/web.json`, JSON.stringify({ checks }));
}

for (const [name, leave] of Object.entries(AWAY)) {
  const isEnded = name === "its check" || name === "the file that has it";
  simulate(`what was pending arrives, although ${name} was away from the config for one call`, {
    start: START,
    mode: "manual",
    config: INCLUDING,
    results: { web: "critical, 22:30 ok" },
    servers: { chat: "503, 22:15 up" },
    actions: {
      "22:00": [(world) => write(world, { web: SCRIPT }), "check --once --due => 2"],
      "22:10": [leave, (world) => void world.machine().start("check", "--once", "--due")],
      "22:20": [{ config: INCLUDING }, (world) => write(world, { web: SCRIPT }), "check --once => 2"],
      "22:40": ["check --once", "check --once"],
    },
    expect: { chat: [...isEnded ? [ENDED] : [], "22:20 problem web critical", "22:40 recovery web ok"] },
  });
}

/** A check of a host, every hour. */
function hourly(host: string, others = {}): Record<string, unknown> {
  return {
    kind: "http_request",
    // Commands that only read have no secrets.
    parameters: { request: { target: `http://${host}.example/`, headers: { token: "${env:TOKEN}" } } },
    schedule: { regular_interval: "1 hour", attentive_interval: "1 hour" },
    threshold: 2,
    ...others,
  };
}

const edit = (host: string, others = {}) => ({ config: { checks: { web: hourly(host, others) } } });

simulate("an edited check runs at once, and what is known of it begins then", {
  start: START,
  environment: { TOKEN: "secret" },
  config: { checks: { web: hourly("one") } },
  results: { two: "critical", three: "ok" },
  actions: {
    "22:56": "status web",
    "22:57": [edit("one", { title: "Web" }), "reload"],
    "22:58": ["status web", edit("two"), "reload"],
    // Not ok from before, and no problem yet.
    "22:59": ["status web => 3", edit("one"), "reload"],
    "23:01": ["status web", "stop", edit("two")],
    "23:02": "start",
    "23:03": ["status web => 3", "kill", edit("three")],
    "23:04": "start",
    "23:05": async (world) => {
      const { code, stdout } = await world.machine().run("status", "web");
      assert.deepEqual([code, /since 2026-03-02 23:04/.test(stdout)], [0, true], stdout);
    },
    "23:30": [edit("two"), "reload"],
  },
  until: "2026-03-03 00:45",
  expect: { chat: ["00:25-00:35 problem web critical"] },
});

simulate("an edited check with a cron schedule is not observed until its time", {
  start: START,
  environment: { TOKEN: "secret" },
  config: { checks: { web: hourly("one", { schedule: { cron: "0 3 * * *" } }) } },
  actions: {
    "Tue 10:00": [edit("two", { schedule: { cron: "0 3 * * *" } }), "reload"],
    "Wed 02:00": async (world) => {
      assert.equal(await observedMs(world), 0);
      const { stdout } = await world.machine().run("summary");
      assert.match(stdout, /^There is no data; 1 is unknown now\.$/m);
    },
    "Wed 04:00": async (world) => {
      const ms = await observedMs(world);
      assert.ok(ms > 3_590_000 && ms < 3_610_000, String(ms));
    },
  },
});

for (const way of ["reload", "restart"] as const) {
  simulate(`a group that runs rarely is pending once a check of it was edited, by a ${way}`, {
    start: START,
    environment: { TOKEN: "secret" },
    ...rarely("one"),
    actions: {
      "Tue 10:00": ["status", rarely("two"), ...way === "reload" ? ["reload"] : ["stop", "start"]],
      "Tue 10:01": async (world) => {
        const { stdout } = await world.machine().run("status", "all");
        assert.match(stdout, /^PENDING +all +0 of 1 ok, expected all: "web" did not run$/m);
      },
    },
  });
}

function rarely(host: string): { readonly config: Record<string, unknown> } {
  const schedule = { regular_interval: "6 hours" };
  const web = hourly(host, { schedule: { cron: "0 3 * * *" } });
  return { config: { checks: { web, all: { kind: "group", parameters: { checks: ["web"] }, schedule } } } };
}

async function observedMs(world: World): Promise<number> {
  const { stdout } = await world.machine().run("history", "web", "--format", "json");
  return JSON.parse(stdout).spans.week.observed_ms;
}

simulate("an edited check is unknown until it has run, whatever shows it", {
  start: START,
  mode: "cron",
  environment: { TOKEN: "secret" },
  config: { checks: { web: hourly("one"), all: { kind: "group", parameters: { checks: ["web"] } } } },
  results: { two: "critical" },
  actions: {
    "22:10:30": [
      "status web all",
      { config: { checks: { web: hourly("two"), all: { kind: "group", parameters: { checks: ["web"] } } } } },
      async (world) => {
        for (const name of ["web", "all"]) {
          const { code, stdout } = await world.machine().run("status", name);
          assert.deepEqual([code, /not run since it was edited, was ok/.test(stdout)], [3, true], stdout);
        }
      },
    ],
    "22:11:30": "status web all => 3",
  },
  until: "23:12",
  expect: { chat: ["23:01-23:11 problem web critical, problem all critical"] },
});

simulate("a group does not wait for the cron time of an edited check, nor does a check that depends on it", {
  start: "2026-03-03 02:50",
  config: groupsOf("one"),
  results: { alone: "ok, 03:10 critical", child: "ok, 03:10 critical" },
  actions: { "03:05": [{ config: groupsOf("two") }, "reload"] },
  until: "03:45",
  expect: {
    chat: ["03:10-03:11 problem alone critical, problem any unknown", "03:10-03:11 problem child critical"],
  },
});

function groupsOf(edited: string): Record<string, unknown> {
  const script = (name: string, others = {}) => ({
    kind: "script",
    parameters: { path: "/bin/probe", arguments: [name] },
    ...others,
  });
  const group = (checks: readonly string[], others = {}) => ({
    kind: "group",
    parameters: { checks, ...others },
  });
  return {
    checks: {
      nightly: script(edited, { schedule: { cron: "0 3 * * *" } }),
      alone: script("alone"),
      any: group(["alone", "nightly"], { require: "any" }),
      fine: {},
      all: group(["fine", "nightly"]),
      child: script("child", { depends_on: ["all"] }),
    },
  };
}

simulate("failures from before an edit do not count for calls by cron either", {
  start: START,
  mode: "cron",
  environment: { TOKEN: "secret" },
  config: { checks: { web: hourly("one", { threshold: 3, schedule: { regular_interval: "1 minute" } }) } },
  results: { one: "ok, 22:00 critical", two: "critical" },
  actions: {
    "22:01:30": {
      config: {
        checks: { web: hourly("two", { threshold: 3, schedule: { regular_interval: "1 minute" } }) },
      },
    },
  },
  expect: { chat: ["22:04 problem web critical"] },
});

simulate("calls with configs that differ confirm a problem that all of them find", {
  start: START,
  mode: "cron",
  environment: { TOKEN: "secret" },
  config: { checks: { web: hourly("one", { threshold: 3 }) } },
  results: { one: "ok, 22:00 critical", two: "ok, 22:00 critical" },
  actions: Object.fromEntries(
    Array.from(
      { length: 10 },
      (_, index) => [`22:0${index}:30`, edit(index % 2 === 0 ? "two" : "one", { threshold: 3 })],
    ),
  ),
  until: "22:12",
  expect: { chat: ["22:03 problem web critical"] },
});

simulate("a recovery that was held back is not sent for a check that was edited since", {
  start: START,
  environment: { TOKEN: "secret" },
  config: { checks: { web: flappy("one", { flapping: "once" }) } },
  results: {
    one: `critical, ${
      Array.from({ length: 25 }, (_, index) => `22:${10 + index} ${index % 2 === 0 ? "ok" : "critical"}`)
        .join(", ")
    }`,
    two: "critical",
  },
  actions: { "22:34:30": ["status web", { config: { checks: { web: flappy("two") } } }, "reload"] },
  until: "22:40",
  expect: {
    chat: [
      "21:55 problem web critical",
      "22:10 recovery web ok",
      "22:11 problem web critical",
      "22:12 recovery web ok",
      "22:13 problem web critical",
      "22:14 recovery web ok",
      "22:15 problem web critical (flapping)",
    ],
  },
});

function flappy(host: string, others = {}): Record<string, unknown> {
  const schedule = { regular_interval: "1 minute", attentive_interval: "1 minute" };
  return hourly(host, { schedule, threshold: 1, ...others });
}

simulate("an edited config shows what the service still runs, until a reload", {
  start: START,
  environment: { TOKEN: "secret" },
  config: { state: "kept.sqlite", checks: { web: hourly("one"), gone: {}, off: {} } },
  results: { gone: "22:00 critical" },
  actions: {
    "22:30": [
      { config: { state: "kept.sqlite", checks: { web: hourly("two"), off: { active: false }, added: {} } } },
      async (world) => {
        const run = async (...args: readonly string[]): Promise<{ code: number; stdout: string }> =>
          await world.machine().run(...args);
        const { code, stdout } = await run("status");
        assert.equal(code, 2, stdout);
        assert.match(stdout, /^OK +off /m);
        assert.match(stdout, /^OK +web /m);
        assert.match(stdout, /^CRITICAL +gone /m);
        assert.match(stdout, /^UNKNOWN +added +never ran$/m);
        assert.match(stdout, /^config: edited since it was loaded .* reload it with: monitor reload$/m);
        assert.equal((await run("status", "gone", "--format", "plugin")).code, 2);
        assert.equal((await run("status", "web", "--format", "json")).code, 0);
        assert.doesNotMatch((await run("history", "web")).stdout, /since it was edited/);
        const summary = JSON.parse((await run("summary", "--format", "json")).stdout);
        assert.deepEqual([summary.checks_still_down, summary.unknown.items.length], [1, 0]);
        assert.match(
          (await run("report")).stdout,
          /<h2 id=problems>[^]*<i>Critical<\/i><h3>gone<\/h3>/,
        );
        assert.equal((await run("acknowledge", "gone")).code, 0);
        assert.equal((await run("silence", "added", "--for", "1h")).code, 0);
      },
      "reload",
    ],
    "22:30:30": "status gone => 64",
  },
  until: "22:31",
  expect: { chat: ["22:00 problem gone critical", "22:30 recovery gone unknown"] },
});

simulate("a check that a reload edited is unknown until it has run, also after a further edit", {
  start: START,
  environment: { TOKEN: "secret" },
  ...rarely("one"),
  actions: {
    "Tue 10:00": [rarely("two"), "reload"],
    "Tue 10:01": [rarely("three"), "status web => 3", rarely("two"), "status web => 3"],
    "Wed 04:00": [rarely("three"), "status web"],
  },
});
