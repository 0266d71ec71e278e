/** Holds what a monitor has kept, told and shown against what has happened. */
import assert from "node:assert/strict";
import { readOffspring } from "../../../scripts/soak/mixed/process_facts.ts";
import { readKept } from "../chaos/kept.ts";
import type { ModelChange } from "../chaos/model.ts";
import { assertToldExactly } from "../chaos/told_exactly.ts";
import type { Program, Stage } from "../program.ts";
import { CHANNELS, type Channels } from "./channels.ts";
import type { Scene } from "./scenes.ts";
import { BY_THE_CALENDAR, INTERVAL_SECONDS } from "./world.ts";

/** What was told. */
export interface Told {
  /** Changes that the state has kept; each was told at each channel. */
  readonly changes: number;
  /** Messages that arrived, and how many of them twice. */
  readonly messages: number;
  readonly twins: number;
  /** From the moment that it went on until each check had begun another run; `null` where nothing runs by itself. */
  readonly ranWithinMs: number | null;
}

/** What is judged. */
export interface JudgeOptions {
  readonly scene: Scene;
  readonly channels: Channels;
  readonly programs: readonly Program[];
  readonly stoppedMs: number;
  readonly wentOnMs: number;
  /** Whether a problem and its end were told before it was stopped. */
  readonly hasWarmedUp: boolean;
}

/**
 * Judges a monitor that has ended.
 *
 * @throws {assert.AssertionError} If something is not as it should be.
 */
export async function judge(stage: Stage, options: JudgeOptions): Promise<Told> {
  const { scene, channels, programs, hasWarmedUp } = options;
  assert.deepEqual(readOffspring(null, stage.folder).orphans, [], "no process is left");
  const kept = readKept(`${stage.folder}/kept.sqlite`, 0);
  const changes = kept?.changes ?? [];
  assert.deepEqual(
    conditionsOf(changes),
    expectedOf(scene, hasWarmedUp),
    "what has happened, and nothing else",
  );
  assertTellable(changes);
  const told = CHANNELS.map((channel) =>
    assertToldExactly(channels.arrivals.filter((arrival) => arrival.channel === channel), {
      changes,
      changeCounts: new Map(),
      unkeptRuns: new Set(),
      editedRounds: [],
      unkept: [],
      troubledRounds: new Set(),
      unnoticed: new Set(),
    })
  );
  const { stdout } = await stage.run(["status", "--format", "json"]);
  assert.deepEqual(
    (JSON.parse(stdout) as { readonly notifications: unknown }).notifications,
    [],
    "nothing waits any more",
  );
  const log = programs.map(({ stderr }) => stderr.text()).join("\n");
  assert.doesNotMatch(log, /panicked|\n\s+at |\bbug\b|Uncaught/);
  if (scene.says !== null) assert.match(log, scene.says);
  const runs = programs.flatMap(({ stdout: { text } }) => runsIn(text()));
  assertWell(runs, changes);
  return {
    changes: changes.length,
    messages: told.reduce((sum, { messages }) => sum + messages, 0),
    twins: told.reduce((sum, { twins }) => sum + twins, 0),
    ranWithinMs: scene.kind === "once" ? null : ranWithinMs(runs, options),
  };
}

function conditionsOf(changes: readonly ModelChange[]): Readonly<Record<string, readonly string[]>> {
  const byCheck = Object.groupBy(changes, ({ check }) => check);
  return Object.fromEntries(
    Object.entries(byCheck).map(([name, some = []]) => [name, some.map(({ to }) => to)]),
  );
}

function expectedOf(scene: Scene, hasWarmedUp: boolean): Readonly<Record<string, readonly string[]>> {
  const warmUp = hasWarmedUp ? ["critical", "ok"] : [];
  const { trigger = [], ...others } = scene.changes;
  return { trigger: [...warmUp, ...trigger], begins: ["critical", "ok"], ...others };
}

/** What arrived is known by the output of the run that decided it. */
function assertTellable(changes: readonly ModelChange[]): void {
  const tokens = changes.map(({ check, token }) => `${check}: ${token}`);
  assert.equal(new Set(tokens).size, tokens.length, tokens.join("\n"));
}

interface Run {
  readonly name: string;
  readonly condition: string;
  readonly output: string;
  readonly startedMs: number;
}

function runsIn(stdout: string): readonly Run[] {
  return stdout.split("\n").filter((line) => line.includes('"event":"result"')).map((line) => {
    const { name, condition, output, started_at } = JSON.parse(line);
    return { name, condition, output, startedMs: Date.parse(started_at) };
  });
}

/** A check whose target was well was never anything else, also where nothing came of it. */
function assertWell(runs: readonly Run[], changes: readonly ModelChange[]): void {
  const ill = new Set(changes.map(({ check }) => check));
  for (const { name, condition, output } of runs) {
    if (!ill.has(name)) assert.equal(condition, "ok", `${name}: ${output}`);
  }
}

/** Each check has run again, and none made up for what was left out. */
function ranWithinMs(runs: readonly Run[], { wentOnMs, stoppedMs }: JudgeOptions): number {
  const again = Map.groupBy(runs.filter(({ startedMs }) => startedMs >= wentOnMs), ({ name }) => name);
  const hasMissedMinute = minutesUntil(wentOnMs) > minutesUntil(wentOnMs - stoppedMs);
  for (const name of new Set(runs.map((run) => run.name))) {
    const times = again.get(name)?.map(({ startedMs }) => startedMs) ?? [];
    const [first] = times;
    if (first === undefined) {
      assert.ok(name === BY_THE_CALENDAR && !hasMissedMinute, `${name} did not run again`);
    }
    const lastMs = times.at(-1) ?? wentOnMs;
    const due = name === BY_THE_CALENDAR
      ? minutesUntil(lastMs) - minutesUntil(wentOnMs)
      : (lastMs - wentOnMs) / (1000 * INTERVAL_SECONDS);
    // One for what was left out, and one for a run that did not count.
    assert.ok(times.length <= due + 2, `${name} ran ${times.length} times, where ${due} were due`);
  }
  return Math.max(...[...again.values()].map(([run]) => run?.startedMs ?? wentOnMs)) - wentOnMs;
}

function minutesUntil(ms: number): number {
  return Math.floor(ms / 60_000);
}
