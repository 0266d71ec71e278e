/**
 * Several monitors that share a state: every check runs, and each problem is notified once and in order, whatever becomes
 * of one of them. A test knows the truth, since it is the target; the receiver logs what was sent.
 */
import assert from "node:assert/strict";
import type { PostgresPlace } from "../../src/domain/postgres_place.ts";
import type { Store } from "../../src/domain/store.ts";
import { openPostgresStore } from "../../src/state/postgres/postgres_store.ts";
import {
  POSTGRES,
  type PostgresServer,
  sharedPostgres,
  startPostgres,
  storeOptions,
} from "../support/postgres.ts";
import { inTime } from "./in_time.ts";
import { type End, type Harness, type Program, withHarness } from "./program.ts";
import { type Hook, type PostedNotification, startHook } from "./receivers.ts";

const postgres = sharedPostgres();

/** A server with a status for each path, which is the name of a check. */
interface Targets extends AsyncDisposable {
  readonly statuses: Map<string, number>;
  /** How often each was requested. */
  readonly runs: Map<string, number>;
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
      return new Response("", { status: statuses.get(name) ?? 200 });
    },
  );
  return {
    statuses,
    runs,
    url: (name) => `http://127.0.0.1:${server.addr.port}/${name}`,
    async [Symbol.asyncDispose]() {
      abort.abort();
      await inTime("the server to end", server.finished);
    },
  };
}

/** An installation, and what its users see of it. */
interface Installation {
  readonly names: readonly string[];
  readonly targets: Targets;
  readonly hook: Hook;
  /** Starts a member. */
  start(member: string, args?: readonly string[]): Program;
  /** Runs another command to its end. */
  run(...args: readonly string[]): Promise<End>;
  /** Writes the config of members that are started, or reload, from now on. */
  writeConfig(others?: Readonly<Record<string, unknown>>): void;
  /** Lets all checks fail, or be well again, and waits until each was notified. */
  turn(status: 200 | 500, options?: { readonly isStored: boolean }): Promise<void>;
  /** Expects that each check was notified of an event. */
  expect(event: string): void;
  /** Asserts that each problem and each recovery was notified once, in order. */
  assertEachOnce(): void;
}

async function withInstallation(
  use: (installation: Installation) => Promise<void>,
  server: PostgresServer = postgres(),
): Promise<void> {
  await withHarness(async (harness: Harness) => {
    await using targets = startTargets();
    await using hook = startHook();
    const names = Array.from({ length: 12 }, (_, index) => `web${index}`);
    const place = server.place();
    const { directory } = server;
    const writeConfig = (others = {}): void =>
      harness.writeConfig(
        Object.fromEntries(
          names.map((name) => [name, {
            kind: "http_request",
            parameters: { request: { target: targets.url(name) } },
            notifications: [hook.channel],
          }]),
        ),
        {
          state: {
            postgres: {
              hosts: [directory],
              database: place.database,
              user: place.user,
              schema: place.schema,
              fail_open_after: 2,
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
    await use({
      names,
      targets,
      hook,
      writeConfig,
      expect,
      start: (member, args = []) => {
        const program = harness.start(["check", "--member", member, ...args], { limitMs: 120_000 });
        programs.push(program);
        return program;
      },
      run: (...args) => harness.run(args),
      turn: async (status, { isStored } = { isStored: true }) => {
        names.forEach((name) => targets.statuses.set(name, status));
        const event = status === 200 ? "recovery" : "problem";
        expect(event);
        await until(`each ${event}`, () => sent().length >= expected.length, describe);
        if (!isStored) return;
        await until(
          "the end of the queue",
          async () => (await store.outbox()).notifications.length === 0,
          describe,
        );
      },
      assertEachOnce: () => assert.deepEqual(sent(), expected.toSorted()),
    });
  });
}

function eventsOf({ event, missed_problem }: PostedNotification): string {
  return missed_problem === null ? event : `missed ${event}`;
}

async function openToRead(place: PostgresPlace): Promise<Pick<Store, "outbox"> & AsyncDisposable> {
  const store = await openPostgresStore(place, storeOptions());
  return { outbox: store.outbox, [Symbol.asyncDispose]: () => store.close() };
}

async function until(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  describe = () => "",
): Promise<void> {
  const deadlineMs = performance.now() + 40_000;
  while (!await isTrue()) {
    if (performance.now() > deadlineMs) assert.fail(`waited for ${what}\n${describe()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function stop(...members: readonly Program[]): Promise<void> {
  members.forEach((member) => member.signal("SIGTERM"));
  for (const member of members) {
    const { code, stderr } = await member.end();
    assert.equal(code, 0, stderr);
  }
}

Deno.test(
  "members share the checks, and the others take over those of one that is killed",
  POSTGRES,
  async () => {
    await withInstallation(async ({ targets, names, start, turn, assertEachOnce }) => {
      const [killed, ...others] = ["a", "b", "c"].map((name) => start(name)) as [Program, Program, Program];
      await turn(500);
      await turn(200);
      killed.signal("SIGKILL");
      const before = new Map(targets.runs);
      await turn(500);
      await turn(200);
      for (const name of names) assert.ok((targets.runs.get(name) ?? 0) > (before.get(name) ?? 0), name);
      await others[0].stderr.next('member "a" left or died');
      await stop(...others);
      assertEachOnce();
    });
  },
);

Deno.test(
  "a member that was stopped for long sends nothing twice, and takes part again",
  POSTGRES,
  async () => {
    await withInstallation(async ({ start, turn, assertEachOnce }) => {
      const members = ["a", "b"].map((name) => start(name)) as [Program, Program];
      await turn(500);
      members[0].signal("SIGSTOP");
      await turn(200);
      members[0].signal("SIGCONT");
      await members[1].stderr.next('member "a" joined');
      await turn(500);
      await stop(...members);
      assertEachOnce();
    });
  },
);

Deno.test(
  "a member that is stopped by SIGTERM leaves its checks to the others at once",
  POSTGRES,
  async () => {
    await withInstallation(async ({ targets, names, start, turn, assertEachOnce }) => {
      const [leaving, staying] = ["a", "b"].map((name) => start(name)) as [Program, Program];
      await turn(500);
      await stop(leaving);
      const before = new Map(targets.runs);
      await until(
        "all checks to run",
        () => names.every((name) => (targets.runs.get(name) ?? 0) > (before.get(name) ?? 0)),
      );
      await turn(200);
      await stop(staying);
      assertEachOnce();
    });
  },
);

Deno.test(
  "a second monitor with the name of a member takes its place, which exits with 75",
  POSTGRES,
  async () => {
    await withInstallation(async ({ start, turn, assertEachOnce }) => {
      const older = start("a");
      await turn(500);
      const newer = start("a");
      const { code, stderr } = await older.end();
      assert.equal(code, 75);
      assert.match(stderr, /a newer monitor has the same member name, "a"/);
      await turn(200);
      await stop(newer);
      assertEachOnce();
    });
  },
);

Deno.test("a member with another config than most runs nothing, until most have it", POSTGRES, async () => {
  await withInstallation(async ({ start, turn, writeConfig, assertEachOnce }) => {
    const members = ["a", "b"].map((name) => start(name)) as [Program, Program];
    await turn(500);
    writeConfig({ defaults: { threshold: 2, schedule: { regular_interval: 1 } } });
    const other = start("c");
    await other.stderr.next("most members have another config: running no checks");
    await turn(200);
    writeConfig();
    other.signal("SIGHUP");
    await other.stderr.next("the config of this member is active");
    await turn(500);
    await stop(...members, other);
    assertEachOnce();
  });
});

Deno.test(
  "members send their own notifications while the database is away, and write back",
  POSTGRES,
  async () => {
    await using server = await startPostgres();
    await withInstallation(async ({ hook, names, start, run, turn, assertEachOnce }) => {
      const members = ["a", "b"].map((name) => start(name)) as [Program, Program];
      await turn(500);
      await turn(200);
      await server.kill();
      await turn(500, { isStored: false });
      const texts = hook.posts.slice(-2).flatMap(({ notifications }) =>
        notifications.map(({ output }) => output)
      );
      assert.ok(texts.every((text) => text.endsWith("(shared state unreachable)")), texts.join("\n"));
      assert.equal((await run("status")).code, 74);
      await server.start();
      await members[0].stderr.next("shared state reachable again");
      await turn(200);
      await stop(...members);
      assertEachOnce();
      const { stdout } = await run("history", names[0] ?? "");
      assert.equal(stdout.match(/ok to critical/g)?.length, 2, stdout);
    }, server);
  },
);

Deno.test(
  "calls by cron on several machines run each due check once, and one of them sends",
  POSTGRES,
  async () => {
    await withInstallation(async ({ targets, names, run, hook, assertEachOnce, expect }) => {
      names.forEach((name) => targets.statuses.set(name, 500));
      const ends = await Promise.all([1, 2, 3].map(() => run("check", "--once", "--due")));
      for (const { code, stderr } of ends) assert.ok([0, 2].includes(code), stderr);
      const plans = names.filter((name) => (targets.runs.get(name) ?? 0) > 1);
      assert.deepEqual(plans, []);
      const later = await run("check", "--once");
      assert.equal(later.code, 2, later.stderr);
      expect("problem");
      assertEachOnce();
      assert.ok(hook.posts.length <= 3);
    });
  },
);

Deno.test("a single run leaves it to the members that run as services to send", POSTGRES, async () => {
  await withInstallation(async ({ start, run, turn, assertEachOnce }) => {
    const member = start("a");
    await turn(500);
    const { code } = await run("check", "--once");
    assert.equal(code, 2);
    await turn(200);
    await stop(member);
    assertEachOnce();
  });
});

Deno.test("monitor members shows who is live, has the active config, and runs what", POSTGRES, async () => {
  await withInstallation(async ({ names, start, run, turn, writeConfig }) => {
    const [killed, live] = ["a", "b"].map((name) => start(name)) as [Program, Program];
    await turn(500);
    writeConfig({ defaults: { threshold: 2, schedule: { regular_interval: 1 } } });
    const other = start("c");
    await other.stderr.next("most members have another config");
    writeConfig();
    const { stdout } = await run("members");
    const counts = [...stdout.matchAll(/^[ab] {2}live, (\d+) checks?, sends for [01] channels?$/gm)];
    assert.equal(counts.reduce((sum, [, count]) => sum + Number(count), 0), names.length, stdout);
    assert.match(stdout, /^c {2}live, has another config than most: runs no checks$/m);
    killed.signal("SIGKILL");
    await live.stderr.next('member "a" left or died');
    const { stdout: text } = await run("members", "--format", "json");
    const members = JSON.parse(text) as readonly Readonly<Record<string, unknown>>[];
    assert.deepEqual(members.map(({ member, live }) => [member, live]), [["a", false], ["b", true], [
      "c",
      true,
    ]]);
    await stop(live, other);
    assert.match((await run("members")).stdout, /^a {2}dead, last heartbeat .+ ago\n$/);
  });
});
