import assert from "node:assert/strict";
import type { Channel } from "../src/domain/channel.ts";
import type { Check } from "../src/domain/check.ts";
import type { Condition } from "../src/domain/condition.ts";
import type { Silence } from "../src/domain/outbox.ts";
import type { StoreFailure } from "../src/domain/store.ts";
import { type Ledger, openLedger } from "../src/ledger.ts";
import type { OutboxEvent } from "../src/outbox.ts";
import { type Reporting, startReporting } from "../src/reporting.ts";
import { testCheck } from "./support/checks.ts";
import { createFakeClock, type FakeClock } from "./support/fake_clock.ts";
import { createFaultyStore, type FaultyStore } from "./support/faulty_store.ts";
import { createMemorySystem } from "./support/memory_system.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = 1_800_000_000_000;

const CONSOLE: Channel = { kind: "console", key: "console", parameters: {} };

/** A file is touched for each report, so a test sees where reports went. */
function fileChannel(path: string): Channel {
  return { kind: "file_touch", key: path, parameters: { path } };
}

interface Desk {
  readonly clock: FakeClock;
  readonly store: FaultyStore;
  readonly ledger: Ledger;
  readonly reporting: Reporting;
  /** The console channel's lines. */
  readonly lines: string[];
  readonly events: OutboxEvent[];
  /** What the ledger said of its store. */
  readonly troubles: (StoreFailure | null)[];
  /** Enters an observation as the watch does, and sends what it leads to. */
  observe(check: Check, condition: Condition): Promise<void>;
  /** Lets each row be tried once. */
  drain(): Promise<void>;
}

interface DeskOptions {
  readonly clock?: FakeClock;
  readonly store?: FaultyStore;
  readonly notifies?: boolean;
  /** Takes the place of a damaged store. @default none does */
  readonly fresh?: FaultyStore;
}

async function openDesk(checks: readonly Check[], options: DeskOptions = {}): Promise<Desk> {
  const { clock = createFakeClock(START), store = createFaultyStore(), notifies = true } = options;
  const lines: string[] = [];
  const events: OutboxEvent[] = [];
  const troubles: (StoreFailure | null)[] = [];
  const ledger = await openLedger({
    store,
    onTrouble: (error) => void troubles.push(error?.failure ?? null),
    reopen: (error) => options.fresh === undefined ? Promise.reject(error) : Promise.resolve(options.fresh),
    newId: () => crypto.randomUUID(),
    hostName: "host",
  });
  const reporting = startReporting(documentOf(checks), {
    system: { ...createMemorySystem(), clock, random: () => 0.5 },
    ledger,
    kept: await store.outbox(),
    notifies,
    gatherMs: 0,
    writeLine: (line) => void lines.push(line),
    onEvent: (event) => void events.push(event),
    onBug: (error) => {
      throw error;
    },
  });
  const observe = async (check: Check, condition: Condition): Promise<void> => {
    const nowMs = clock.wallMs();
    const entry = ledger.enter({
      check,
      condition,
      output: condition,
      detail: "",
      metrics: {},
      performanceData: "",
      startedAtMs: nowMs - 5,
      durationMs: 5,
    }, {
      nowMs,
      held: reporting.heldBy(check, nowMs),
      rowsOf: (report) => reporting.rowsOf(report, check),
      plan: () => ({ atMs: nowMs + MINUTE, intervalMs: MINUTE, missed: 0 }),
    });
    await ledger.flush();
    reporting.send(entry.rows);
  };
  const drain = (): Promise<void> => reporting.drain(clock.wallMs() + HOUR);
  return { clock, store, ledger, reporting, lines, events, troubles, observe, drain };
}

function documentOf(checks: readonly Check[]): Parameters<typeof startReporting>[0] {
  return { checks, folder: "/", redact: (text) => text.replaceAll("swordfish", "***") };
}

function withChannels(check: Check, notifications: readonly Channel[]): Check {
  return { ...check, notifications };
}

function silence(check: string | null): Silence {
  return { id: `of ${check}`, check, fromMs: START, untilMs: START + HOUR, reason: "" };
}

const ROUTER = testCheck("ok", { name: "router" });
const WEB = testCheck("ok", { name: "web", dependsOn: ["router"] });
const FREE = withChannels(testCheck("ok", { name: "free" }), [CONSOLE]);

Deno.test("heldBy() names the first thing that holds: no channel at all, then a silence, then a dependency", async (t) => {
  const rows: Readonly<
    Record<
      string,
      readonly [expected: string | null, holds: { notifies: boolean; silenced: boolean; router: Condition }]
    >
  > = {
    "all of them": ["no_notify", { notifies: false, silenced: true, router: "critical" }],
    "a silence and a dependency": ["silence", { notifies: true, silenced: true, router: "critical" }],
    "a dependency": ["dependency", { notifies: true, silenced: false, router: "critical" }],
    "none": [null, { notifies: true, silenced: false, router: "ok" }],
  };
  for (const [name, [expected, { notifies, silenced, router }]] of Object.entries(rows)) {
    await t.step(name, async () => {
      const { store, reporting, observe } = await openDesk([ROUTER, WEB], { notifies });
      if (silenced) await store.addSilences([silence("web")]);
      await reporting.refresh();
      await observe(ROUTER, router);
      assert.equal(reporting.heldBy(WEB, START), expected);
      await reporting.stop();
    });
  }
});

Deno.test("heldBy() waits until a dependency was seen, and since the problem began", async () => {
  const { clock, reporting, observe, lines } = await openDesk([ROUTER, WEB]);
  assert.equal(reporting.heldBy(WEB, START), "dependency", "nobody has looked at the router");
  await observe(ROUTER, "ok");
  await clock.advance(MINUTE);
  await observe(WEB, "critical");
  assert.equal(reporting.heldBy(WEB, clock.wallMs()), "dependency", "the router may be down by now");
  await observe(ROUTER, "ok");
  assert.equal(reporting.heldBy(WEB, clock.wallMs()), null);
  await observe(WEB, "critical");
  await clock.advance(1);
  assert.equal(lines.length, 1);
  await reporting.stop();
});

Deno.test("heldBy() holds a check back in its maintenance window, after a silence and before a dependency", async () => {
  // 08:00 in UTC; the router is down.
  const windows = [{ fromMinute: 7 * 60 + 30, toMinute: 9 * 60, timeZone: "UTC" }];
  const web = { ...WEB, windows };
  const { reporting, store, observe } = await openDesk([ROUTER, web]);
  await observe(ROUTER, "critical");
  assert.strictEqual(reporting.heldBy(web, START), "maintenance");
  assert.strictEqual(reporting.heldBy(web, START + 2 * HOUR), "dependency");
  assert.strictEqual(reporting.heldBy(ROUTER, START), null);
  await store.addSilences([silence("web")]);
  await reporting.refresh();
  assert.strictEqual(reporting.heldBy(web, START), "silence");
  await reporting.stop();
});

Deno.test("refresh() reads silences, and goes on with those it knows while the store is in trouble", async () => {
  const { store, reporting } = await openDesk([FREE]);
  await store.addSilences([silence(null)]);
  assert.equal(reporting.heldBy(FREE, START), null, "nobody has read it yet");
  await reporting.refresh();
  assert.equal(reporting.heldBy(FREE, START), "silence");
  store.failure = "busy";
  await reporting.refresh();
  assert.equal(reporting.heldBy(FREE, START), "silence");
  assert.equal(reporting.heldBy(FREE, START + HOUR), null, "its end comes without being read");
  store.failure = null;
  await store.endSilences("all", START);
  await reporting.refresh();
  assert.equal(reporting.heldBy(FREE, START), null);
  await reporting.stop();
});

Deno.test("rowsOf() sends a recovery only where its problem went", async () => {
  await withFolder(async (folder) => {
    const file = fileChannel(`${folder}/told`);
    const both = withChannels(FREE, [CONSOLE, file]);
    const { clock, reporting, observe, drain, lines } = await openDesk([FREE]);
    await observe(FREE, "critical");
    await drain();
    reporting.adopt(documentOf([both]));
    await clock.advance(MINUTE);
    await observe(both, "ok");
    await drain();
    assert.deepEqual(lines.map((line) => / ([A-Z]+)\b/.exec(line)?.[1]), ["CRITICAL", "OK"]);
    await assert.rejects(Deno.stat(`${folder}/told`), Deno.errors.NotFound);
    assert.deepEqual(reporting.rows, []);
    await observe(both, "critical");
    await drain();
    assert.ok((await Deno.stat(`${folder}/told`)).isFile, "the next problem is told there too");
    await reporting.stop();
  });
});

Deno.test("rowsOf() sends a recovery after a problem that still waits", async () => {
  const { clock, reporting, observe, drain, lines } = await openDesk([FREE]);
  await observe(FREE, "critical");
  await observe(FREE, "ok");
  assert.deepEqual(reporting.rows.map((row) => row.report.event), ["problem", "recovery"]);
  await clock.advance(1);
  await drain();
  assert.equal(lines.length, 1, "what was over before it could be told is told as one");
  assert.deepEqual(reporting.rows, []);
  await reporting.stop();
});

Deno.test("rowsOf() goes on counting where the kept rows end", async () => {
  const hopeless = withChannels(FREE, [fileChannel("/none/such/folder/told")]);
  const first = await openDesk([hopeless]);
  await first.observe(hopeless, "critical");
  await first.drain();
  await first.reporting.stop();
  const second = await openDesk([hopeless], { store: first.store, clock: first.clock });
  await second.observe(hopeless, "warning");
  await second.observe(hopeless, "ok");
  const sequences = second.reporting.rows.map((row) => row.sequence);
  assert.deepEqual(sequences, sequences.toSorted((one, other) => one - other));
  assert.equal(new Set(sequences).size, sequences.length);
  assert.equal(second.reporting.rows[0]?.report.event, "problem");
  await second.reporting.stop();
});

Deno.test("send() delivers while the store is full, and keeps afterwards that it is done", async () => {
  const { store, ledger, reporting, observe, drain, lines, troubles } = await openDesk([FREE]);
  store.failure = "full";
  await observe(FREE, "critical");
  await drain();
  assert.equal(lines.length, 1);
  assert.deepEqual(troubles, ["full"]);
  store.failure = null;
  await ledger.flush();
  await reporting.stop();
  const { rows, told } = await store.outbox();
  assert.deepEqual(rows, [], "what arrived is not kept as waiting");
  assert.deepEqual(told.map(({ check, channelKey }) => [check, channelKey]), [["free", "console"]]);
  const next = await openDesk([FREE], { store });
  await next.drain();
  assert.deepEqual(next.lines, []);
  await next.reporting.stop();
});

Deno.test("send() loses no recovery where a process ends between the change and what became of its rows", async () => {
  const { store, ledger, reporting, observe, drain, lines } = await openDesk([FREE]);
  store.failure = "full";
  await observe(FREE, "critical");
  await drain();
  assert.equal(lines.length, 1);
  // There is room again for what was decided, and the process is killed before anything else is kept.
  store.failure = null;
  await ledger.flush();
  const [sent] = (await store.outbox()).rows;
  assert.equal(sent?.messageId, sent?.report.id, "it may have arrived");
  const next = await openDesk([FREE], { store });
  await next.observe(FREE, "ok");
  await next.drain();
  assert.deepEqual(next.lines.map((line) => /(OK, recovered|CRITICAL): free/.exec(line)?.[0]), [
    "CRITICAL: free",
    "OK, recovered: free",
  ]);
  await next.reporting.stop();
  await reporting.stop();
});

Deno.test("send() keeps what did not arrive, once, when a full store takes it", async () => {
  await withFolder(async (folder) => {
    const check = withChannels(FREE, [fileChannel(`${folder}/later/told`)]);
    const { clock, store, ledger, reporting, observe, drain } = await openDesk([check]);
    store.failure = "full";
    await observe(check, "critical");
    await drain();
    assert.deepEqual(reporting.rows.map((row) => row.state), ["refused"]);
    store.failure = null;
    await ledger.flush();
    await reporting.stop();
    const { rows } = await store.outbox();
    assert.deepEqual(rows, reporting.rows);
    assert.equal(rows.length, 1);
    await Deno.mkdir(`${folder}/later`);
    const next = await openDesk([check], { store, clock });
    await next.drain();
    assert.ok((await Deno.stat(`${folder}/later/told`)).isFile);
    await next.reporting.stop();
    assert.deepEqual((await store.outbox()).rows, []);
  });
});

Deno.test("adopt() gives up what waits for a channel that the document has no more", async () => {
  const hopeless = withChannels(FREE, [fileChannel("/none/such/folder/told")]);
  const { reporting, observe, drain, events, store } = await openDesk([hopeless]);
  await observe(hopeless, "critical");
  await drain();
  reporting.adopt(documentOf([withChannels(FREE, [])]));
  await drain();
  assert.deepEqual(events.map(({ event }) => event), ["failed", "given_up"]);
  const [row] = (await store.outbox()).rows;
  assert.deepEqual([row?.state, row?.lastFailure], ["given_up", "the channel is no longer in the document"]);
  await reporting.stop();
});

Deno.test("adopt() hands what waits to the channel that takes the place of one, and so does the next start", async (t) => {
  for (const way of ["reload", "start"]) {
    await t.step(way, async () => {
      const before = withChannels(FREE, [CONSOLE, fileChannel("/none/such/folder/told")]);
      const desk = await openDesk([before]);
      await desk.observe(before, "critical");
      await desk.drain();
      assert.deepEqual(desk.lines.length, 1);
      const folder = await Deno.makeTempDir();
      const after = withChannels(FREE, [CONSOLE, fileChannel(`${folder}/told`)]);
      if (way === "reload") desk.reporting.adopt(documentOf([after]));
      else await desk.reporting.stop();
      const { clock, store } = desk;
      const { reporting, events, lines, drain } = way === "reload"
        ? desk
        : await openDesk([after], { clock, store });
      await drain();
      assert.ok((await Deno.stat(`${folder}/told`)).isFile);
      assert.equal(lines.length, way === "reload" ? 1 : 0, "who was told is not told again");
      assert.deepEqual(
        events.map(({ event }) => event).slice(-2),
        ["readdressed", "delivered"],
      );
      assert.deepEqual((await store.outbox()).rows, []);
      await reporting.stop();
      await Deno.remove(folder, { recursive: true });
    });
  }
});

Deno.test("adopt() has handed over for good what it hands over: the same document again takes nothing away", async (t) => {
  for (const way of ["a reload", "a start after a kill"]) {
    await t.step(way, async () => {
      const folder = await Deno.makeTempDir();
      const before = withChannels(FREE, [fileChannel(`${folder}/there/told`)]);
      await Deno.mkdir(`${folder}/there`);
      const desk = await openDesk([before]);
      await desk.observe(before, "warning");
      await desk.drain();
      await Deno.remove(`${folder}/there`, { recursive: true });
      await desk.observe(before, "critical");
      await desk.drain();
      const after = withChannels(FREE, [fileChannel(`${folder}/told`)]);
      desk.reporting.adopt(documentOf([after]));
      if (way === "a reload") desk.reporting.adopt(documentOf([after]));
      await desk.reporting.catchUp();
      const { clock, store } = desk;
      const { drain, reporting } = way === "a reload" ? desk : await openDesk([after], { clock, store });
      await drain();
      assert.ok((await Deno.stat(`${folder}/told`)).isFile);
      assert.deepEqual(reporting.rows, []);
      await Promise.all([reporting.stop(), desk.reporting.stop()]);
      await Deno.remove(folder, { recursive: true });
    });
  }
});

Deno.test("adopt() goes by what each check had: what another still has, or had all along, takes nobody's place", async (t) => {
  for (const way of ["reload", "start"]) {
    await t.step(way, async () => {
      const folder = await Deno.makeTempDir();
      const shared = fileChannel("/none/such/folder/told");
      const silent = fileChannel(`${folder}/silent`);
      const checks = [withChannels(FREE, [shared]), withChannels(ROUTER, [shared])];
      const desk = await openDesk(checks);
      const [free = FREE, router = ROUTER] = checks;
      await desk.observe(free, "critical");
      await desk.drain();
      // A channel that comes later is not told what was decided before.
      desk.reporting.adopt(documentOf([withChannels(FREE, [silent, shared]), router]));
      await desk.drain();
      const mended = withChannels(FREE, [silent, fileChannel(`${folder}/mended`)]);
      if (way === "reload") desk.reporting.adopt(documentOf([mended, router]));
      else await desk.reporting.stop();
      const { clock, store } = desk;
      const { drain, reporting } = way === "reload"
        ? desk
        : await openDesk([mended, router], { clock, store });
      await drain();
      assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["mended"]);
      assert.deepEqual(reporting.rows, []);
      await reporting.stop();
      await Deno.remove(folder, { recursive: true });
    });
  }
});

Deno.test("holds() keeps what waits while a silence holds what came after it", async () => {
  const folder = await Deno.makeTempDir();
  const before = withChannels(FREE, [fileChannel("/none/such/folder/told")]);
  const { reporting, observe, drain, store, clock } = await openDesk([before]);
  await observe(before, "critical");
  await drain();
  await store.addSilences([{ ...silence(null), untilMs: START + 48 * HOUR }]);
  await reporting.refresh();
  await observe(before, "ok");
  await clock.advance(25 * HOUR);
  await drain();
  const after = withChannels(FREE, [fileChannel(`${folder}/told`)]);
  reporting.adopt(documentOf([after]));
  // It begins again, and nothing else tells of it.
  await observe(after, "critical");
  await drain();
  assert.ok((await Deno.stat(`${folder}/told`)).isFile);
  await reporting.stop();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("adopt() gives up what a check is to tell no more over a channel that another check still has", async () => {
  const folder = await Deno.makeTempDir();
  const shared = fileChannel(`${folder}/there/told`);
  const checks = [withChannels(FREE, [shared, CONSOLE]), withChannels(ROUTER, [shared])] as const;
  const { reporting, observe, drain, lines, events } = await openDesk(checks);
  await observe(checks[0], "critical");
  await drain();
  reporting.adopt(documentOf([withChannels(FREE, [CONSOLE]), checks[1]]));
  await Deno.mkdir(`${folder}/there`);
  await drain();
  assert.equal(lines.length, 1);
  assert.deepEqual([...Deno.readDirSync(`${folder}/there`)], []);
  assert.deepEqual(events.map(({ event }) => event).slice(-1), ["given_up"]);
  assert.equal(reporting.rows[0]?.lastFailure, "its check no longer has this channel");
  await reporting.stop();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("catchUp() brings nothing back that was told while nothing could be kept", async () => {
  const fresh = createFaultyStore();
  const { store, reporting, observe, drain, lines } = await openDesk([FREE], { fresh });
  store.failure = "full";
  await observe(FREE, "critical");
  await drain();
  assert.equal(lines.length, 1);
  store.failure = "damaged";
  await observe(FREE, "critical");
  await reporting.catchUp();
  const { rows, told } = await fresh.outbox();
  assert.deepEqual([rows, told.length], [[], 1]);
  await reporting.stop();
});

Deno.test("catchUp() lets a store that takes the place of a damaged one know all that waits and was told", async () => {
  const folder = await Deno.makeTempDir();
  const fresh = createFaultyStore();
  const [told, hopeless] = [fileChannel(`${folder}/told`), fileChannel("/none/such/folder/told")];
  const check = withChannels(FREE, [told, hopeless]);
  const { store, ledger, reporting, observe, drain } = await openDesk([check], { fresh });
  await observe(check, "critical");
  await drain();
  const kept = await store.outbox();
  assert.equal(kept.rows.length + kept.told.length, 2);
  store.failure = "damaged";
  await observe(check, "critical");
  await reporting.catchUp();
  assert.equal(ledger.store, fresh);
  assert.deepEqual(await fresh.outbox(), kept);
  await reporting.stop();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("adopt() lets the channel that takes the place of one know what that one was told", async () => {
  const folder = await Deno.makeTempDir();
  const before = withChannels(FREE, [fileChannel(`${folder}/before`)]);
  const { reporting, observe, drain, ledger, store, events } = await openDesk([before]);
  await observe(before, "critical");
  await drain();
  const after = withChannels(FREE, [fileChannel(`${folder}/after`)]);
  reporting.adopt(documentOf([after]));
  await observe(after, "ok");
  await drain();
  assert.ok((await Deno.stat(`${folder}/after`)).isFile, "it is told of the recovery");
  assert.deepEqual(events.map(({ event }) => event), ["delivered", "delivered"]);
  assert.equal(ledger.recordOf(FREE.name, START).condition.reported, "ok");
  assert.deepEqual(await store.outbox().then(({ rows, told }) => [rows, told]), [[], []]);
  await reporting.stop();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("adopt() lets a recovery follow its problem to the channel that takes the place of one", async () => {
  const before = withChannels(FREE, [fileChannel("/none/such/folder/told")]);
  const { reporting, observe, drain, lines, store } = await openDesk([before]);
  await observe(before, "critical");
  await drain();
  reporting.adopt(documentOf([FREE]));
  // It is over before it was handed over.
  await observe(FREE, "ok");
  await drain();
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /OK, recovered: free: ok \(was critical from/);
  assert.deepEqual((await store.outbox()).rows, []);
  await reporting.stop();
});

Deno.test("startReporting() takes secrets out of what a channel says", async () => {
  const check = withChannels(FREE, [fileChannel("/none/swordfish/told")]);
  const { reporting, observe, drain, events } = await openDesk([check]);
  await observe(check, "critical");
  await drain();
  assert.equal(
    JSON.stringify(events.map((event) => "reason" in event && event.reason)).includes("swordfish"),
    false,
  );
  assert.equal(reporting.rows[0]?.lastFailure?.includes("swordfish"), false);
  await reporting.stop();
});

Deno.test("startReporting() without notifications leaves kept rows as they are", async () => {
  const hopeless = withChannels(FREE, [fileChannel("/none/such/folder/told")]);
  const first = await openDesk([hopeless]);
  await first.observe(hopeless, "critical");
  await first.drain();
  await first.reporting.stop();
  const { rows } = await first.store.outbox();
  const mute = await openDesk([hopeless], { store: first.store, clock: first.clock, notifies: false });
  await mute.drain();
  await mute.clock.advance(2 * HOUR);
  await mute.reporting.stop();
  assert.deepEqual(mute.events, []);
  assert.deepEqual((await first.store.outbox()).rows, rows);
});

async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "monitor_reporting_" });
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
