/** The program is killed with SIGKILL at random moments, in the middle of a busy run. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { Event } from "./lines.ts";
import { type Harness, type Program, withHarness } from "./program.ts";
import { campaign, testRandom } from "../../testing/seed.ts";
import { requiresTools } from "../../testing/tools.ts";

const random = testRandom("kills of the program");

/** How often it is killed; in the soak 200: `KILL_ROUNDS=200 deno test -A tests/life/kill_test.ts`. */
const ROUNDS = Number(Deno.env.get("KILL_ROUNDS") ?? campaign(10));

const CHECK_COUNT = 40;

/** A kill comes after some of so many results; how many, is another share of them each round. */
const RESULTS_MAX = 50;

/** It comes at most so long after the last of them: while more come, or while they are kept. */
const KILL_WITHIN_MS = 60;

/** In some rounds it is killed while it starts, which takes at most so long. */
const START_MS = 400;

/** While it runs, every check turns each time that so many more results were printed. */
const TURN_AFTER_RESULTS = 30;

Deno.test(
  "monitor check: no notified change is lost or stored twice, whenever it is killed",
  requiresTools("time"),
  () =>
    withHarness(async (harness) => {
      harness.writeConfig(flappingChecks(), { state: "kept.sqlite" });
      const notified: Notified[] = [];
      let turns = 0;
      const turn = (): void => touchOrRemove(harness, turns++ % 2 === 0);
      // A kill may come before anything was sent, so there are more rounds until enough was.
      for (let round = 0; round < ROUNDS || notified.length < ROUNDS && round < 10 * ROUNDS; round++) {
        turn();
        const program = harness.start(["check", "--format", "ndjson"]);
        const resultsWanted = 1 + Math.floor(RESULTS_MAX * (round % ROUNDS + random.next()) / ROUNDS);
        const said = await runAndKill(program, { turn, resultsWanted: round % 4 === 3 ? 0 : resultsWanted });
        notified.push(...said.notifications);
        assertKept(
          harness,
          notified,
          `round ${round}: ${said.results} results and ${said.notifications.length} notifications`,
        );
      }
      assert.ok(notified.length >= ROUNDS, `only ${notified.length} changes were told before the kills`);

      // It lives until every check has sent a notification.
      turn();
      const last = harness.start(["check", "--format", "ndjson"]);
      const names = new Set(notified.map(({ name }) => name));
      for (let results = 1; names.size < CHECK_COUNT;) {
        const { event, notification } = JSON.parse(
          await last.stdout.next(/^{"event":"(result|notification)"/),
        ) as Event;
        if (event === "notification") names.add(notifiedBy(notification as Event).name);
        else if (results++ % CHECK_COUNT === 0) turn();
      }
      last.signal("SIGKILL");
      notified.push(...await notificationsOf(last));
      assertKept(harness, notified, "the last round");
      // The next run continues from the stored state.
      assert.notEqual((await harness.runHere(["status"])).code, 74);
      assert.notEqual((await harness.runHere(["check", "--once"])).code, 74);
    }),
);

/** A change of a confirmed condition, as in a notification or in the state. */
interface Notified {
  readonly name: string;
  readonly atMs: number;
  readonly from: string;
  readonly to: string;
}

function flappingChecks(): Readonly<Record<string, unknown>> {
  const names = Array.from({ length: CHECK_COUNT }, (_, index) => `file ${index}`);
  return Object.fromEntries(names.map((name) => [name, {
    kind: "file_timestamp",
    parameters: { path: "./turned", condition_on_missing: "critical" },
  }]));
}

function touchOrRemove({ directory }: Harness, isThere: boolean): void {
  if (isThere) Deno.writeTextFileSync(`${directory}/turned`, "");
  else Deno.removeSync(`${directory}/turned`);
}

/** Where no result is waited for, the kill comes while it starts. */
async function runAndKill(
  program: Program,
  { turn, resultsWanted }: { readonly turn: () => void; readonly resultsWanted: number },
): Promise<{ readonly results: number; readonly notifications: readonly Notified[] }> {
  let timer: ReturnType<typeof setTimeout> | null = null;
  const killWithin = (ms: number): void => {
    timer ??= setTimeout(() => program.signal("SIGKILL"), random.below(ms));
  };
  if (resultsWanted === 0) killWithin(START_MS);
  let results = 0;
  while (await isThereAnother(program)) {
    results++;
    if (results >= resultsWanted) killWithin(KILL_WITHIN_MS);
    if (results % TURN_AFTER_RESULTS === 0) turn();
  }
  return { results, notifications: await notificationsOf(program) };
}

/** Returns the notifications of a process that was killed. */
async function notificationsOf(program: Program): Promise<readonly Notified[]> {
  const { stdout, code, stderr } = await program.end();
  assert.equal(code, 137, stderr);
  // Text after the last line feed was cut off.
  const lines = stdout.slice(0, stdout.lastIndexOf("\n") + 1).split("\n").filter((line) => line !== "");
  const events = lines.map((line) => JSON.parse(line) as Event);
  return events.flatMap(({ event, notification }) =>
    event === "notification" ? [notifiedBy(notification as Event)] : []
  );
}

/** Returns whether another result comes; after the last one comes the kill. */
async function isThereAnother({ stdout }: Program): Promise<boolean> {
  try {
    await stdout.event("result");
    return true;
  } catch {
    return false;
  }
}

function notifiedBy(notification: Event): Notified {
  return {
    name: String(notification["check"]),
    atMs: Date.parse(String(notification["decided_at"])),
    from: String(notification["previous"]),
    to: String(notification["condition"]),
  };
}

interface Kept {
  readonly integrity: unknown;
  /** By check, in the order in which they were kept. */
  readonly changes: ReadonlyMap<string, readonly Notified[]>;
  readonly confirmed: ReadonlyMap<string, string>;
}

/** Opened for writing, so that the journal left by the kill is handled as in the program. */
function readState(path: string): Kept {
  const database = new DatabaseSync(path);
  try {
    const changes = new Map<string, Notified[]>();
    const rows = database.prepare(
      "SELECT name, at_ms, from_condition, to_condition FROM changes JOIN checks ON checks.id = check_id " +
        "ORDER BY changes.id",
    ).all();
    for (const row of rows) {
      const name = String(row["name"]);
      const change = {
        name,
        atMs: Math.floor(Number(row["at_ms"])),
        from: String(row["from_condition"]),
        to: String(row["to_condition"]),
      };
      changes.set(name, [...changes.get(name) ?? [], change]);
    }
    const records = database.prepare("SELECT name, condition FROM checks").all();
    return {
      integrity: database.prepare("PRAGMA integrity_check").get()?.["integrity_check"],
      changes,
      confirmed: new Map(records.map(({ name, condition }) => [
        String(name),
        String(JSON.parse(String(condition)).confirmed),
      ])),
    };
  } finally {
    database.close();
  }
}

/** Asserts that everything notified is stored, once, and that the stored data is consistent. */
function assertKept({ directory }: Harness, notified: readonly Notified[], what: string): void {
  const { integrity, changes, confirmed } = readState(`${directory}/kept.sqlite`);
  assert.equal(integrity, "ok", what);
  assertOneChain(changes, confirmed, what);
  assertAllKept(notified, changes, what);
}

/** Each change begins where the one before ended, and the last one ends where the check is. */
function assertOneChain(
  changes: ReadonlyMap<string, readonly Notified[]>,
  confirmed: ReadonlyMap<string, string>,
  what: string,
): void {
  for (const [name, condition] of confirmed) {
    // The first ok is no change.
    let now = changes.get(name)?.[0]?.from === "pending" ? "pending" : "ok";
    for (const { from, to } of changes.get(name) ?? []) {
      assert.equal(from, now, `${what}: a change of "${name}" is lost or kept twice`);
      now = to;
    }
    assert.equal(condition, now, `${what}: "${name}" is confirmed as no change says`);
  }
}

function assertAllKept(
  notified: readonly Notified[],
  changes: ReadonlyMap<string, readonly Notified[]>,
  what: string,
): void {
  const counts = new Map<string, number>();
  for (const change of [...changes.values()].flat()) {
    const text = JSON.stringify(change);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  for (const change of notified) {
    const text = JSON.stringify(change);
    assert.equal(counts.get(text), 1, `${what}: ${text} was told`);
  }
}
