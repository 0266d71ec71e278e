/** Problems with a common cause are one message. */
import assert from "node:assert/strict";
import { campaign, testSeed } from "../../testing/seed.ts";
import { simulate, type World } from "../../testing/simulation/mod.ts";
import { describeNotification } from "../../src/rehearsal/scenario_text.ts";
import { messagesOf, play } from "../rehearsal/play.ts";
import type { Receivers } from "../../testing/simulation/receivers.ts";
import { type Hook, Installation } from "./installation.ts";

const START = "2026-03-02 21:55";
const EACH = { parameters: { body: ["{{event}} {{headline}}"] } };
const LINE = { ...EACH, common_causes: true };

function page(path: string, others: object = {}): object {
  return { kind: "http_request", parameters: { request: { target: `http://10.0.0.7/${path}` } }, ...others };
}

const PAGES = { shop: page("shop"), api: page("api"), docs: page("docs"), login: page("login") };
const OTHER = { kind: "http_request", parameters: { request: { target: "http://10.0.0.8/" } } };
const OUTAGE = { "10.0.0.7": "22:00 refuse, 22:10 up" };

function textsOf(channel: string, { messages }: Receivers): readonly string[] {
  return messages.filter((message) => message.channel === channel).map(({ text }) => text);
}

simulate("four checks of one server are one message that names it, and so are their recoveries", {
  start: START,
  config: {
    channels: {
      chat: LINE,
      sms: { kind: "command", common_causes: true },
      all: {},
      // Their programs may read one check only.
      each: EACH,
      program: { kind: "command" },
    },
    checks: { ...PAGES, other: OTHER },
    listen: { address: "127.0.0.1:9797" },
  },
  servers: OUTAGE,
  actions: {
    "22:05": async (world) => {
      const { stdout } = await world.machine().run("why", "api");
      assert.match(
        stdout,
        /^cause: 4 checks fail since 2026-03-02 2[\d:]+ UTC: all connect to 10\.0\.0\.7:80, and no healthy check does: api, docs, login, shop$/m,
      );
      const { stdout: json } = await world.machine().run("why", "api", "--format", "json");
      assert.deepEqual(JSON.parse(json).cause.checks, ["api", "docs", "login", "shop"]);
      const status = await world.machine().run("status");
      assert.match(
        status.stdout.replaceAll(/\s+/g, " "),
        / cause: 4 checks fail since .*: api, docs, login, shop /,
      );
      const { causes } = JSON.parse((await world.machine().run("status", "--format", "json")).stdout);
      assert.deepEqual(causes, [JSON.parse(json).cause]);
      for (const path of ["/", "/checks/api"]) {
        const page = await world.machine().request(path);
        assert.match(
          page?.body ?? "",
          /<p class=o>cause: 4 checks fail since [^<]*: api, docs, login, shop<\/p>/,
          path,
        );
      }
    },
    "22:19": async (world) => {
      const cause = "all connect to 10.0.0.7:80, and no healthy check does";
      const named = `accepted; cause of 4 checks: ${cause}`;
      const rows: readonly (readonly [args: readonly string[], named: string])[] = [
        [["why", "api", "--at", "22:05"], `with 3 more, ${named}`],
        [["history"], `all: sent critical with 3 more, ${named}`],
        [["history", "api"], `connection refused; cause of 4 checks: ${cause}`],
        [["summary"], `: ${cause} Availability`],
      ];
      for (const [args, words] of rows) {
        const { stdout } = await world.machine().run(...args);
        assert.ok(stdout.replaceAll(/\s+/g, " ").includes(words), stdout);
      }
    },
  },
  until: "22:20",
  expect: { chat: "any", sms: "any", all: "any", each: "any", program: "any" },
  finally: async (_, receivers) => {
    const [problem = "", recovery = "", ...others] = textsOf("chat", receivers);
    assert.deepEqual(others, []);
    assert.match(
      problem,
      /^\["problem 4 checks are down since 2026-03-02 2[\d:]+ UTC: all connect to 10\.0\.0\.7:80, and no healthy check does: /,
    );
    assert.match(recovery, /^\["recovery 4 checks are up again: /);
    assert.equal(textsOf("sms", receivers).length, 2);
    assert.equal(textsOf("each", receivers).length, 8);
    assert.equal(textsOf("program", receivers).length, 8);
    const all = receivers.messages.filter(({ channel }) => channel === "all");
    assert.deepEqual(all.map(({ items }) => items.length), [4, 4]);
    const results = Object.fromEntries(
      Object.keys(PAGES).map((name) => [name, "22:00 critical (connection refused), 22:10 ok"]),
    );
    const checks = { ...PAGES, other: OTHER };
    const rehearsed = await play({ start: START, results }, { channels: { all: {} }, checks });
    assert.deepEqual(
      messagesOf(rehearsed)["all"]?.map((line) => line.replace(/^\S+ /, "").split(", ").toSorted()),
      all.map(({ items }) => items.map((item) => describeNotification(item)).toSorted()),
    );
    assert.ok(problem.includes(rehearsed.causes.join()), problem);
    assert.equal(rehearsed.causes.length, 1);
    const ids = all.flatMap(({ items }) => items.map(({ id }) => id));
    assert.equal(new Set(ids).size, 8, "each notification has an id of its own");
  },
});

let began = "";
simulate("checks of a server that no longer responds are one message, although each waits for its timeout", {
  start: START,
  config: { channels: { chat: LINE }, checks: { ...PAGES, other: OTHER } },
  // From 22:03 on, failing runs take no time: the cause began when it did.
  servers: { "10.0.0.7": "22:00 hang, 22:03 refuse, 22:10 up" },
  actions: {
    "22:06": async (world) => {
      const { stdout } = await world.machine().run("status", "--format", "json");
      began = JSON.parse(stdout).causes[0].since.slice(11, 19);
    },
  },
  until: "22:20",
  expect: { chat: "any" },
  finally: (_, receivers) => {
    const [problem = "", recovery = "", ...others] = textsOf("chat", receivers);
    assert.ok(problem.includes(` ${began} UTC: `), `${problem} began at ${began}`);
    assert.match(problem, /problem 4 checks are down since .* all connect to 10\.0\.0\.7, /);
    assert.match(recovery, /recovery 4 checks are up again/);
    assert.deepEqual(others, []);
  },
});

simulate("a healthy check of the server leaves each problem by itself", {
  start: START,
  config: {
    channels: { chat: LINE },
    checks: {
      ...PAGES,
      "down for maintenance": {
        ...page("maintenance"),
        parameters: { request: { target: "http://10.0.0.7/maintenance" }, response: { status_code: 503 } },
        notifications: [],
      },
      patient: page("patient", { threshold: 60, notifications: [] }),
    },
  },
  servers: { "10.0.0.7": "22:00 503, 22:10 up" },
  actions: {
    "22:05": async (world) => {
      const { stdout } = await world.machine().run("why", "api");
      assert.match(
        stdout,
        /^no common cause with other checks:\n- port 10\.0\.0\.7:80: docs, login, shop fail with it, 1 more not confirmed yet; it works for "down for maintenance"$/m,
      );
    },
  },
  until: "22:20",
  expect: { chat: "any" },
  finally: (_, receivers) => assert.equal(textsOf("chat", receivers).length, 8),
});

simulate("containers of one host that are all gone have it as their cause", {
  start: START,
  config: {
    channels: { chat: LINE },
    checks: Object.fromEntries(["shop", "api", "docs"].map((name) => [name, {
      kind: "container",
      parameters: { name, target: "http://docker.example:2375" },
    }])),
  },
  servers: { docker: "21:55 404" },
  until: "22:00",
  expect: { chat: "any" },
  finally: (_, receivers) => {
    // The first result of all is sent before the others have run.
    const text = textsOf("chat", receivers).at(-1) ?? "";
    assert.match(text, /all run on the container host docker\.example:2375, and no healthy check does: /);
  },
});

/** Prints what `ps` does while so many processes of nginx run. */
function listNginx(count: number): (world: World) => void {
  const process = (id: number, rest: string): string => `${id} 1 ${id} 01:00 900 S 0::/${rest}`;
  const lines = [
    process(1, "init.scope 1 systemd"),
    ...Array.from(
      { length: count },
      (_, index) => process(200 + index, `system.slice/nginx.service ${200 + index} nginx`),
    ),
  ];
  return (world) =>
    void world.machine().commands.set("/usr/bin/ps", () => ({ stdout: `${lines.join("\n")}\n` }));
}

simulate("a process and servers of a systemd unit that is stopped are one message that names it", {
  start: START,
  config: {
    channels: { chat: LINE },
    checks: {
      nginx: { kind: "process", parameters: { name: "nginx" } },
      port: { kind: "tcp_connect", unit: "nginx.service", parameters: { host: "10.0.0.7", port: 443 } },
      web: page("", { unit: "nginx.service" }),
      other: OTHER,
    },
  },
  servers: OUTAGE,
  actions: {
    [START]: listNginx(2),
    "22:00": listNginx(0),
    "22:05": async (world) => {
      const { stdout } = await world.machine().run("why", "web");
      assert.match(
        stdout,
        /^cause: 3 checks fail since .*: all belong to the systemd unit nginx\.service, and/m,
      );
    },
    "22:10": listNginx(2),
  },
  until: "22:20",
  expect: { chat: "any" },
  finally: (_, receivers) => {
    const [problem = "", recovery = "", ...others] = textsOf("chat", receivers);
    assert.deepEqual(others, []);
    assert.match(
      problem,
      /^\["problem 3 checks are down since .*: all belong to the systemd unit nginx\.service, and no healthy check does: /,
    );
    assert.match(recovery, /^\["recovery 3 checks are up again: /);
  },
});

simulate("wrong responses are not those of a unit whose server responds", {
  start: START,
  config: {
    channels: { chat: LINE },
    checks: {
      nginx: { kind: "process", parameters: { name: "nginx" } },
      shop: page("shop", { unit: "nginx.service" }),
      api: page("api", { unit: "nginx.service" }),
    },
  },
  servers: { "10.0.0.7": "22:00 404" },
  actions: {
    [START]: listNginx(2),
    "22:00": listNginx(0),
    "22:05": async (world) => {
      const { stdout } = await world.machine().run("why", "shop");
      assert.doesNotMatch(stdout, /nginx\.service/);
    },
  },
  until: "22:06",
  expect: { chat: "any" },
  finally: (_, receivers) => assert.doesNotMatch(textsOf("chat", receivers).join(), /nginx\.service/),
});

simulate("without common causes each problem is a message", {
  start: START,
  config: { common_causes: false, channels: { chat: LINE }, checks: PAGES },
  servers: OUTAGE,
  until: "22:20",
  expect: { chat: "any" },
  finally: (_, receivers) => assert.equal(textsOf("chat", receivers).length, 8),
});

simulate("a dependency decides before a common cause", {
  start: START,
  config: {
    channels: { chat: LINE },
    checks: {
      shop: page("shop"),
      ...Object.fromEntries(
        ["api", "docs", "login"].map((name) => [name, page(name, { depends_on: ["shop"] })]),
      ),
    },
  },
  servers: OUTAGE,
  actions: {
    "22:05": async (world) => {
      const { stdout } = await world.machine().run("why", "shop");
      assert.match(stdout, /^no common cause with other checks:$/m);
    },
  },
  until: "22:20",
  expect: { chat: "any" },
  finally: (_, receivers) => {
    const texts = textsOf("chat", receivers);
    assert.equal(texts.length, 2);
    for (const text of texts) assert.match(text, /shop is /);
  },
});

for (const end of ["kill", "stop"] as const) {
  simulate(`a ${end} while a cause is sent loses nothing and repeats nothing`, {
    start: START,
    config: { channels: { chat: LINE }, checks: PAGES },
    servers: { ...OUTAGE, "chat": "21:59 refuse, 22:06 up" },
    actions: { "22:03": end, "22:04": "start" },
    until: "22:30",
    expect: { chat: "any" },
    log: ["not delivered to chat"],
    finally: (_, receivers) => {
      const ids = receivers.messages.flatMap(({ items }) => items.map(({ id }) => id));
      assert.ok(receivers.messages.length >= 2, "the problem and the recovery");
      assert.equal(new Set(ids).size, ids.length);
    },
  });
}

const SERVERS = ["10.0.0.7", "10.0.0.8"];
const PATHS = ["1", "2", "3", "4", "5", "6"];

/** Plays a story of members, each of which runs some checks of two servers. */
async function playMembers(
  hosts: string,
  story: (
    installation: Installation,
    members: ReadonlyMap<string, ReturnType<Installation["start"]>>,
  ) => Promise<void>,
  servers = SERVERS,
): Promise<void> {
  for (let seed = testSeed(); seed < testSeed() + campaign(2, 1); seed++) {
    using installation = await Installation.create({ seed });
    const { world, hook } = installation;
    const checks = servers.flatMap((server) => {
      world.network.add(server);
      return PATHS.map((path) => [`${server}/${path}`, {
        ...installation.checkOf(path),
        parameters: { request: { target: `http://${server}/${path}` } },
      }]);
    });
    installation.writeConfig({
      defaults: {
        threshold: 1,
        schedule: { regular_interval: "1 minute", attentive_interval: "10 seconds" },
      },
      checks: Object.fromEntries(checks),
    }, { failOpenAfter: 3_600 });
    const members = new Map([...hosts].map((host) => [host, installation.start(host)]));
    // So that the faults begin at other times of the schedules.
    await world.advance(120_000 + seed * 7_000 % 60_000);
    try {
      await story(installation, members);
      for (const { id } of hook.posts) assert.equal(hook.posts.filter((one) => one.id === id).length, 1);
    } catch (error) {
      const trace = world.trace.text({ zone: "UTC", linesMax: 200 });
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}\n${trace}`);
    }
  }
}

/** Makes servers refuse connections, or respond again. */
function turn({ world }: Installation, kind: "refuse" | "up", servers = SERVERS): void {
  for (const server of servers) {
    const host = world.network.host(server);
    if (host !== null) host.fault = { kind };
  }
}

/** The events, checks and causes of each message, by their first check; forgets them. */
function takeMessages({ messages }: Hook): readonly string[] {
  return messages.splice(0).map((message) => {
    const [first] = message;
    const checks = message.map(({ check }) => check).sort().join(" ");
    return `${first?.event} ${checks}: ${
      /all connect to \S+:80/.exec(first?.cause ?? "")?.[0] ?? "no cause"
    }`;
  }).sort();
}

function checksOn(server = ""): string {
  return PATHS.map((path) => `${server}/${path}`).join(" ");
}

function problemsOf(servers: readonly string[]): readonly string[] {
  return servers.map((server) => `problem ${checksOn(server)}: all connect to ${server}:80`);
}

const PROBLEMS = problemsOf(SERVERS);
const RECOVERIES = SERVERS.map((server) => `recovery ${checksOn(server)}: no cause`);

for (const hosts of ["ab", "abc"]) {
  Deno.test(`the checks of a server that members ${hosts} run are one message that names it`, async () => {
    await playMembers(hosts, async (installation, members) => {
      const { world, hook, shared: { server: { database } } } = installation;
      let reads = 0;
      const { sharing } = database;
      database.sharing = (attributes) => (reads++, sharing.call(database, attributes));
      await world.advance(60_000);
      assert.equal(reads, 0, "while nothing fails");
      turn(installation, "refuse");
      await world.advance(90_000);
      assert.deepEqual(takeMessages(hook), PROBLEMS);
      turn(installation, "up");
      await world.advance(60_000);
      assert.deepEqual(takeMessages(hook), RECOVERIES);
      for (const host of [...hosts].slice(1)) world.machine(host).cutOff("10.0.0.7");
      await world.advance(90_000);
      const problems = takeMessages(hook);
      assert.ok(problems.join(" ").split("10.0.0.7/").length > 3, "three checks that fail");
      assert.doesNotMatch(problems.join(), /all connect/, "another member reaches it");
      await installation.stop(...members.values());
    });
  });
}

Deno.test("problems that arrive while a channel takes its time have their cause, too", async () => {
  const servers = [...SERVERS, ...[1, 2, 3, 4, 5, 6].map((net) => `10.${net}.0.9`)];
  await playMembers("abc", async (installation, members) => {
    const { world, hook } = installation;
    hook.fault = { kind: "slow", ms: 9_000 };
    turn(installation, "refuse", SERVERS.slice(0, 1));
    await world.advance(12_300);
    turn(installation, "refuse", servers.slice(1));
    await world.advance(200_000);
    assert.deepEqual(takeMessages(hook), problemsOf(servers));
    await installation.stop(...members.values());
  }, servers);
});

Deno.test("a member or a database that ends while a common cause is found loses and repeats nothing", async () => {
  await playMembers("abc", async (installation, members) => {
    const { world, hook, shared: { server } } = installation;
    const failed = async (): Promise<void> => {
      turn(installation, "refuse", ["10.0.0.7"]);
      await world.until(() => world.results.at(-1)?.condition === "critical", "the first failure");
      await world.advance(1_000);
    };
    const recover = async (): Promise<void> => {
      await world.advance(60_000);
      turn(installation, "up");
      await world.advance(60_000);
    };
    await failed();
    members.get("b")?.signal("SIGKILL");
    await recover();
    const problems = takeMessages(hook).filter((message) => message.startsWith("problem"));
    assert.ok(problems.every((message) => message.endsWith("all connect to 10.0.0.7:80")), problems.join());
    await failed();
    server.kill();
    await world.advance(8_000);
    server.start();
    await recover();
    const events = PATHS.flatMap((path) => hook.events(`10.0.0.7/${path}`));
    const twice = ["problem", "recovery", "problem", "recovery"];
    assert.deepEqual(events, PATHS.flatMap((path) => twice.map((event) => `10.0.0.7/${path} ${event}`)));
    for (const host of ["a", "c"]) members.get(host)?.signal("SIGTERM");
    await world.advance(10_000);
  });
});
