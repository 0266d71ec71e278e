/** Several monitors that share a state, with their targets and the receiver of their notifications. */
import assert from "node:assert/strict";
import type { PostgresPlace } from "../../src/domain/stores.ts";
import type { Store } from "../../src/domain/store.ts";
import { openPostgresStore } from "../../src/state/postgres/postgres_store.ts";
import { type PostgresServer, storeOptions } from "../support/postgres.ts";
import { inTime, until } from "./in_time.ts";
import { type End, type Harness, type Program, withHarness } from "./program.ts";
import { type Hook, type PostedNotification, startHook } from "./receivers.ts";

/** A server with a status for each path, which is the name of a check. */
export interface Targets extends AsyncDisposable {
  /** By name; `member a web0` is the status for member a alone. */
  readonly statuses: Map<string, number>;
  /** How often each was requested. */
  readonly runs: Map<string, number>;
  /** Called with the name at each request. */
  onRun(name: string): void;
  url(name: string): string;
}

function startTargets(): Targets {
  const statuses = new Map<string, number>();
  const runs = new Map<string, number>();
  const abort = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, signal: abort.signal, onListen: () => {} },
    (request) => {
      const name = new URL(request.url).pathname.slice(1);
      runs.set(name, (runs.get(name) ?? 0) + 1);
      targets.onRun(name);
      const own = statuses.get(`${request.headers.get(MEMBER_HEADER)} ${name}`);
      return new Response("", { status: own ?? statuses.get(name) ?? 200 });
    },
  );
  const targets: Targets = {
    statuses,
    runs,
    onRun: () => {},
    url: (name) => `http://127.0.0.1:${server.addr.port}/${name}`,
    async [Symbol.asyncDispose]() {
      abort.abort();
      await inTime("the server to end", server.finished);
    },
  };
  return targets;
}

const MEMBER_HEADER = "Monitor-Member";

/** An installation as its users use it. */
export interface Installation {
  /** Where its state is. */
  readonly place: PostgresPlace;
  readonly names: readonly string[];
  readonly targets: Targets;
  readonly hook: Hook;
  /** What it has stored. */
  readonly store: Pick<Store, "changes" | "outbox">;
  /** Starts a member; `DATABASE_USER` is its role, `DATABASE_HOST` its way to the database. */
  start(
    member: string,
    args?: readonly string[],
    environment?: { readonly DATABASE_USER?: string; readonly DATABASE_HOST?: string },
  ): Program;
  /** Runs another command to its end in a process of its own. */
  run(...args: readonly string[]): Promise<End>;
  /** Runs another command to its end in this process. */
  runHere(...args: readonly string[]): Promise<End>;
  /** Writes the config of members that start or reload from now on. */
  writeConfig(others?: Readonly<Record<string, unknown>>, channels?: readonly unknown[]): void;
  /** Returns whether nothing is pending. */
  isQueueEmpty(): Promise<boolean>;
  /** Waits until each check has run again. */
  ranAgain(): Promise<void>;
  /** Makes all checks fail, or recover, and waits until each was notified. */
  turn(status: 200 | 500, options?: { readonly isStored: boolean }): Promise<void>;
  /** Describes the notifications and the logs of the members. */
  describe(): string;
  /** Expects that each check was notified of an event. */
  expect(event: string): void;
  /** Asserts that each problem and each recovery was notified once, in order. */
  assertEachOnce(): void;
}

export async function withInstallation(
  use: (installation: Installation) => Promise<void>,
  server: PostgresServer,
  { failOpenAfter = 2 } = {},
): Promise<void> {
  await withHarness(async (harness: Harness) => {
    await using targets = startTargets();
    await using hook = startHook();
    const names = Array.from({ length: 12 }, (_, index) => `web${index}`);
    const place = server.place();
    const { directory } = server;
    const checkOf = (name: string, channels: readonly unknown[]) => ({
      kind: "http_request",
      parameters: {
        request: { target: targets.url(name), headers: { [MEMBER_HEADER]: "${env:MEMBER}" } },
        response: { status_code: "2xx" },
      },
      notifications: channels,
      // The truth has each change, however often a target turns.
      flapping: "all",
    });
    const writeConfig: Installation["writeConfig"] = (others = {}, channels = [hook.channel]) =>
      harness.writeConfig(
        Object.fromEntries(names.map((name) => [name, checkOf(name, channels)])),
        {
          state: {
            postgres: {
              hosts: ["${env:DATABASE_HOST}"],
              database: place.database,
              user: "${env:DATABASE_USER}",
              schema: place.schema,
              fail_open_after: failOpenAfter,
            },
          },
          ...others,
        },
      );
    writeConfig();
    const expected: string[] = [];
    const expect = (event: string): void => void expected.push(...names.map((name) => `${name} ${event}`));
    const programs: Program[] = [];
    const describe = (): string => [...sent(), ...programs.map(({ stderr }) => stderr.text())].join("\n");
    const sent = (): readonly string[] => {
      const byId = new Map(
        hook.posts.flatMap(({ notifications }) => notifications).map((one) => [one.id, one]),
      );
      return names.flatMap((name) =>
        [...byId.values()].filter(({ check }) => check === name).map((one) => `${name} ${eventsOf(one)}`)
      ).sort();
    };
    await using store = await openToRead(place);
    const isQueueEmpty = async (): Promise<boolean> =>
      (await store.outbox()).notifications.every(({ state }) => state === "dropped");
    const environmentOf = (member: string): Readonly<Record<string, string>> => ({
      MEMBER: `member ${member}`,
      DATABASE_USER: place.user,
      DATABASE_HOST: directory,
    });
    await use({
      place,
      store,
      names,
      targets,
      hook,
      writeConfig,
      expect,
      isQueueEmpty,
      ranAgain: async () => {
        const before = new Map(targets.runs);
        const hasRun = (name: string): boolean => (targets.runs.get(name) ?? 0) > (before.get(name) ?? 0);
        await until("each check to run", () => names.every(hasRun), { describe });
      },
      describe,
      start: (member, args = [], environment = {}) => {
        const program = harness.start(["check", "--member", member, ...args], {
          limitMs: 600_000,
          environment: { ...environmentOf(member), ...environment },
        });
        programs.push(program);
        return program;
      },
      run: (...args) => harness.run(args, { environment: environmentOf("none") }),
      runHere: (...args) => harness.runHere(args, { environment: environmentOf("none") }),
      turn: async (status, { isStored } = { isStored: true }) => {
        names.forEach((name) => targets.statuses.set(name, status));
        const event = status === 200 ? "recovery" : "problem";
        expect(event);
        await until(`each ${event}`, () => sent().length >= expected.length, { describe });
        if (!isStored) return;
        await until("the end of the queue", isQueueEmpty, { describe });
      },
      assertEachOnce: () => assert.deepEqual(sent(), expected.toSorted()),
    });
  });
}

function eventsOf({ event, missed_problem }: PostedNotification): string {
  return missed_problem === null ? event : `missed ${event}`;
}

async function openToRead(
  place: PostgresPlace,
): Promise<Pick<Store, "changes" | "outbox"> & AsyncDisposable> {
  const { changes, outbox, close } = await openPostgresStore(place, storeOptions());
  return { changes, outbox, [Symbol.asyncDispose]: () => close() };
}
