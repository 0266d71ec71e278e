/** The program is killed with SIGKILL at random moments, in the middle of a busy run. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { Event } from "./lines.ts";
import { type Harness, type Program, withHarness } from "./program.ts";
import { campaign, testRandom } from "../../testing/seed.ts";
import { testWith } from "../../testing/tools.ts";
import { provided } from "../support/concurrent_tests.ts";

const random = testRandom("kills of the program");

/** How often it is killed; in the soak 200: `KILL_ROUNDS=200 deno test -A tests/life/kill_test.ts`. */
const ROUNDS = Number(Deno.env.get("KILL_ROUNDS") ?? campaign(10));
const CHECKS = Array.from({ length: 40 }, (_, index) => `file ${index}`);
/** A kill comes after some of so many results; how many, is another share of them each round. */
const RESULTS_MAX = 50;
/** It comes at most so long after the last of them: while more come, or while they are kept. */
const KILL_WITHIN_MS = 60;
/** In some rounds it is killed while it starts, which takes at most so long. */
const START_MS = 400;
/** While it runs, every check turns each time that so many more results were printed. */
const TURN_AFTER_RESULTS = 30;

provided(withHarness, testWith("time"))(
  "monitor check: no notified change is lost or stored twice, whenever it is killed",
  async (harness) => {
    const parameters = { path: "./turned", condition_on_missing: "critical" };
    const checks = CHECKS.map((name) => [name, { kind: "file_timestamp", parameters }]);
    harness.writeConfig(Object.fromEntries(checks), { state: "kept.sqlite" });
    const path = `${harness.directory}/turned`;
    let turns = 0;
    const turn = (): void => turns++ % 2 === 0 ? Deno.writeTextFileSync(path, "") : Deno.removeSync(path);
    const notified: string[] = [];
    // A kill may come before anything was sent, so there are more rounds until enough was.
    for (let round = 0; round < ROUNDS || notified.length < ROUNDS && round < 10 * ROUNDS; round++) {
      turn();
      const program = harness.start(["check", "--format", "ndjson"]);
      const wanted = 1 + Math.floor(RESULTS_MAX * (round % ROUNDS + random.next()) / ROUNDS);
      notified.push(...await runAndKill(program, turn, round % 4 === 3 ? 0 : wanted));
      assertKept(harness, notified, `round ${round}`);
    }
    assert.ok(notified.length >= ROUNDS, `only ${notified.length} changes were sent before the kills`);
    // The next run continues from the stored state.
    assert.notEqual((await harness.runHere(["check", "--once"])).code, 74);
  },
);

/** Kills the program after so many results, or while it starts; returns the changes that it notified. */
async function runAndKill(program: Program, turn: () => void, wanted: number): Promise<readonly string[]> {
  let timer: number | null = null;
  const killWithin = (ms: number): void => {
    timer ??= setTimeout(() => program.signal("SIGKILL"), random.below(ms));
  };
  if (wanted === 0) killWithin(START_MS);
  for (let results = 1; await program.stdout.event("result").then(() => true, () => false); results++) {
    if (results >= wanted) killWithin(KILL_WITHIN_MS);
    if (results % TURN_AFTER_RESULTS === 0) turn();
  }
  const { stdout, code, stderr } = await program.end();
  assert.equal(code, 137, stderr);
  // Text after the last line feed was cut off.
  return stdout.split("\n").slice(0, -1).flatMap((line) => {
    const { event, notification } = JSON.parse(line) as Event;
    if (event !== "notification") return [];
    const { check, decided_at: at, previous, condition } = notification as Event;
    return [`${check} ${Date.parse(String(at))} ${previous} ${condition}`];
  });
}

/** Asserts that everything notified is stored, once, and that the stored data is consistent. */
function assertKept({ directory }: Harness, notified: readonly string[], what: string): void {
  // Opened for writing, so that the journal left by the kill is handled as in the program.
  using database = new DatabaseSync(`${directory}/kept.sqlite`);
  assert.equal(database.prepare("PRAGMA integrity_check").get()?.["integrity_check"], "ok", what);
  const changes = database.prepare(
    "SELECT name, at_ms, from_condition, to_condition FROM changes JOIN checks ON checks.id = check_id " +
      "ORDER BY changes.id",
  ).all();
  const counts = new Map<string, number>();
  const last = new Map<unknown, unknown>();
  for (const { name, at_ms: atMs, from_condition: from, to_condition: to } of changes) {
    const text = `${name} ${Math.floor(Number(atMs))} ${from} ${to}`;
    counts.set(text, (counts.get(text) ?? 0) + 1);
    // The first ok is no change.
    const before = last.get(name) ?? (from === "pending" ? "pending" : "ok");
    assert.equal(from, before, `${what}: a change of "${name}" is lost or kept twice`);
    last.set(name, to);
  }
  for (const text of notified) assert.equal(counts.get(text), 1, `${what}: ${text} was sent`);
  for (const { name, condition } of database.prepare("SELECT name, condition FROM checks").all()) {
    const { confirmed } = JSON.parse(String(condition));
    assert.equal(confirmed, last.get(name) ?? "ok", `${what}: "${name}" is confirmed as no change says`);
  }
}
