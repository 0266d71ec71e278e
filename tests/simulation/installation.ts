/** Several members that share a state, with their targets and the receiver of their notifications, in a world. */
import assert from "node:assert/strict";
import { type Fault, type Program, type Ran, World } from "../../testing/simulation/mod.ts";
import { SHARED_STATE, SharedDatabase } from "../../testing/simulation/shared_state.ts";

/** A notification as a webhook posts it. */
export interface Posted {
  readonly atMs: number;
  readonly id: string;
  readonly check: string;
  readonly event: string;
  readonly condition: string;
  readonly output: string;
  readonly problem_began_at: string;
  readonly missed_problem: { readonly id: string; readonly output: string } | null;
  /** The common cause; absent: none is known. */
  readonly cause?: string;
}

/** A receiver of notifications. */
export class Hook {
  readonly name: string;
  readonly posts: Posted[] = [];
  /** The notifications of each request that arrived. */
  readonly messages: (readonly Posted[])[] = [];
  /** Requests, those that failed included. */
  attempts = 0;
  readonly #world: World;

  constructor(world: World, name: string) {
    this.#world = world;
    this.name = name;
    world.network.add(`${name}.example.org`, {
      respond: ({ body = "" }) => {
        const { notifications } = JSON.parse(body) as { notifications: readonly Omit<Posted, "atMs">[] };
        const message = notifications.map((one) => ({ ...one, atMs: world.nowMs }));
        this.posts.push(...message);
        this.messages.push(message);
        for (const { event, check, output, id } of notifications) {
          world.trace.add("", "received", `${this.name}: ${event} ${check} "${output}" ${id.slice(0, 8)}`);
        }
        return { status: 200 };
      },
    });
  }

  get channel(): Readonly<Record<string, unknown>> {
    return { kind: "webhook", parameters: { target: `http://${this.name}.example.org/` } };
  }

  set fault(fault: Fault) {
    const host = this.#world.network.host(`${this.name}.example.org`);
    if (host !== null) host.fault = fault;
  }

  /** Each notification once, in the order in which they arrived first. */
  get distinct(): readonly Posted[] {
    return [...new Map(this.posts.toReversed().map((one) => [one.id, one])).values()].reverse();
  }

  /** `check event`, of one check or all. */
  events(name?: string): readonly string[] {
    return this.distinct.filter(({ check }) => name === undefined || check === name)
      .map(({ check, event }) => `${check} ${event}`);
  }
}

const CONFIG_PATH = "/etc/monitor/monitor.jsonc";

export class Installation implements Disposable {
  readonly world: World;
  readonly shared: SharedDatabase;
  readonly hook: Hook;
  readonly names: readonly string[];
  /** The status of each target; `a web0` is that for member a alone. */
  readonly statuses = new Map<string, number>();
  /** How often each target was requested. */
  readonly runs = new Map<string, number>();
  readonly #expected: string[] = [];
  #config = "";

  private constructor(world: World, shared: SharedDatabase, count: number) {
    this.world = world;
    this.shared = shared;
    this.hook = new Hook(world, "hook");
    this.names = Array.from({ length: count }, (_, index) => `web${index}`);
    world.network.add("target.example.org", {
      respond: ({ url, machine }) => {
        const name = url.pathname.slice(1);
        this.runs.set(name, (this.runs.get(name) ?? 0) + 1);
        return { status: this.statuses.get(`${machine} ${name}`) ?? this.statuses.get(name) ?? 200 };
      },
    });
    this.writeConfig();
  }

  static async create({ seed = 1, checks = 6 } = {}): Promise<Installation> {
    const world = await World.create({ seed, start: "2026-03-02T10:00Z" });
    return new Installation(world, await SharedDatabase.add(world), checks);
  }

  [Symbol.dispose](): void {
    this.world.end();
    this.shared.server.database.close();
  }

  checkOf(
    name: string,
    channels: readonly unknown[] = [this.hook.channel],
  ): Readonly<Record<string, unknown>> {
    return {
      kind: "http_request",
      parameters: { request: { target: `http://target.example.org/${name}` } },
      notifications: channels,
    };
  }

  /** Writes the config on some machines, or on all. */
  writeConfig(
    others: Readonly<Record<string, unknown>> = {},
    { channels = [this.hook.channel], machines, failOpenAfter = 2 }: {
      readonly channels?: readonly unknown[];
      readonly machines?: readonly string[];
      readonly failOpenAfter?: number;
    } = {},
  ): void {
    const config = JSON.stringify({
      defaults: { threshold: 1, schedule: { regular_interval: 2 } },
      checks: Object.fromEntries(this.names.map((name) => [name, this.checkOf(name, channels)])),
      state: { postgres: { ...SHARED_STATE.postgres, fail_open_after: failOpenAfter } },
      ...others,
    });
    if (machines === undefined) this.#config = config;
    for (const { files, name } of this.world.machines) {
      if (machines?.includes(name) ?? true) files.put(CONFIG_PATH, config);
    }
    for (const name of machines ?? []) this.world.machine(name).files.put(CONFIG_PATH, config);
  }

  /** Starts a member, on a machine of its name. */
  start(member: string, ...args: readonly string[]): Program {
    return this.#machine(member).start("check", "--format", "ndjson", ...args);
  }

  /** Runs another command to its end. */
  run(...args: readonly string[]): Promise<Ran> {
    return this.#machine("office").run(...args);
  }

  #machine(name: string): ReturnType<World["machine"]> {
    const machine = this.world.machine(name);
    if (machine.files.look(CONFIG_PATH) === null) machine.files.put(CONFIG_PATH, this.#config);
    return machine;
  }

  /** Waits until a member has logged something. */
  async logged(program: Program, text: string, since = 0): Promise<void> {
    await this.world.until(() => program.stderr.text().slice(since).includes(text), `"${text}" in the log`);
  }

  /** Returns whether nothing is pending. */
  get isQueueEmpty(): boolean {
    return this.shared.server.database.pendingChannels().length === 0;
  }

  /** Waits until each check has run so many times more. */
  async ranAgain(count = 1): Promise<void> {
    const before = new Map(this.runs);
    await this.world.until(
      () => this.names.every((name) => (this.runs.get(name) ?? 0) >= (before.get(name) ?? 0) + count),
      "each check to run",
    );
  }

  /** Makes all checks fail, or recover, and waits until each was notified. */
  async turn(status: 200 | 500, { isStored = true } = {}): Promise<void> {
    for (const name of this.names) this.statuses.set(name, status);
    const event = status === 200 ? "recovery" : "problem";
    this.expect(event);
    await this.world.until(() => this.hook.distinct.length >= this.#expected.length, `each ${event}`);
    if (isStored) await this.world.until(() => this.isQueueEmpty, "the end of the queue");
  }

  /** Expects that each check was notified of an event. */
  expect(event: string): void {
    this.#expected.push(...this.names.map((name) => `${name} ${event}`));
  }

  /** Asserts that each problem and each recovery was notified once, in order for each check. */
  assertEachOnce(): void {
    for (const name of this.names) {
      const expected = this.#expected.filter((one) => one.startsWith(`${name} `));
      assert.deepEqual(this.hook.events(name), expected);
    }
    assert.ok(this.hook.distinct.every(({ missed_problem }) => missed_problem === null));
  }

  /** Ends members by SIGTERM. */
  async stop(...members: readonly Program[]): Promise<void> {
    for (const member of members) member.signal("SIGTERM");
    await this.world.until(() => members.every(({ hasEnded }) => hasEnded), "the end of the members");
    for (const { code, stderr } of members) assert.equal(code, 0, stderr.text());
  }
}

/** Registers a test of an installation; its failure has the trace. */
export function test(
  name: string,
  use: (installation: Installation) => Promise<void>,
  options: { readonly checks?: number } = {},
): void {
  Deno.test(name, async () => {
    using installation = await Installation.create(options);
    try {
      await use(installation);
    } catch (error) {
      const trace = installation.world.trace.text({ zone: "UTC", linesMax: 200 });
      throw new Error(`${error instanceof Error ? error.message : error}\n${trace}`, { cause: error });
    }
  });
}
