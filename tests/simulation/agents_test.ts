/** Agents: monitors that report to another one. */
import assert from "node:assert/strict";
import { type Fault, type Machine, World } from "../../testing/simulation/mod.ts";
import { killAtStep, pause } from "../../testing/simulation/chaos.ts";
import { SHARED_STATE, SharedDatabase, type Way } from "../../testing/simulation/shared_state.ts";
import { Random } from "../../testing/simulation/random.ts";
import { campaign, testSeed } from "../../testing/seed.ts";
import { journalRows } from "../../src/state/journal.ts";
import { Hook } from "./installation.ts";

const KEY = "k-0123456789abcdef";
const NAMES = ["web", "db", "disk"];
const AGENT = "agent nas";
const CONFIG = "/etc/monitor/monitor.jsonc";
const STATE = "/home/monitor/state.sqlite";
const MINUTE_MS = 60_000;
const OK = { condition: "ok", output: "it is ok", durationMs: null } as const;
const NO_SPACE = { condition: "critical", output: "no space", durationMs: null } as const;

const checksOf = (check: object): object => Object.fromEntries(NAMES.map((name) => [name, check]));

/** A hub of one or several members, an agent behind NAT, and the receiver of the hub's notifications. */
class Pair implements Disposable {
  readonly world: World;
  readonly hook: Hook;
  readonly hub: Machine;
  readonly hubs: readonly Machine[];
  readonly nas: Machine;
  /** The state of the members; `null`: the hub is alone. */
  readonly shared: SharedDatabase | null;

  constructor(world: World, shared: SharedDatabase | null = null) {
    this.world = world;
    this.shared = shared;
    this.hook = new Hook(world, "hook");
    this.hubs = (shared === null ? ["hub"] : ["a", "b", "c"]).map((name) => world.machine(name));
    this.hub = this.hubs[0] ?? assert.fail();
    this.nas = world.machine("nas");
    const random = new Random(world.seed, "balancer");
    const host = world.network.add("hub.example.org", { machine: this.hub });
    // Each request goes to any of them.
    if (shared !== null) Object.defineProperty(host, "machine", { get: () => random.pick(this.hubs) });
    for (const machine of this.hubs) {
      this.write(machine, {
        time_zone: "Europe/Zurich",
        listen: { address: "127.0.0.1:9797" },
        agents: { nas: { key: KEY, checks: NAMES } },
        defaults: { notifications: [this.hook.channel] },
        checks: checksOf({ kind: "reported", parameters: {}, threshold: 2 }),
        ...this.state,
      });
    }
    this.write(this.nas, {
      report_to: { target: "https://hub.example.org:9797/", key: KEY },
      defaults: { schedule: { regular_interval: 30, attentive_interval: 10 } },
      checks: checksOf({ kind: "script", parameters: { path: "/bin/probe" } }),
    });
  }

  /** What the config of a hub names as its state. */
  get state(): object {
    if (this.shared === null) return {};
    return { state: { postgres: { ...SHARED_STATE.postgres, fail_open_after: 60 } } };
  }

  write(machine: Machine, config: object): void {
    machine.files.put(CONFIG, JSON.stringify({ state: STATE, ...config }));
  }

  start(machine: Machine): void {
    const isMember = this.shared !== null && machine !== this.nas;
    machine.start("check", "--format", "ndjson", ...isMember ? ["--location", "here"] : []);
  }

  startBoth(): void {
    for (const machine of [...this.hubs, this.nas]) this.start(machine);
  }

  set fault(fault: Fault) {
    const host = this.world.network.host("hub.example.org");
    if (host !== null) host.fault = fault;
  }

  async printed(machine: Machine, ...args: readonly string[]): Promise<string> {
    return (await machine.run(...args)).stdout;
  }

  async conditions(): Promise<Readonly<Record<string, string>>> {
    const { checks } = JSON.parse(await this.printed(this.hub, "status", "--format", "json")) as {
      checks: { name: string; condition: string }[];
    };
    return Object.fromEntries(checks.map(({ name, condition }) => [name, condition]));
  }

  [Symbol.dispose](): void {
    this.world.end();
    this.shared?.server.database.close();
  }
}

function test(
  name: string,
  use: (pair: Pair) => Promise<void>,
  { seed = testSeed(), isShared = false } = {},
): void {
  Deno.test(name, async () => {
    const world = await World.create({ seed, start: "2026-03-02T08:00" });
    using pair = new Pair(world, isShared ? await SharedDatabase.add(world) : null);
    try {
      await use(pair);
    } catch (error) {
      const trace = pair.world.trace.text({ zone: "UTC", linesMax: 300 });
      throw new Error(`${error instanceof Error ? error.message : error}\n${trace}`, { cause: error });
    }
  });
}

type Rows = readonly Readonly<Record<string, unknown>>[];

function rowsOf({ files }: Machine): (sql: string) => Rows {
  return (sql) => files.node(STATE).database?.prepare(sql).all() ?? [];
}

/** What a state has of each check: its runs, and those in its roll-ups and its journal. */
function runsIn(select: (sql: string) => Rows): Readonly<Record<string, unknown>> {
  const names = NAMES.map((name) => `'${name}'`).join(", ");
  const rows = select(`SELECT id, name, journal, runs_ok, runs_unknown, runs_warning, runs_critical
    FROM checks WHERE name IN (${names}) ORDER BY name`);
  return Object.fromEntries(rows.map(({ id, name, journal, ...runs }) => {
    const [sums] = select(`SELECT sum(observed_ok) AS ok, sum(observed_unknown) AS unknown,
      sum(observed_critical) AS critical FROM rollups WHERE check_id = ${id}`);
    const blocks = select(`SELECT results FROM journal WHERE check_id = ${id}`);
    const packed = [...blocks.map((block) => block["results"] as Uint8Array)];
    const span = { sinceMs: -Infinity, untilMs: Infinity };
    const journalRuns = journalRows(packed, journal as Uint8Array, span)
      .filter(({ awaits }) => awaits === null).reduce((sum, row) => sum + row.runs, 0);
    return [name, { runs: { ...runs }, sums: { ...sums }, journalRuns }];
  }));
}

test("the thresholds and channels of the hub decide about what an agent runs", async (pair) => {
  const { world, hook } = pair;
  pair.startBoth();
  await world.advance(5 * MINUTE_MS);
  // In time, whatever it says.
  world.outcomes.set("db", { ...NO_SPACE, output: "reported late: no space" });
  await world.advance(5 * MINUTE_MS);
  world.outcomes.set("db", OK);
  await world.advance(5 * MINUTE_MS);
  assert.deepEqual(hook.events(), ["db problem", "db recovery"]);
  assert.equal((hook.posts[0]?.atMs ?? 0) < world.startMs + 6 * MINUTE_MS, true, "within a minute");
  assert.match(await pair.printed(pair.hub, "replay", "--verify"), /^2 notifications as sent$/m);
  const { agents: [shown] } = JSON.parse(await pair.printed(pair.hub, "status", "--format", "json"));
  assert.equal(world.nowMs - Date.parse(shown.last_report_at) < 31_000, true, shown.last_report_at);
});

test("an agent that is silent is one problem, and its checks are unknown", async (pair) => {
  const { world, hook, nas } = pair;
  const probe = { kind: "script", parameters: { path: "/bin/probe" } };
  const write = (key: string): void =>
    pair.write(nas, {
      report_to: { target: "https://hub.example.org:9797/", key },
      defaults: { schedule: { regular_interval: 30, attentive_interval: 10 } },
      // By its own plan, the last result of the last one counts for two days.
      checks: { ...checksOf(probe), disk: { ...probe, schedule: { regular_interval: "1 day" } } },
    });
  write(KEY);
  pair.startBoth();
  await world.advance(5 * MINUTE_MS);
  assert.equal((await pair.conditions())["disk"], "ok");
  nas.cutOff("hub.example.org");
  await world.advance(3 * MINUTE_MS);
  const quiet =
    /no report since 2026-03-02 09:04:\d\d \+01:00, counts as silent at 2026-03-02 09:09:\d\d \+01:00/;
  assert.match(await pair.printed(pair.hub, "status"), new RegExp(`OK *${AGENT} .*${quiet.source}`));
  assert.match(
    await pair.printed(pair.hub, "why", "web"),
    new RegExp(`nothing is decided until agent "nas" reports it; ${AGENT}: ${quiet.source}`),
  );
  await world.advance(8 * MINUTE_MS);
  assert.deepEqual(hook.events(), [`${AGENT} problem`]);
  const [, day, time] =
    /^no report since (2026-03-02) (09:04:\d\d) \+01:00/.exec(hook.posts[0]?.output ?? "") ??
      [];
  assert.equal(hook.posts[0]?.problem_began_at.slice(0, 19), `${day}T${time?.replace("09", "08")}`);
  assert.match(
    await pair.printed(pair.hub, "why", AGENT),
    new RegExp(`^${AGENT}: critical since ${day} ${time} \\+01:00`),
  );
  assert.match(await pair.printed(pair.hub, "status"), new RegExp(`CRITICAL *${AGENT} *11 min `));
  assert.deepEqual(await pair.conditions(), {
    web: "unknown",
    db: "unknown",
    disk: "unknown",
    [AGENT]: "critical",
  });
  assert.match(await pair.printed(pair.hub, "status"), /web .* not reported by agent "nas" for 1\d min/);
  assert.match(
    await pair.printed(pair.hub, "why", "web"),
    /nothing is decided until agent "nas" reports it; agent nas: no report since 2026-03-02 09:0/,
  );
  assert.match((await pair.hub.run("run", "web")).stderr, /the results of "web" come from agent "nas"/);
  assert.match(await pair.printed(pair.hub, "why", "disk"), /^disk: unknown.*not reported by agent "nas"/);
  write(`${KEY}x`);
  nas.reconnect("hub.example.org");
  nas.service?.signal("SIGHUP");
  await world.advance(5 * MINUTE_MS);
  assert.match(
    await pair.printed(pair.hub, "status"),
    /no report since .* \+01:00; wrong key\? reports with/,
  );
  const plugin = await nas.run("status", "--format", "plugin");
  assert.match(
    plugin.stdout,
    /^MONITOR WARNING - reports to another monitor: last one .* status 401.*; 3 checks ok \|/,
  );
  assert.deepEqual(
    [plugin.code, JSON.parse(await pair.printed(nas, "status", "--format", "json")).condition],
    [1, "warning"],
  );
  write(KEY);
  nas.service?.signal("SIGHUP");
  await world.advance(5 * MINUTE_MS);
  assert.deepEqual(hook.events(), [`${AGENT} problem`, `${AGENT} recovery`]);
  assert.deepEqual(await pair.conditions(), { web: "ok", db: "ok", disk: "ok", [AGENT]: "ok" });
  nas.service?.signal("SIGTERM");
  await world.until(() => nas.service === null, "the end of the agent");
  assert.equal((await nas.run("check", "--once")).code, 0);
  write(`${KEY}x`);
  const { code, stderr } = await nas.run("check", "--once");
  assert.equal(code, 69);
  assert.match(stderr, /status 401.*; retrying at the next run$/m);
});

test("an agent behind a slow link reports less at a time, and catches up", async (pair) => {
  const { world, nas } = pair;
  let bytes = 0;
  const link = world.network.add("link.example.org", {
    fault: { kind: "refuse" },
    respond: ({ body = "" }) => {
      bytes = body.length;
      const { results } = JSON.parse(body) as { results: readonly { sequence: number }[] };
      return { status: 200, body: JSON.stringify({ received: results.at(-1)?.sequence ?? 0, rejected: [] }) };
    },
  });
  pair.write(nas, {
    report_to: { target: "https://link.example.org/", key: KEY },
    defaults: { schedule: { regular_interval: 30, attentive_interval: 10 } },
    checks: checksOf({ kind: "script", parameters: { path: "/bin/probe" } }),
  });
  world.outcomes.set("db", { ...OK, output: "x".repeat(4_000) });
  pair.start(nas);
  await world.advance(20 * MINUTE_MS);
  // 5 KB a second: all that is waiting takes half a minute.
  link.fault = {
    kind: "slow",
    get ms() {
      return bytes / 5;
    },
  };
  await world.advance(10 * MINUTE_MS);
  const status = await pair.printed(nas, "status");
  assert.match(status, /reports to another monitor: last one/);
  assert.doesNotMatch(status, /waiting|failed/);
});

test("a result that the hub always rejects is dropped, and holds up no other one", async (pair) => {
  const { world, nas } = pair;
  type Request = { readonly results: readonly { readonly sequence: number; readonly check: string }[] };
  const received: string[] = [];
  const rejected = { status: 400, body: "the body is no report: /results/0/new" };
  let keeps = true;
  let rejects = ({ results }: Request): boolean => results.some(({ check }) => check === "db");
  world.network.add("strict.example.org", {
    respond: ({ body = "" }) => {
      const request = JSON.parse(body) as Request;
      if (rejects(request)) return rejected;
      received.push(...request.results.map(({ check }) => check));
      const last = keeps ? request.results.at(-1)?.sequence ?? 0 : 0;
      return { status: 200, body: JSON.stringify({ received: last, rejected: ["of another agent"] }) };
    },
  });
  pair.write(nas, {
    report_to: { target: "https://strict.example.org/", key: KEY },
    defaults: { schedule: { regular_interval: 30, attentive_interval: 10 } },
    checks: checksOf({ kind: "script", parameters: { path: "/bin/probe" } }),
  });
  type Reporting = { waiting: number; dropped: number; rejected: string[]; failure: string | null };
  const reporting = async (): Promise<Reporting> =>
    JSON.parse(await pair.printed(nas, "status", "--format", "json")).report_to;
  pair.start(nas);
  await world.advance(10 * MINUTE_MS);
  const { waiting, dropped, failure, rejected: shown } = await reporting();
  assert.deepEqual([waiting < 3, dropped >= 20, failure, shown], [true, true, null, []]);
  assert.deepEqual([...new Set(received)].sort(), ["disk", "web"]);
  assert.equal(received.length >= 40, true);
  const line =
    'result of "db" dropped: strict.example.org returned status 400: the body is no report: /results/0/new';
  assert.equal(nas.service?.stderr.text().split(line).length, 2, "logged once");
  // Also without results: it may be anything on the way, or a hub of another version.
  rejects = () => true;
  await world.advance(10 * MINUTE_MS);
  const later = await reporting();
  assert.deepEqual([later.waiting > 40, later.dropped - dropped < 3], [true, true]);
  assert.match(later.failure ?? "", /strict\.example\.org returned status 400: the body is no report/);
  rejects = () => false;
  await world.advance(5 * MINUTE_MS);
  assert.deepEqual([(await reporting()).waiting < 3, received.includes("db")], [true, true]);
  keeps = false;
  received.length = 0;
  await world.advance(10 * MINUTE_MS);
  assert.equal(received.length < 1_000, true, "not asked again at once");
  assert.match((await reporting()).failure ?? "", /strict\.example\.org received none of \d+ results/);
});

test("late results are in the history, and cause no notification", async (pair) => {
  const { world, hook, hub, nas } = pair;
  pair.write(hub, {
    listen: { address: "127.0.0.1:9797" },
    agents: { nas: { key: KEY, checks: NAMES, silent_after: "10 minutes" } },
    defaults: { notifications: [hook.channel] },
    checks: checksOf({ kind: "reported", parameters: {}, threshold: 2 }),
  });
  pair.startBoth();
  await world.advance(10 * MINUTE_MS);
  nas.cutOff("hub.example.org");
  await world.advance(MINUTE_MS);
  world.outcomes.set("db", NO_SPACE);
  await world.advance(MINUTE_MS);
  world.outcomes.set("db", OK);
  await world.advance(2 * MINUTE_MS);
  nas.reconnect("hub.example.org");
  await world.advance(10 * MINUTE_MS);
  assert.deepEqual(hook.events(), []);
  const history = await pair.printed(hub, "history", "db");
  assert.match(history, /08:11:.*critical: reported late: no space/);
  assert.match(
    await pair.printed(hub, "why", "db", "--at", "08:11:50"),
    /problem not sent[^:]*:\n *- agent "nas" reported it late, so it counts for the history alone/,
  );
});

test("a short problem while the hub was away is sent as missed, and not suppressed by the agent", async (pair) => {
  const { world, hook, hub } = pair;
  pair.startBoth();
  await world.advance(10 * MINUTE_MS);
  hub.service?.signal("SIGKILL");
  world.outcomes.set("db", NO_SPACE);
  await world.advance(MINUTE_MS);
  world.outcomes.set("db", OK);
  await world.advance(15_000);
  pair.start(hub);
  await world.advance(10 * MINUTE_MS);
  assert.deepEqual(hook.events(), ["db recovery"]);
  assert.equal(hook.posts[0]?.missed_problem?.output, "no space");
});

test("an agent reports at its interval, however long the hub takes to reply", async (pair) => {
  const { world, nas } = pair;
  pair.write(nas, {
    report_to: { target: "https://slow.example.org:9797/", key: KEY },
    defaults: { schedule: { regular_interval: 3, attentive_interval: 3 } },
    checks: { web: { kind: "script", parameters: { path: "/bin/probe" } } },
  });
  const receivedMs: number[] = [];
  world.network.add("slow.example.org", {
    fault: { kind: "slow", ms: 4_000 },
    respond: ({ body = "" }) => {
      receivedMs.push(world.nowMs);
      const { results } = JSON.parse(body) as { results: readonly { sequence: number }[] };
      return { status: 200, body: JSON.stringify({ received: results.at(-1)?.sequence ?? 0, rejected: [] }) };
    },
  });
  pair.start(nas);
  await world.advance(5 * MINUTE_MS);
  const distances = receivedMs.slice(3).map((atMs, index) => atMs - (receivedMs[index + 2] ?? NaN));
  assert.equal(distances.length > 20, true);
  assert.deepEqual([...new Set(distances.map((ms) => Math.round(ms / 1_000)))], [10]);
});

test("a result of a check that an agent must not report is ignored, and both sides show it", async (pair) => {
  const { world, hub, nas } = pair;
  pair.write(hub, {
    listen: { address: "127.0.0.1:9797" },
    agents: { nas: { key: KEY, checks: ["web", "gone"] } },
    defaults: { notifications: [pair.hook.channel], schedule: { regular_interval: 30 } },
    checks: {
      web: { kind: "reported", parameters: {} },
      gone: { kind: "reported", parameters: {}, threshold: 1 },
      db: { kind: "test", parameters: { condition: "ok" } },
    },
  });
  pair.startBoth();
  await world.advance(5 * MINUTE_MS);
  assert.match(await pair.printed(hub, "status"), /agent nas .*ignored: "d\w+", "d\w+"/);
  assert.deepEqual(await pair.conditions(), { web: "ok", gone: "unknown", db: "ok", [AGENT]: "ok" });
  assert.match(await pair.printed(hub, "status"), /gone .*agent "nas" never reported it, although/);
  assert.match(await pair.printed(nas, "status"), /ignored/);
  // As docs/reference/output_formats.md lists them.
  const { agents: [shown] } = JSON.parse(await pair.printed(hub, "status", "--format", "json"));
  assert.equal(
    Object.keys(shown).join(" "),
    "name check condition last_report_at waiting dropped ignored_checks",
  );
  assert.deepEqual([shown.name, shown.condition, shown.ignored_checks], ["nas", "ok", 2]);
  const { report_to: sent } = JSON.parse(await pair.printed(nas, "status", "--format", "json"));
  assert.equal(Object.keys(sent).join(" "), "waiting dropped rejected last_report_at failure");
  pair.write(nas, {
    report_to: { target: "https://hub.example.org:9797/", key: KEY },
    defaults: { schedule: { regular_interval: 30, attentive_interval: 10 } },
    checks: { db: { kind: "script", parameters: { path: "/bin/probe" } } },
  });
  nas.service?.signal("SIGHUP");
  await world.advance(10 * MINUTE_MS);
  assert.match(
    await pair.printed(hub, "status"),
    /web .*no result from agent "nas" since 2026-03-02 08:0[45]:\d\d UTC, although/,
  );
});

/** A time in which everything breaks at moments from the seed; in the end it is repaired. */
async function breakFor(minutes: number, pair: Pair, seed: number): Promise<void> {
  const { world, hubs, nas, shared } = pair;
  const random = new Random(seed, "agents");
  const machines = [...hubs, nas];
  const faults: readonly Fault[] = [
    { kind: "refuse" },
    { kind: "reset" },
    { kind: "lose" },
    { kind: "hang" },
    { kind: "slow", ms: 4_000 },
    { kind: "slow", ms: 12_000 },
    { kind: "reply", code: 503 },
    { kind: "reply", code: 413 },
  ];
  const break1: readonly (() => void)[] = [
    () => pair.fault = random.pick(faults),
    () => pair.fault = random.pick(faults),
    () => pair.fault = { kind: "up" },
    () => nas.cutOff("hub.example.org"),
    () => nas.reconnect("hub.example.org"),
    () => killAtStep(random.pick(machines), random.between(1, 60)),
    () => random.pick(machines).service?.signal("SIGTERM"),
    () => random.pick(machines).service?.signal("SIGHUP"),
    () => pause(random.pick(machines), random),
    () => random.pick(machines).suspend(random.between(5, 300) * 1000),
    () => random.pick(machines).stepClock(random.between(-7200, 7200) * 1000),
    () => world.outcomes.set(random.pick(NAMES), random.pick([OK, OK, NO_SPACE])),
    ...shared === null ? [] : [
      () => void shared.ways.set(random.pick(hubs).name, random.pick(WAYS)),
      () => void shared.ways.set(random.pick(hubs).name, random.pick(WAYS)),
      () => shared.ways.clear(),
      () => random.chance(0.5) ? shared.server.kill() : shared.server.start(),
      () => shared.server.database.step(random.between(-7200, 7200) * 1000),
    ],
  ];
  const startMissing = (): void => {
    for (const machine of machines) if (machine.service === null && random.chance(0.5)) pair.start(machine);
  };
  const endMs = world.nowMs + minutes * MINUTE_MS;
  while (world.nowMs < endMs) {
    await world.advance(random.between(1, 60) * 1000);
    random.pick(break1)();
    startMissing();
  }
  world.killsAt = () => false;
  pair.fault = { kind: "up" };
  shared?.ways.clear();
  shared?.server.start();
  nas.reconnect("hub.example.org");
  await world.advance(MINUTE_MS * 6);
  for (const machine of machines) {
    for (const program of machine.programs) program.signal("SIGCONT");
    if (machine.service === null) pair.start(machine);
  }
  await world.advance(10 * MINUTE_MS);
  nas.service?.signal("SIGTERM");
  await world.until(() => nas.service === null, "the end of the agent");
  // Runs each check once more, and sends what is left.
  const { stderr } = await nas.run("check", "--once");
  assert.equal(stderr, "");
}

for (let round = 0; round < campaign(3, 1); round++) {
  const seed = testSeed() * 1000 + round;
  test(`under faults, each run of an agent is recorded once at the hub (${seed})`, async (pair) => {
    pair.startBoth();
    await breakFor(campaign(40, 20), pair, seed);
    await pair.world.advance(5_000);
    assert.deepEqual(runsIn(rowsOf(pair.hub)), runsIn(rowsOf(pair.nas)));
  }, { seed });
}

const WAYS: readonly Way[] = [
  { kind: "cut" },
  { kind: "black_hole" },
  { kind: "slow", ms: 3_000 },
  { kind: "loses", share: 0.3 },
];

for (let round = 0; round < campaign(3, 1); round++) {
  const seed = testSeed() * 1000 + round;
  test(`under faults, each run is recorded once, whichever member received it (${seed})`, async (pair) => {
    const { database } = pair.shared?.server ?? assert.fail();
    pair.startBoth();
    await breakFor(campaign(30, 10), pair, seed);
    await pair.world.advance(5_000);
    assert.deepEqual(runsIn((sql) => database.rows(sql)), runsIn(rowsOf(pair.nas)));
  }, { seed, isShared: true });
}

test("an agent that is silent is one problem of all members, whichever of them die", async (pair) => {
  const { world, hook, hubs, nas } = pair;
  pair.startBoth();
  await world.advance(3 * MINUTE_MS);
  // Each of them in turn, so that the others take over its checks, and know when the agent reported last.
  for (const machine of hubs) {
    machine.service?.signal("SIGKILL");
    await world.advance(20_000);
    pair.start(machine);
    await world.advance(20_000);
  }
  assert.deepEqual(hook.events(), []);
  assert.deepEqual(await pair.conditions(), { web: "ok", db: "ok", disk: "ok", [AGENT]: "ok" });
  nas.cutOff("hub.example.org");
  for (const machine of hubs) {
    await world.advance(2 * MINUTE_MS);
    machine.service?.signal("SIGKILL");
    await world.advance(20_000);
    pair.start(machine);
  }
  await world.advance(MINUTE_MS);
  assert.deepEqual(hook.events(), [`${AGENT} problem`]);
  assert.equal((await pair.conditions())["web"], "unknown");
  nas.reconnect("hub.example.org");
  await world.advance(2 * MINUTE_MS);
  assert.deepEqual(hook.events(), [`${AGENT} problem`, `${AGENT} recovery`]);
}, { isShared: true });

test("members without their database receive nothing, and call no agent silent", async (pair) => {
  const { world, hook, shared } = pair;
  const { server } = shared ?? assert.fail();
  pair.startBoth();
  await world.advance(2 * MINUTE_MS);
  server.kill();
  await world.advance(10 * MINUTE_MS);
  world.outcomes.set("db", NO_SPACE);
  await world.advance(2 * MINUTE_MS);
  const { stdout } = await pair.nas.run("status");
  assert.match(stdout, /status 503/);
  server.start();
  await world.advance(3 * MINUTE_MS);
  assert.deepEqual(hook.events(), ["db problem"]);
}, { isShared: true });

test(
  "what an agent reported before an outage of the database is unknown until it reports again",
  async (pair) => {
    const { world, hook, nas, shared } = pair;
    const { server } = shared ?? assert.fail();
    const unknown = { web: "unknown", db: "unknown", disk: "unknown" };
    pair.startBoth();
    await world.advance(3 * MINUTE_MS);
    nas.service?.signal("SIGKILL");
    server.kill();
    await world.advance(110_000);
    server.start();
    for (const waitMs of [20_000, 2 * MINUTE_MS, 2 * MINUTE_MS]) {
      await world.advance(waitMs);
      assert.deepEqual(await pair.conditions(), { ...unknown, [AGENT]: "pending" });
    }
    assert.deepEqual(hook.events(), []);
    await world.advance(3 * MINUTE_MS);
    assert.deepEqual(await pair.conditions(), { ...unknown, [AGENT]: "critical" });
    pair.start(nas);
    await world.advance(2 * MINUTE_MS);
    assert.deepEqual(await pair.conditions(), { web: "ok", db: "ok", disk: "ok", [AGENT]: "ok" });
    server.kill();
    await world.advance(MINUTE_MS);
    server.start();
    assert.match(await pair.printed(pair.hub, "status"), /monitor running for/, "before any heartbeat");
    await world.advance(MINUTE_MS);
    assert.deepEqual(await pair.conditions(), { web: "ok", db: "ok", disk: "ok", [AGENT]: "ok" });
    assert.deepEqual(hook.events(), [`${AGENT} problem`, `${AGENT} recovery`]);
  },
  { isShared: true },
);

const votes = async (pair: Pair): Promise<void> => {
  const { world, hook, hubs, nas } = pair;
  const interval = { schedule: { regular_interval: 30, attentive_interval: 10 } };
  for (const hub of hubs) {
    pair.write(hub, {
      listen: { address: "127.0.0.1:9797" },
      agents: { nas: { key: KEY } },
      defaults: { notifications: [hook.channel], threshold: 1, ...interval },
      checks: {
        site: {
          kind: "http_request",
          parameters: { request: { target: "http://site.example.org/" } },
          locations: { from: ["here", "nas"], agree: 2 },
        },
      },
      ...pair.state,
    });
  }
  pair.write(nas, {
    report_to: { target: "https://hub.example.org:9797/", key: KEY },
    defaults: { threshold: 1, ...interval },
    checks: {
      site: { kind: "http_request", parameters: { request: { target: "http://site.example.org/" } } },
    },
  });
  const down = new Set<string>();
  world.network.add("site.example.org", {
    respond: ({ machine }) => ({ status: down.has(machine) ? 500 : 200 }),
  });
  pair.startBoth();
  await world.advance(2 * MINUTE_MS);
  assert.deepEqual(await pair.conditions(), { site: "ok", [AGENT]: "ok" });
  for (const { name } of hubs) down.add(name);
  await world.advance(MINUTE_MS);
  assert.deepEqual(hook.events(), [], "one of two");
  down.add("nas");
  await world.advance(MINUTE_MS);
  assert.deepEqual(hook.events(), ["site problem"]);
  assert.match(hook.posts[0]?.output ?? "", /^critical from here, nas/);
  down.clear();
  await world.advance(MINUTE_MS);
  assert.deepEqual(hook.events(), ["site problem", "site recovery"]);
  nas.service?.signal("SIGKILL");
  await world.advance(6 * MINUTE_MS);
  assert.deepEqual(hook.events("site").slice(2), ["site problem"]);
  assert.match(hook.posts.at(-1)?.output ?? "", /results from 1 of 2 locations, 2 required|no report since/);
};

test("an agent is a location: both must agree, without a database", votes);
test("an agent is a location of members, too", votes, { isShared: true });
