/**
 * Members, their database, receiver and targets fail at random, all at once. The truth is known: each state of a target
 * (a period) names itself in the output of its check.
 */
import assert from "node:assert/strict";
import { campaign, testSeed } from "../../testing/seed.ts";
import type { Fault } from "../../testing/simulation/mod.ts";
import { Random } from "../../testing/simulation/random.ts";
import type { Way } from "../../testing/simulation/shared_state.ts";
import { Installation } from "./installation.ts";
import { compareWithTruth } from "./members_truth.ts";

const DURATION_MS = 90_000;
const SETTLED_MS = 1_800_000;

/** Returns what must not be, which is nothing, and the trace. */
async function runChaos(
  seed: number,
): Promise<{ readonly differences: readonly string[]; readonly trace: string }> {
  const random = new Random(seed, "chaos");
  using installation = await Installation.create({ seed, checks: random.between(2, 5) });
  const chaos = new Chaos(installation, random);
  const checks = installation.names.map((name) => [name, {
    kind: "script",
    parameters: { path: "/bin/probe" },
    notifications: [installation.hook.channel],
    threshold: random.pick([1, 1, 2]),
    flapping: "all",
  }]);
  installation.writeConfig({ checks: Object.fromEntries(checks) }, { failOpenAfter: 3_600 });
  try {
    return { differences: await chaos.run(), trace: chaos.trace };
  } catch (error) {
    throw new Error(`seed ${seed}: ${error}\n${chaos.trace}`, { cause: error });
  }
}

class Chaos {
  readonly #installation: Installation;
  readonly #random: Random;
  readonly #members: readonly string[];
  /** Members that something happens to now. */
  readonly #busy = new Set<string>();
  /** The period of each check: even ones are ok, odd ones critical. */
  readonly #periods = new Map<string, number>();
  #isOver = false;
  #hasFailedOpen = false;

  constructor(installation: Installation, random: Random) {
    this.#installation = installation;
    this.#random = random;
    this.#members = ["a", "b", "c", "d", "e"].slice(0, random.between(3, 5));
    for (const name of installation.names) this.#turn(name);
  }

  get trace(): string {
    return this.#installation.world.trace.text({ zone: "UTC" });
  }

  async run(): Promise<readonly string[]> {
    const { world, names } = this.#installation;
    for (const name of this.#members) {
      world.machine(name).stepClock(this.#random.between(-180_000, 180_000));
      this.#start(name);
    }
    await world.advance(this.#random.between(2_000, 8_000));
    this.#break();
    await world.advance(DURATION_MS);
    this.#isOver = true;
    this.#heal();
    await world.until(() => this.#busy.size === 0, "the end of the faults");
    for (const parity of [1, 0]) {
      for (const name of names) if (this.#periodOf(name) % 2 !== parity) this.#turn(name);
      const endMs = world.nowMs + SETTLED_MS;
      const isSettled = (): boolean => names.every((name) => this.#lastOf(name) === this.#periodOf(name));
      await world.until(() => isSettled() || world.nowMs > endMs, "the last notifications");
    }
    await world.advance(60_000);
    const services = world.machines.flatMap(({ service }) => service ?? []);
    await this.#installation.stop(...services);
    return this.#compare();
  }

  /** Starts the member's process. */
  #start(name: string): void {
    const program = this.#installation.start(name);
    const { onText } = program.stderr;
    program.stderr.onText = (text) => {
      if (text.includes("sending notifications of own checks without it")) this.#hasFailedOpen = true;
      onText(text);
    };
  }

  #periodOf(name: string): number {
    return this.#periods.get(name) ?? 0;
  }

  #turn(name: string): void {
    const { world } = this.#installation;
    const period = this.#periods.has(name) ? this.#periodOf(name) + 1 : 0;
    this.#periods.set(name, period);
    const condition = period % 2 === 0 ? "ok" : "critical";
    world.outcomes.set(name, { condition, output: `period ${period}`, durationMs: null });
    world.trace.add("", "turn", `${name} period ${period}`);
  }

  /** The period of the last notification of a check that is new. */
  #lastOf(name: string): number {
    return Math.max(
      0,
      ...this.#installation.hook.distinct.filter(({ check }) => check === name).map(periodIn),
    );
  }

  #after(minMs: number, maxMs: number, callback: () => void): void {
    this.#installation.world.timeline.after(this.#random.between(minMs, maxMs), callback);
  }

  #break(): void {
    const { world, shared: { server } } = this.#installation;
    for (const name of this.#installation.names) this.#turnForEver(name);
    for (const name of this.#members) this.#failForEver(name);
    this.#failReceiverForEver();
    this.#failDatabaseForEver();
    this.#after(
      10_000,
      60_000,
      () => server.database.step(this.#random.pick([-3_600_000, -5_000, 5_000, 3_600_000])),
    );
    world.killsAt = (program) => {
      const name = program.machine.name;
      if (this.#isOver || !this.#members.includes(name) || this.#busy.has(name)) return false;
      if (this.#random.chance(0.001)) {
        this.#note(name, "paused at a step");
        this.#stop(name, this.#random.between(100, 12_000));
      }
      if (!this.#random.chance(0.0005)) return false;
      this.#note(name, "killed at a step");
      this.#restart(name, this.#random.between(0, 8_000));
      return true;
    };
  }

  #turnForEver(name: string): void {
    this.#after(1_000, 20_000, () => {
      if (this.#isOver) return;
      this.#turn(name);
      this.#turnForEver(name);
    });
  }

  #failForEver(name: string): void {
    this.#after(3_000, 25_000, () => {
      if (this.#isOver) return;
      if (!this.#busy.has(name)) this.#fail(name);
      this.#failForEver(name);
    });
  }

  #note(where: string, what: string): void {
    this.#installation.world.trace.add(where, "fault", what);
  }

  #service(name: string) {
    return this.#installation.world.machine(name).service;
  }

  #restart(name: string, afterMs: number): void {
    this.#busy.add(name);
    this.#after(afterMs, afterMs, () => {
      this.#busy.delete(name);
      if (this.#service(name) === null) this.#start(name);
    });
  }

  #stop(name: string, ms: number): void {
    this.#busy.add(name);
    const program = this.#service(name);
    program?.signal("SIGSTOP");
    this.#after(ms, ms, () => {
      this.#busy.delete(name);
      program?.signal("SIGCONT");
    });
  }

  #fail(name: string): void {
    const random = this.#random;
    const kinds = ["kill", "leave", "replace", "stop", "slow", "network", "lost replies", "clock"] as const;
    const kind = random.pick(kinds);
    this.#note(name, kind);
    switch (kind) {
      case "kill":
        this.#service(name)?.signal("SIGKILL");
        return this.#restart(name, random.between(0, 8_000));
      case "leave": {
        const program = this.#service(name);
        this.#busy.add(name);
        program?.signal("SIGTERM");
        const look = (): void => {
          if (program === null || program.hasEnded) this.#restart(name, random.between(0, 3_000));
          else this.#after(100, 100, look);
        };
        return look();
      }
      case "replace":
        return this.#start(name);
      case "stop":
        return this.#stop(name, random.between(500, 15_000));
      case "slow":
        return this.#slow(name, random.between(3_000, 20_000));
      case "network":
        return this.#way(
          name,
          random.pick([{ kind: "cut" }, { kind: "black_hole" }, {
            kind: "slow",
            ms: random.between(50, 1_500),
          }]),
        );
      case "lost replies":
        return this.#way(name, { kind: "loses", share: random.next() * 0.5 });
      case "clock":
        return this.#installation.world.machine(name).stepClock(
          random.pick([-3_600_000, -120_000, -5_000, 5_000, 120_000, 3_600_000]),
        );
    }
  }

  #way(name: string, way: Way): void {
    const { ways } = this.#installation.shared;
    ways.set(name, way);
    this.#busy.add(name);
    this.#after(500, 12_000, () => {
      ways.delete(name);
      this.#busy.delete(name);
    });
  }

  /** A machine with too much to do: its processes get little time, in pieces. */
  #slow(name: string, leftMs: number): void {
    this.#busy.add(name);
    const program = this.#service(name);
    if (leftMs <= 0 || program === null || program.hasEnded) return void this.#busy.delete(name);
    const stopMs = this.#random.between(50, 1_200);
    const runMs = this.#random.between(5, 150);
    program.signal("SIGSTOP");
    this.#after(stopMs, stopMs, () => program.signal("SIGCONT"));
    this.#after(stopMs + runMs, stopMs + runMs, () => this.#slow(name, leftMs - stopMs - runMs));
  }

  #failReceiverForEver(): void {
    const { hook } = this.#installation;
    this.#after(2_000, 20_000, () => {
      if (this.#isOver) return;
      const fault: Fault = this.#random.pick<Fault>([
        { kind: "refuse" },
        { kind: "reset" },
        { kind: "lose" },
        { kind: "hang" },
        { kind: "slow", ms: 4_000 },
        { kind: "reply", code: 503 },
        { kind: "reply", code: 400 },
      ]);
      this.#note("", `receiver: ${JSON.stringify(fault)}`);
      hook.fault = fault;
      this.#after(500, 12_000, () => {
        hook.fault = { kind: "up" };
        this.#failReceiverForEver();
      });
    });
  }

  #failDatabaseForEver(): void {
    const { shared: { server } } = this.#installation;
    this.#after(10_000, 50_000, () => {
      if (this.#isOver) return;
      const isKill = this.#random.chance(0.5);
      this.#note("", `database ${isKill ? "killed" : "stalls"}`);
      if (isKill) server.kill();
      else server.stall();
      this.#after(100, 10_000, () => {
        if (isKill) server.start();
        server.resume();
        this.#failDatabaseForEver();
      });
    });
  }

  #heal(): void {
    const { shared: { server, ways }, hook } = this.#installation;
    if (server.run === null) server.start();
    server.resume();
    ways.clear();
    hook.fault = { kind: "up" };
  }

  async #compare(): Promise<readonly string[]> {
    const { hook, shared: { server } } = this.#installation;
    const logged = (await server.database.base.deliveries({ sinceMs: -Infinity, untilMs: Infinity }))
      .filter(({ outcome }) => outcome === "accepted");
    const isLogged = (id: string): boolean => logged.some((one) => one.id.startsWith(id));
    const unlogged = hook.posts.filter(({ id }) => !this.#hasFailedOpen && !isLogged(id));
    const invented = logged.filter((one) => !hook.posts.some(({ id }) => one.id.startsWith(id)));
    return [
      ...unlogged.map(({ check, id }) => `${check}: ${id} arrived, and is not logged`),
      ...invented.map(({ check, id }) => `${check}: ${id} is logged, and did not arrive`),
      ...this.#compareWithTruth(),
    ];
  }

  #compareWithTruth(): readonly string[] {
    const { names, hook, shared: { server } } = this.#installation;
    return names.flatMap((name) =>
      compareWithTruth({
        name,
        decided: server.database.changesOf(name).map((output) => periodIn({ output })),
        posts: hook.posts,
        present: this.#periodOf(name),
        hasFailedOpen: this.#hasFailedOpen,
        periodIn,
      })
    );
  }
}

function periodIn({ output }: { readonly output: string }): number {
  return Number(/period (\d+)/.exec(output)?.[1]);
}

const SEEDS = [-1, 0].slice(0, campaign(2, 1)).map((index) => 2 * testSeed() + index);

for (const seed of SEEDS) {
  Deno.test(`members lose, invent and reorder nothing, whatever fails (seed ${seed})`, async () => {
    const { differences, trace } = await runChaos(seed);
    assert.deepEqual(differences, [], trace);
  });
}
