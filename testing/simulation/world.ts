import type { Clock } from "../../src/domain/clock.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { Connection, ConnectionTarget } from "../../src/domain/connections.ts";
import type { FileSystemFacts, MemoryFacts } from "../../src/domain/system.ts";
import type { SharedState } from "../../src/domain/membership.ts";
import type { ProcessCommand } from "../../src/domain/processes.ts";
import { StoreError } from "../../src/domain/store.ts";
import type { PostgresPlace, SharedStoreOptions } from "../../src/domain/stores.ts";
import type { Outcome } from "./faults.ts";
import { type CommandEnd, Machine, type MachineOptions } from "./machine.ts";
import { Network } from "./network.ts";
import { preloadProgram } from "./preload.ts";
import type { Output, Program } from "./program.ts";
import { Random } from "./random.ts";
import { Timeline } from "./timeline.ts";
import { parseStart } from "../../src/rehearsal/scenario_text.ts";
import { formatTime, Trace } from "./trace.ts";

export interface WorldOptions {
  /** @default 1 */
  readonly seed?: number;
  /** The wall time at the beginning, see {@linkcode parseStart}. */
  readonly start: string;
  /** The time zone of people and machines. @default UTC */
  readonly zone?: string;
}

/** How long things take, in milliseconds: from the first number to the second one. */
const LATENCIES = {
  /** A process until its first step. */
  start: [20, 120],
  file: [0, 2],
  /** One way. */
  network: [1, 30],
  script: [5, 80],
} as const;

export type OpenShared = (
  program: Program,
  place: PostgresPlace,
  options: SharedStoreOptions & { readonly clock: Clock },
) => Promise<Pick<SharedState, "store" | "openHeartbeats">>;

/** The command of script checks: it ends as the outcome of the check. */
export const PROBE = "/bin/probe";
const EXIT_CODES = { ok: 0, warning: 1, critical: 2, unknown: 3 } as const;
const OK: Outcome = { condition: "ok", output: "it is ok", durationMs: null };
/** The trace has the time of each line. */
const LOG_TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z /;
/** No wait takes longer than this, in the world's time. */
const WAIT_MS_MAX = 3_600_000;

/**
 * Machines, the network between them, one virtual clock, and one seed: everything that happens is decided by it, and
 * the same each time.
 */
export class World {
  readonly seed: number;
  readonly zone: string;
  /** Wall time at the beginning. */
  readonly startMs: number;
  readonly random: Random;
  readonly timeline: Timeline;
  readonly network = new Network();
  readonly trace: Trace;
  /** What the checks of a name find: what a script gives, or the host of that name (its first label). @default ok */
  readonly outcomes = new Map<string, Outcome>();
  readonly hostFacts: {
    fileSystem: FileSystemFacts;
    memory: MemoryFacts;
    loadAverages: readonly [number, number, number];
  } = {
    fileSystem: { freeBytes: 50e9, totalBytes: 100e9, inodes: { free: 1e6, total: 2e6 } },
    memory: { availableBytes: 4e9, totalBytes: 8e9, swapUsedBytes: 0, swapTotalBytes: 1e9 },
    loadAverages: [0.1, 0.1, 0.1],
  };
  /** How often the script of each check was started. */
  readonly runs = new Map<string, number>();
  /** The results that services recorded, in order. */
  readonly results: { readonly check: string; readonly condition: Condition; readonly atMs: number }[] = [];
  /** Asked at each step of a program: whether it is killed there. */
  killsAt: (program: Program, what: string) => boolean = () => false;
  /** Opens the state that machines share, on a server of the network. */
  openShared: OpenShared = () => Promise.reject(new StoreError("no database server", "unreachable"));
  readonly #machines = new Map<string, Machine>();
  #failure: { readonly error: unknown } | null = null;

  private constructor({ seed = 1, start, zone = "UTC" }: WorldOptions) {
    this.seed = seed;
    this.zone = zone;
    this.startMs = parseStart(start, zone);
    this.random = new Random(seed, "world");
    this.timeline = new Timeline(new Random(seed, "order"));
    this.trace = new Trace(() => this.nowMs);
  }

  static async create(options: WorldOptions): Promise<World> {
    await preloadProgram();
    return new World(options);
  }

  /** Wall time. */
  get nowMs(): number {
    return this.startMs + this.timeline.nowMs;
  }

  /** The machine of a name; it is made when it is first asked for. */
  machine(name = "a", options: Partial<MachineOptions> = {}): Machine {
    let machine = this.#machines.get(name);
    if (machine === undefined) {
      const environment = { PATH: "/usr/bin:/bin", HOME: "/home/monitor", XDG_RUNTIME_DIR: "/run/user/1000" };
      machine = new Machine(this, { zone: this.zone, environment, userId: 1000, ...options, name });
      machine.files.makeDirectory("/home/monitor", 0o755);
      machine.files.makeDirectory("/run/user/1000", 0o700);
      machine.files.put(PROBE, "#!/bin/sh\n", { mode: 0o755 });
      this.#machines.set(name, machine);
    }
    return machine;
  }

  get machines(): readonly Machine[] {
    return [...this.#machines.values()];
  }

  latency(kind: keyof typeof LATENCIES): number {
    const [min, max] = LATENCIES[kind];
    return this.random.between(min, max);
  }

  /** Moves time on by a while. */
  async advance(ms: number): Promise<void> {
    await this.to(this.nowMs + ms);
  }

  /** Moves time on to a wall time. */
  async to(atMs: number): Promise<void> {
    await this.timeline.run(atMs - this.startMs, () => this.#failure !== null);
    this.#throwFailure();
  }

  /** Moves time on until something is true; fails after an hour. */
  async until(isTrue: () => boolean, what: string): Promise<void> {
    await this.timeline.run(this.timeline.nowMs + WAIT_MS_MAX, () => this.#failure !== null || isTrue());
    this.#throwFailure();
    if (!isTrue()) throw new Error(`waited an hour for ${what}`);
  }

  /** Ends the world with an error, such as a bug of the program. */
  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  /** Kills everything that runs: no timer is left. */
  end(): void {
    for (const { programs } of this.machines) programs.forEach((program) => program.end());
  }

  describeTime(atMs = this.nowMs): string {
    return formatTime(atMs, this.zone);
  }

  outcomeOf(name: string): Outcome {
    return this.outcomes.get(name) ?? OK;
  }

  /** How a command of a machine ends; `null`: there is none. A check's script ends as its outcome. */
  runCommand({ machine }: Program, command: ProcessCommand): CommandEnd | null {
    const own = machine.commands.get(command.path);
    if (own !== undefined) return own(command);
    const check = command.environment["MONITOR_CHECK"];
    if (check === undefined) return null;
    this.runs.set(check, (this.runs.get(check) ?? 0) + 1);
    const { condition, output, durationMs } = this.outcomeOf(check);
    return { code: EXIT_CODES[condition], stdout: output, ...durationMs !== null && { durationMs } };
  }

  /** Connects to a server that says nothing. */
  connect(program: Program, target: ConnectionTarget, signal: AbortSignal): Promise<Connection> {
    const fault = this.network.reach(program.machine, target.host)?.fault ?? { kind: "refuse" };
    if (fault.kind === "hang") {
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason), { once: true })
      );
    }
    return program.ask(`connect to ${target.host}`, this.latency("network"), () => {
      if (fault.kind === "refuse") {
        throw new Deno.errors.ConnectionRefused("Connection refused (os error 111)");
      }
      return { read: () => Promise.resolve(null), write: () => Promise.resolve(), close: () => {} };
    });
  }

  /** Notes in the trace what a program prints. */
  follow(program: Program): void {
    const { machine: { name }, stdout, stderr } = program;
    const onLine = (output: Output, use: (line: string) => void): void => {
      let rest = "";
      output.onText = (text) => {
        const lines = `${rest}${text}`.split("\n");
        rest = lines.pop() ?? "";
        lines.forEach(use);
      };
    };
    const isService = program.args[0] === "check";
    onLine(stderr, (line) => this.trace.add(name, "log", line.replace(LOG_TIME, "")));
    if (isService && !program.args.includes("--once")) {
      stdout.isKept = false;
      return onLine(stdout, (line) => this.#noteEvent(name, line));
    }
    program.atEnd(() => this.trace.add(name, "exit", `${program.name}: ${program.code}`));
  }

  readonly #lastResults = new Map<string, string>();

  /** Of results, those that differ from the last one are noted. */
  #noteEvent(machine: string, line: string): void {
    if (!line.startsWith('{"event":')) return this.trace.add(machine, "output", line);
    const event = JSON.parse(line);
    if (event.event === "result") {
      this.results.push({ check: event.name, condition: event.condition, atMs: this.nowMs });
      const text = `${event.name} ${event.condition}`;
      const shown = `${text}${event.confirmed === event.condition ? "" : `, confirmed ${event.confirmed}`}`;
      if (this.#lastResults.get(`${machine} ${event.name}`) === shown) return;
      this.#lastResults.set(`${machine} ${event.name}`, shown);
      return this.trace.add(machine, "result", `${shown}: ${event.output}`);
    }
    if (event.event === "notification") {
      const { check, event: kind, condition } = event.notification;
      return this.trace.add(machine, "notification", `${kind} ${check} ${condition}`);
    }
    const { event: what, at: _, version: _version, state: _state, config: _config, ...facts } = event;
    this.trace.add(machine, what, JSON.stringify(facts));
  }
}
