/** Checks with locations on a fake clock: members at three locations, the owner of the check, and a database between them. */
import assert from "node:assert/strict";
import fc from "../support/property.ts";
import type { Check } from "../../src/domain/check.ts";
import type { EarlyLook, LocationResult, SharedStore } from "../../src/domain/membership.ts";
import { StoreError } from "../../src/domain/store.ts";
import { AgreedRuns } from "../../src/scheduler/agreed_runs.ts";
import { ControlRuns, type LocationRuns, startLocationRuns } from "../../src/scheduler/location_runs.ts";
import { createLimiters } from "../../src/scheduler/run_checks.ts";
import { Scheduler, type SchedulerEvent } from "../../src/scheduler/scheduler.ts";
import { openStateRepository } from "../../src/state/state_repository.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { createFakeTargets } from "../../testing/fake_targets.ts";
import { type CheckOptions, requestCheck } from "../support/checks.ts";
import { createProgramSystem } from "../support/fake_commands.ts";
import { openInMemoryStore } from "../../src/state/sqlite/in_memory_store.ts";
import { createSilentEngine } from "../../testing/silent_engine.ts";
import { campaign } from "../../testing/seed.ts";

const LIMITS = { process: 4, network: 60 };
const FROM = ["fra", "nyc", "sgp"];
/** A request takes up to two heartbeats of a second. */
const CALL_MS = 2_000;

function locatedCheck(options: CheckOptions & { readonly control?: string } = {}): Check {
  const { control, ...others } = options;
  return {
    ...requestCheck("http://web/", { attentiveIntervalMs: 10_000, ...others }),
    locations: { from: FROM, agree: 2, ...control !== undefined && { control } },
  };
}

async function startInstallation(checks: readonly Check[] = [locatedCheck()]) {
  const clock = createFakeClock();
  /** Targets that fail, by location. */
  const failing = new Map<string, readonly string[]>();
  /** The locations whose runs take a while; milliseconds. */
  const slow = new Map<string, number>();
  /** Locations whose member is dead. */
  const dead = new Set<string>();
  /** Locations whose member is live, and has not started. */
  const late = new Set<string>();
  const runs: { readonly location: string; readonly atMs: number }[] = [];
  const rows = new Map<string, LocationResult & { readonly runs: number; readonly endedAtMs: number }>();
  const refuse = (): void => {
    if (!installation.isReachable) throw new StoreError("cannot reach it", "other");
  };
  const store: Pick<SharedStore, "saveLocationResults" | "locationResults"> = {
    saveLocationResults: (results) =>
      Promise.resolve().then(() => {
        refuse();
        for (const { ageMs, ...result } of results) {
          const key = `${result.check} ${result.location}`;
          const endedAtMs = clock.monotonicMs() - ageMs;
          rows.set(key, { ...result, runs: (rows.get(key)?.runs ?? 0) + 1, endedAtMs });
        }
      }),
    locationResults: (names) =>
      Promise.resolve().then(() => {
        refuse();
        return [...rows.values()].filter(({ check }) => names.includes(check))
          .map(({ endedAtMs, ...row }) => ({ ...row, ageMs: clock.monotonicMs() - endedAtMs }));
      }),
  };
  const onBug = (error: unknown): never => {
    throw error;
  };
  const config = { checks, directory: "/", redact: (text: string) => text };
  const systemAt = (location: string) => ({
    ...createProgramSystem(clock, () => ({ condition: "ok", afterMs: 20 })),
    requests: createFakeTargets(clock, (target) => {
      if (target === "http://web/") runs.push({ location, atMs: clock.monotonicMs() });
      const status = failing.get(location)?.includes(target) === true ? 500 : 200;
      return { status, afterMs: slow.get(location) ?? 20 };
    }).requests,
  });
  const members = new Map<string, LocationRuns>();
  const call = (from: string, check: string, why: EarlyLook["why"]): void => {
    clock.after(CALL_MS, () => {
      for (const [location, member] of members) if (location !== from) member.look([{ check, why }]);
      if (why !== "requested") void reconsider(check);
    });
  };
  for (const location of FROM) {
    members.set(
      location,
      await startLocationRuns(config, {
        location,
        shared: store,
        system: systemAt(location),
        share: { runs: () => !dead.has(location) && !late.has(location) },
        limits: LIMITS,
        limiters: createLimiters(LIMITS),
        callFor: (check, why) => call(location, check, why),
        onBug,
      }),
    );
  }
  const state = await openInMemoryStore();
  const repository = await openStateRepository({
    store: state,
    onFailure: () => {},
    reopen: () => openInMemoryStore(),
  });
  const agreed = new AgreedRuns({
    store,
    clock,
    isLive: (location) => !dead.has(location),
    callFor: (check, why) => call("", check, why),
  });
  const events: SchedulerEvent[] = [];
  const scheduler = new Scheduler(config, {
    system: systemAt("owner"),
    jobs: null,
    repository,
    limits: LIMITS,
    engine: createSilentEngine(repository),
    runner: agreed,
    onEvent: (event) => void events.push(event),
    onBug,
  });
  const reconsider = async (name: string): Promise<void> => {
    const check = checks.find((one) => one.name === name);
    const { observed } = repository.recordOf(name, clock.wallMs()).condition;
    if (check !== undefined && await agreed.isChanged(check, observed)) scheduler.decideNow(name);
  };
  const installation = {
    clock,
    failing,
    slow,
    runs,
    dead,
    late,
    isReachable: true,
    scheduler,
    store: state,
    results: () =>
      events.flatMap((event) =>
        event.event === "result" ? `${event.result.condition}: ${event.result.output}` : []
      ),
    notified: () =>
      events.flatMap((event) =>
        event.event === "notification" ? `${event.notification.event} ${event.notification.output}` : []
      ),
    advance: async (ms: number) => {
      // Steps, so that a share that changed is gone by.
      for (let leftMs = ms; leftMs > 0; leftMs -= 1_000) {
        for (const member of members.values()) member.spread();
        await clock.advance(Math.min(leftMs, 1_000));
      }
    },
    end: async () => {
      agreed.end();
      const stops = [scheduler.stop(0), ...[...members.values()].map((member) => member.stop(0))];
      await clock.advance(CALL_MS);
      await Promise.all(stops);
      assert.equal(clock.timers, 0, "no timer is left");
    },
  };
  return installation;
}

const MINUTE_MS = 60_000;
const OK = "ok: ok from fra, nyc, sgp (fra: status is 200)";

Deno.test("locations run a check at their own offsets, and the owner records one result an interval", async () => {
  const installation = await startInstallation();
  await installation.advance(5 * MINUTE_MS);
  const offsets = FROM.map((location) => {
    const times = installation.runs.filter((run) => run.location === location).map(({ atMs }) => atMs);
    // All but the first are at the offset.
    const own = new Set(times.slice(1).map((atMs) => atMs % MINUTE_MS));
    assert.equal(own.size, 1, `${times}`);
    return [...own][0] ?? 0;
  });
  const [fra = 0, nyc = 0, sgp = 0] = offsets;
  const distance = (one: number, other: number): number => (other - one + MINUTE_MS) % MINUTE_MS;
  assert.ok(Math.abs(distance(fra, nyc) - MINUTE_MS / 4) < 50, `${offsets}`);
  assert.ok(Math.abs(distance(nyc, sgp) - MINUTE_MS / 4) < 50, `${offsets}`);
  const [first, ...others] = installation.results();
  assert.match(first ?? "", /^ok: ok from /);
  assert.ok(others.length >= 4 && others.every((result) => result === OK), others.join("\n"));
  await installation.end();
});

Deno.test("a failure at one location causes early runs at the others, and notifies nothing", async () => {
  const installation = await startInstallation();
  await installation.advance(3 * MINUTE_MS);
  installation.failing.set("fra", ["http://web/"]);
  installation.runs.length = 0;
  await installation.advance(MINUTE_MS);
  const failed = installation.runs.findIndex(({ location }) => location === "fra");
  const failedAtMs = installation.runs[failed]?.atMs ?? 0;
  const early = installation.runs.slice(failed).filter(({ atMs }) => atMs - failedAtMs < CALL_MS + 500);
  assert.deepEqual(early.map(({ location }) => location).sort(), FROM);
  await installation.advance(5 * MINUTE_MS);
  assert.equal(
    installation.results().at(-1),
    "ok: critical from fra; ok from nyc, sgp (nyc: status is 200)",
  );
  assert.deepEqual(installation.notified(), []);
  // A failing check runs at its attentive interval there, and requests no more early runs.
  const count = (location: string): number =>
    installation.runs.filter((run) => run.location === location).length;
  assert.ok(count("fra") > 25 && count("nyc") < 10, `${count("fra")} and ${count("nyc")}`);
  await installation.end();
});

Deno.test("failures at two locations are one result, which counts for the threshold once an interval", async () => {
  const installation = await startInstallation([locatedCheck({ threshold: 2 })]);
  await installation.advance(3 * MINUTE_MS);
  const before = installation.results().length;
  for (const location of ["nyc", "sgp"]) installation.failing.set(location, ["http://web/"]);
  const until = async (isTrue: () => boolean): Promise<number> => {
    const fromMs = installation.clock.monotonicMs();
    while (!isTrue()) await installation.advance(500);
    return installation.clock.monotonicMs() - fromMs;
  };
  const isCritical = (): readonly string[] =>
    installation.results().slice(before).filter((result) => result.startsWith("critical"));
  await until(() => isCritical().length > 0);
  assert.deepEqual(installation.notified(), []);
  const secondMs = await until(() => isCritical().length > 1);
  assert.ok(secondMs > 5_000 && secondMs <= 11_000, `${secondMs}`);
  const [change] = await installation.store.changes("web", { sinceMs: 0, limit: 1 });
  assert.match(change?.trace ?? "", /^at nyc:\n.*http:\/\/web\//s);
  assert.deepEqual(installation.notified(), [
    "problem critical from nyc, sgp; ok from fra (nyc: status is 500, expected 200)",
  ]);
  installation.failing.clear();
  await installation.advance(2 * MINUTE_MS);
  assert.equal(installation.notified().length, 2);
  await installation.end();
});

Deno.test("a location whose control check fails does not count", async () => {
  const control = requestCheck("http://control/", { name: "net" });
  const installation = await startInstallation([locatedCheck({ control: "net" }), control]);
  await installation.advance(3 * MINUTE_MS);
  for (const location of ["fra", "nyc"]) {
    installation.failing.set(location, ["http://web/", "http://control/"]);
  }
  await installation.advance(2 * MINUTE_MS);
  assert.deepEqual(installation.notified(), [
    "problem results from 1 of 3 locations, 2 required: ok from sgp; " +
    'not counted: fra, nyc (control check "net" is critical)',
  ]);
  installation.failing.set("fra", ["http://web/"]);
  installation.failing.set("nyc", ["http://web/"]);
  await installation.advance(2 * MINUTE_MS);
  assert.match(installation.notified().at(-1) ?? "", /^(problem|change) critical from fra, nyc; ok from sgp/);
  await installation.end();
});

Deno.test("the result depends only on the locations that are live now", async () => {
  const some = fc.subarray(FROM);
  const steps = fc.array(fc.record({ failing: some, dead: some, isReachable: fc.boolean() }), {
    minLength: 1,
    maxLength: 4,
  });
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const installation = await startInstallation();
      for (const { failing, dead, isReachable } of all) {
        installation.isReachable = isReachable;
        installation.failing.clear();
        installation.dead.clear();
        for (const location of failing) installation.failing.set(location, ["http://web/"]);
        for (const location of dead) installation.dead.add(location);
        await installation.advance(4 * MINUTE_MS);
        if (!isReachable) continue;
        const live = FROM.filter((location) => !dead.includes(location));
        const agreeing = live.filter((location) => failing.includes(location)).length;
        const expected = live.length < 2 ? "unknown" : agreeing < 2 ? "ok" : "critical";
        assert.match(installation.results().at(-1) ?? "", new RegExp(`^${expected}: `));
      }
      await installation.end();
    }),
    { numRuns: campaign(30) },
  );
});

Deno.test("the first result requires enough locations, however late a location starts", async () => {
  const installation = await startInstallation([locatedCheck({ regularIntervalMs: 10 * MINUTE_MS })]);
  installation.late.add("fra").add("nyc");
  await installation.advance(MINUTE_MS);
  assert.deepEqual(installation.results(), []);
  installation.late.clear();
  await installation.advance(MINUTE_MS);
  assert.equal(installation.results().length, 1);
  assert.match(installation.results()[0] ?? "", /^ok: ok from /);
  await installation.end();
});

Deno.test("a requested check runs at all locations first, and awaits the slowest", async () => {
  const installation = await startInstallation([locatedCheck({ regularIntervalMs: 10 * MINUTE_MS })]);
  await installation.advance(11 * MINUTE_MS);
  installation.runs.length = 0;
  const before = installation.results().length;
  installation.slow.set("sgp", 3_000);
  assert.equal(installation.scheduler.runNow("web"), true);
  await installation.advance(CALL_MS + 2_500);
  assert.equal(installation.results().length, before);
  assert.deepEqual(installation.runs.slice(0, 3).map(({ location }) => location).sort(), FROM);
  await installation.advance(4_000);
  assert.match(installation.results().slice(before).join(), /^ok: ok from fra, nyc, sgp[^,]*$/);
  await installation.end();
});

Deno.test("ControlRuns: checks that fail together share a run, unless it is aborted", async () => {
  const clock = createFakeClock();
  let requests = 0;
  const control = requestCheck("http://control/", { name: "net" });
  const runs = new ControlRuns({ checks: [control] });
  const optionsOf = (signal: AbortSignal) => ({
    system: {
      ...createProgramSystem(clock, () => ({ condition: "ok", afterMs: 20 })),
      requests: createFakeTargets(clock, () => {
        requests++;
        return { status: 500, afterMs: 100 };
      }).requests,
    },
    jobs: null,
    directory: "/",
    redact: (text: string) => text,
    signal,
  });
  const never = new AbortController().signal;
  const check = locatedCheck({ control: "net" });
  assert.equal(await runs.run(locatedCheck(), optionsOf(never)), null);
  const aborted = new AbortController();
  const first = runs.run(check, optionsOf(aborted.signal));
  const others = [1, 2].map(() => runs.run(check, optionsOf(never)));
  await clock.advance(50);
  assert.equal(requests, 1);
  aborted.abort(new Error("The check left the config"));
  await assert.rejects(first, /left the config/);
  await clock.advance(200);
  const conditions = (await Promise.all(others)).map((result) => result?.condition);
  assert.deepEqual(conditions, ["critical", "critical"]);
  assert.ok(requests <= 3, `${requests}`);
});
