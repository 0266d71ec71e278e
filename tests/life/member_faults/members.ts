/** The members: real monitors, each with its own config, network and, for one, clock. */
import assert from "node:assert/strict";
import { createMovableClock, type MovableClock } from "./clock.ts";
import type { Harness, Program } from "../program.ts";
import { ROLE } from "../../support/postgres.ts";
import { SCHEMA } from "./database_server.ts";
import type { DatabaseProxy, Network } from "./database_proxy.ts";
import type { Truth } from "./truth.ts";

/** The path of a member to the database. */
export interface MemberNetwork {
  /** One before each server that the config names. */
  readonly proxies: readonly DatabaseProxy[];
  /** Whether it connects through the pooler. */
  readonly isPooled: boolean;
}

/** The version of a config. */
export interface ConfigVersion {
  /** Members with the same one have the same config. */
  readonly version: number;
}

interface MemberOptions extends MemberNetwork {
  readonly harness: Harness;
  readonly truth: Truth;
  readonly name: string;
  readonly failOpenAfter: number;
  readonly hasClock: boolean;
}

const LIMIT_MS = 3_600_000;
/** A member without log lines has started by then. */
const BEGUN_MS = 15_000;

/** See the top of the file. */
export class FaultyMember {
  readonly #options: MemberOptions;
  readonly clock: MovableClock | null;
  /** The output of earlier processes of it. */
  readonly #printed: string[] = [];
  /** Whether it is to run now. */
  #isExpected = false;
  #program: Program | null = null;
  /** The exit code once it has ended. */
  #code: number | null = null;

  constructor(options: MemberOptions) {
    this.#options = options;
    const path = `${options.harness.directory}/clock-${options.name}`;
    this.clock = options.hasClock ? createMovableClock(path, { seconds: 0, moves: "wall" }) : null;
    this.configure({ version: 0 });
  }

  get name(): string {
    return this.#options.name;
  }

  get isPooled(): boolean {
    return this.#options.isPooled;
  }

  /** Writes its config, which it reads when it starts or reloads. */
  configure({ version }: ConfigVersion): void {
    const { truth, name, failOpenAfter, harness } = this.#options;
    const checks = truth.names.map((check) => [check, {
      kind: "http_request",
      title: `version ${version}`,
      parameters: { request: { target: `${truth.url}/${check}` }, response: { status_code: "2xx" } },
      notifications: [{ kind: "webhook", parameters: { target: `${truth.url}/` } }],
    }]);
    const hosts = ["${env:DATABASE_1}", "${env:DATABASE_2}"];
    const postgres = { hosts, database: "postgres", user: ROLE, schema: SCHEMA };
    Deno.writeTextFileSync(
      `${harness.directory}/${name}.json`,
      JSON.stringify({
        defaults: { threshold: 1, schedule: { regular_interval: 1 } },
        checks: Object.fromEntries(checks),
        state: { postgres: { ...postgres, fail_open_after: failOpenAfter } },
      }),
    );
  }

  start(): void {
    const { harness, name, proxies, isPooled } = this.#options;
    const places = proxies.map(({ port }) => `127.0.0.1:${port}`);
    const [first, second = first] = places;
    const pool = `postgres://${ROLE}@${first}/postgres?schema=${SCHEMA}&prepare=false`;
    const program = harness.start(
      ["check", "--member", name, "--config", `${name}.json`, ...isPooled ? ["--state", pool] : []],
      {
        environment: { DATABASE_1: first ?? "", DATABASE_2: second ?? "", ...this.clock?.environment },
        limitMs: LIMIT_MS,
      },
    );
    this.#program = program;
    this.#code = null;
    this.#isExpected = true;
    void program.ended.then(({ code }) => {
      if (this.#program === program) this.#code = code;
    });
  }

  /** Sends a signal, unless it has ended. */
  signal(signal: Deno.Signal): void {
    this.assertRuns();
    this.#program?.signal(signal);
  }

  /** Ends it as a crash does. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.#ended();
  }

  /** Reloads its config. */
  async reload(): Promise<void> {
    await this.#begun();
    this.signal("SIGHUP");
  }

  /** Ends it by SIGTERM; resolves to its exit code. */
  async stop(): Promise<number> {
    await this.#begun();
    this.signal("SIGTERM");
    return await this.#ended();
  }

  /** Stops it; it may end without its last results only if the database is still unreachable after a fault. */
  async leave(): Promise<void> {
    const code = await this.stop();
    if (code === 74 && /cannot write the state: the last results are lost\s*$/.test(this.log)) return;
    assert.equal(code, 0, this.log);
  }

  /** Starts another process of the same name, which replaces it. */
  async replace(): Promise<void> {
    this.assertRuns();
    const older = this.#program;
    if (older === null) return;
    this.start();
    const { code, stderr } = await older.end();
    this.#printed.push(stderr);
    assert.equal(code, 75, stderr);
  }

  /** Waits for an end that is expected; resolves to its exit code and all it printed. */
  async end(): Promise<{ readonly code: number; readonly stderr: string }> {
    const program = this.#program;
    const code = await this.#ended();
    return { code, stderr: program?.stderr.text() ?? "" };
  }

  /** Asserts that it has not ended by itself. */
  assertRuns(): void {
    if (!this.#isExpected || this.#code === null) return;
    assert.fail(`member ${this.name} ended with ${this.#code}:\n${this.log.slice(-3_000)}`);
  }

  /** Changes the network between it and the database. */
  network(network: Network): void {
    for (const proxy of this.#options.proxies) proxy.become(network);
  }

  /** How many replies its network lost. */
  get lostReplies(): number {
    return this.#options.proxies.reduce((sum, { lost }) => sum + lost, 0);
  }

  /** All that it printed. */
  get log(): string {
    return [...this.#printed, this.#program?.stderr.text() ?? ""].join("\n");
  }

  /** Waits until it logs something: while the runtime loads it, it does not catch signals. */
  async #begun(): Promise<void> {
    const program = this.#program;
    for (const end = performance.now() + BEGUN_MS; performance.now() < end;) {
      if (this.#code !== null || program?.stderr.text() !== "") return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async #ended(): Promise<number> {
    const program = this.#program;
    this.#isExpected = false;
    const code = (await program?.end())?.code ?? 0;
    this.#printed.push(program?.stderr.text() ?? "");
    this.#program = null;
    return code;
  }
}
