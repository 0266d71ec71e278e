/** Plays a scene: a monitor is really stopped for minutes, goes on, and has to tell what it kept. */
import assert from "node:assert/strict";
import { readFacts } from "../../../scripts/soak/mixed/process_facts.ts";
import { createAuthority, createCertificate } from "../../support/certificates.ts";
import { type Program, type Stage, withStage } from "../program.ts";
import { CHANNELS, type Channels, startChannels } from "./channels.ts";
import { descriptorsAtMost, leastDescriptors } from "./descriptors.ts";
import { judge, type Told } from "./judge.ts";
import type { Scene, Subject } from "./scenes.ts";
import { inTime, pause, until } from "./waits.ts";
import { makeWorld, SCRIPTS, type World } from "./world.ts";

/** What was found of a scene in which all is as it should be. */
export interface Found extends Told {
  /** From the moment that it went on until all was told that had happened by then. */
  readonly toldWithinMs: number;
  /** Before it was stopped, and after it went on; `null` where it ended. */
  readonly descriptors: readonly [before: number, after: number] | null;
}

/** How a scene is played. */
export interface PlayOptions {
  /** For how long the monitor is stopped. */
  readonly stoppedMs: number;
  /** Ends it all. */
  readonly signal: AbortSignal;
}

const AUTHORITY_FILE = "authority.pem";
const ARGUMENTS: Readonly<Record<Scene["kind"], readonly string[]>> = {
  watch: ["check", "--format", "ndjson"],
  once: ["check", "--once", "--format", "ndjson"],
};
const CERTIFICATE_DAYS = 60;
/** How long a monitor lives in a scene besides the time for which it is stopped. */
const OTHERS_MS_MAX = 1_200_000;

/** What is said of a config in which time limits are longer than intervals. */
const DOUBTS = /^.*is longer than the regular interval.*\n|^ +(?:\d+ )?\|.*\n/gm;

/** A scene that is played. */
interface Play extends PlayOptions {
  readonly scene: Scene;
  readonly stage: Stage;
  readonly world: World;
  readonly channels: Channels;
  start(): Program;
  /** All that was started. */
  readonly programs: readonly Program[];
}

/**
 * Plays a scene.
 *
 * @throws {Error} If something is not as it should be.
 */
export async function play(scene: Scene, options: PlayOptions): Promise<Found> {
  let found: Found | null = null;
  await withStage(async (stage) => {
    const authority = createAuthority();
    const certificateOf = (address: string) =>
      createCertificate({ authority, addresses: [address], toDay: CERTIFICATE_DAYS });
    Deno.writeTextFileSync(`${stage.folder}/${AUTHORITY_FILE}`, authority.cert);
    await using channels = await startChannels({
      certificateOf: scene.hasTls ? certificateOf : undefined,
    });
    await using world = makeWorld(stage, { channels: channels.entries, certificateOf });
    const programs: Program[] = [];
    const start = (): Program => {
      const environment = { DENO_CERT: `${stage.folder}/${AUTHORITY_FILE}` };
      const program = stage.start(ARGUMENTS[scene.kind], {
        environment,
        limitMs: options.stoppedMs + OTHERS_MS_MAX,
      });
      programs.push(program);
      return program;
    };
    const playing = { ...options, scene, stage, world, channels, start, programs };
    try {
      found = await (scene.kind === "once" ? playOnce(playing) : playWatch(playing));
    } catch (error) {
      const logs = programs.map(({ stderr }) => stderr.text().replace(DOUBTS, "")).join("\n");
      throw new Error(`${scene.name}: ${error instanceof Error ? error.message : String(error)}\n${logs}`, {
        cause: error,
      });
    }
  });
  assert.ok(found !== null);
  return found;
}

/** Servers have less of it than the time for which the monitor is stopped. */
function peerPatienceMs({ stoppedMs }: PlayOptions): number {
  return stoppedMs / 3;
}

async function playWatch(playing: Play): Promise<Found> {
  const { scene, stage, world, start, signal } = playing;
  const { trigger, begins } = world.targets;
  trigger.status = 500;
  const first = start();
  await untilTold(playing, "trigger", "500");
  trigger.status = 200;
  await untilTold(playing, "trigger", "200");
  const before = await leastDescriptors(first.pid, signal);
  await standStill(playing, first);
  const wentOnMs = Date.now();
  if (scene.ends) assert.equal((await first.end()).code, 0, "asked to end, it does");
  const program = scene.ends ? start() : first;
  await tellAll(playing);
  const toldWithinMs = Date.now() - wentOnMs;
  begins.status = 200;
  for (const name of SCRIPTS) world.endScript(name, 0);
  await untilTold(playing, "begins", "200");
  for (const name of Object.keys(scene.changes)) {
    if (name !== "trigger") await untilTold(playing, name, "code 0");
  }
  await until("a sign of life", () => aliveMs(stage) > wentOnMs, signal);
  const after = scene.ends ? null : await descriptorsAtMost(before, program.pid, signal);
  program.signal("SIGTERM");
  assert.equal((await program.end()).code, 0);
  const told = await judge(stage, { ...playing, wentOnMs, hasWarmedUp: true });
  return { ...told, toldWithinMs, descriptors: after === null ? null : [before, after] };
}

/** Calls that follow one another, as cron makes them. */
async function playOnce(playing: Play): Promise<Found> {
  const { stage, world, start } = playing;
  const first = start();
  await standStill(playing, first);
  const wentOnMs = Date.now();
  assert.equal((await first.end()).code, 2, "a problem was found");
  await start().end();
  await tellAll(playing);
  const toldWithinMs = Date.now() - wentOnMs;
  world.targets.begins.status = 200;
  for (let call = 0; call < 2; call++) assert.equal((await start().end()).code, 0);
  const told = await judge(stage, { ...playing, wentOnMs, hasWarmedUp: false });
  return { ...told, toldWithinMs, descriptors: null };
}

/** Stops the monitor where the scene wants it, lets time pass in which things happen, and lets it go on. */
async function standStill(playing: Play, program: Program): Promise<void> {
  const { world, channels } = playing;
  const { promise: peersGiveUp, resolve: giveUp } = Promise.withResolvers<void>();
  try {
    const subject = { world, channels, program, stop: () => stopNow(program), peersGiveUp };
    await letTimePass(playing, subject, giveUp);
  } finally {
    // Also when something went wrong before: servers wait for their visitors to leave.
    channels.interruption = null;
    giveUp();
  }
}

async function letTimePass(playing: Play, subject: Subject, giveUp: () => void): Promise<void> {
  const { scene, stage, world, channels, stoppedMs, signal } = playing;
  const { program } = subject;
  const { trigger, begins, blinks } = world.targets;
  await inTime("the moment to stop it", scene.interrupt(subject), signal);
  const partMs = peerPatienceMs(playing);
  begins.status = 500;
  blinks.status = 500;
  if (trigger.status !== 200) trigger.status = 204;
  scene.meanwhile?.(subject);
  await pause(partMs, signal);
  giveUp();
  // Who is sent away without an answer hears nothing else.
  await pause(GIVING_UP_MS, signal);
  channels.endPatience();
  await lookBeside(stage);
  await pause(partMs, signal);
  blinks.status = 200;
  await pause(stoppedMs - 2 * partMs, signal);
  assert.equal(readFacts(program.pid).state, "T", "it was stopped all the time");
  program.signal("SIGCONT");
}

const GIVING_UP_MS = 200;

/** It does nothing more when this comes back. */
function stopNow(program: Program): void {
  program.signal("SIGSTOP");
  const giveUpMs = performance.now() + 1_000;
  while (readFacts(program.pid).state !== "T") {
    assert.ok(performance.now() < giveUpMs, "it does not stop");
  }
}

/** Somebody looks at the state of a monitor that is stopped. */
async function lookBeside(stage: Stage): Promise<void> {
  const { code, stderr } = await stage.run(["status"]);
  assert.ok([0, 1, 2, 3].includes(code), `status beside it: ${code}: ${stderr}`);
}

/** Waits until all is told that has happened while it was stopped. */
async function tellAll(playing: Play): Promise<void> {
  const { scene } = playing;
  const tokens: Readonly<Record<string, string>> = {
    trigger: "204",
    hangs: "still running",
    fails: "code 2",
  };
  await untilTold(playing, "begins", "500");
  for (const name of Object.keys(scene.changes)) await untilTold(playing, name, tokens[name] ?? "");
}

function untilTold(
  { channels: { arrivals }, signal }: Play,
  check: string,
  output: string,
): Promise<void> {
  return until(
    `that ${check} is told with ${output}`,
    () =>
      CHANNELS.every((channel) =>
        arrivals.some((arrival) =>
          arrival.channel === channel &&
          arrival.items.some((item) => item.check === check && item.token.includes(output))
        )
      ),
    signal,
  );
}

function aliveMs({ folder }: Stage): number {
  return Deno.statSync(`${folder}/alive`).mtime?.getTime() ?? 0;
}
