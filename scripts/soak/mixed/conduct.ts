/** A mixed soak from its beginning to its end, and the record of it. */
import { allChangesOf } from "../../../tests/life/told.ts";
import { createCaller } from "./caller.ts";
import { configOf } from "./config.ts";
import { familiesOf, FLAPPING_FILES } from "./families.ts";
import { lookAtFiles, readKept, takeSample } from "./looks.ts";
import { passTime } from "./pass_time.ts";
import { createPresenceBook } from "./presence_book.ts";
import { readOffspring } from "./process_facts.ts";
import type { Deliveries, Sample, SoakRecord, Span } from "./record.ts";
import { CALLS_DOCUMENT, openStand, type Stand } from "./stand.ts";
import { createTroubles } from "./troubles.ts";
import { startWatchedProgram, type WatchedProgram } from "./watched_program.ts";

/** Samples are so far apart, in short soaks less. */
const SAMPLE_MS = 10_000;
const SAMPLES_MIN = 150;
const CALL_EVERY_MS = 5_000;
const FLAP_EVERY_MS = 500;
const LOOK_AT_FILES_EVERY_MS = 15_000;
/** The page comes every 30 s. */
const FILES_FROM_MS = 45_000;
/**
 * It is asked to stop in the middle of its work, some time after the last quiet point: what a silence held back is told
 * within half a minute.
 */
const AT_WORK_MS = 45_000;
/** So long the checks that are under way, and the last notifications, may take together. */
const STOP_MS_MAX = 60_000;
const SHOWN_LINES = 20;
/** Killed programs take a moment to go. */
const GONE_MS_MAX = 5_000;

/** How a soak is conducted. */
export interface ConductOptions {
  /** How long it is looked at. */
  readonly lengthMs: number;
  /** About so many at a time. */
  readonly checks: number;
  /** Ends it early. */
  readonly signal: AbortSignal;
  /** Told how it goes. */
  say(line: string): void;
}

/** Soaks. */
export async function conductSoak({ lengthMs, checks, signal, say }: ConductOptions): Promise<SoakRecord> {
  await using stand = await openStand();
  const { folder } = stand;
  const families = familiesOf(stand.ports, { folder, checks });
  const channels = { hook: stand.hook.channel, mail: stand.mailbox.channel };
  const makeConfig = (variant: Parameters<typeof configOf>[2]) => configOf(families, channels, variant);
  const first = makeConfig({ number: 0, isQuiet: false });
  for (const name of ["monitor.json", CALLS_DOCUMENT]) {
    Deno.writeTextFileSync(`${folder}/${name}`, first.text, { mode: 0o600 });
  }

  const program = startWatchedProgram(folder, stand.environment);
  const samples: Sample[] = [];
  const files: ReturnType<typeof lookAtFiles>[number][] = [];
  const book = createPresenceBook();
  const caller = createCaller(folder, book.has);
  const over = new AbortController();
  const ended = AbortSignal.any([signal, over.signal]);
  try {
    await untilRunning(program, signal);
    const fromMs = Date.now();
    book.adopt(first.facts, fromMs);
    const thirds = thirdsOf(fromMs, lengthMs);
    const troubles = createTroubles({
      stand,
      program,
      signal,
      configOf: makeConfig,
      onAdopted: (config, atMs) => book.adopt(config.facts, atMs),
    });
    const sampleMs = Math.min(SAMPLE_MS, lengthMs / SAMPLES_MIN);
    const besides = Promise.all([
      repeat(sampleMs, ended, () => void samples.push(takeSample(program.pid, folder))),
      repeat(CALL_EVERY_MS, ended, caller.callNext),
      repeat(FLAP_EVERY_MS, ended, createFlapper(folder)),
      repeat(LOOK_AT_FILES_EVERY_MS, ended, () => {
        if (Date.now() > fromMs + FILES_FROM_MS) files.push(...lookAtFiles(folder));
      }),
    ]);
    const body = async (): Promise<void> => {
      for (const [index, third] of thirds.entries()) {
        await troubles.passThird(third.untilMs);
        say(`third ${index + 1} is over: ${program.runs.length} runs, ${program.notifications} reports`);
      }
      await caller.finish();
      await passTime(AT_WORK_MS, signal);
    };
    const crashed = program.ended.then((code) => {
      throw new Error(
        `The program ended by itself with ${code}:\n${program.recent.slice(-SHOWN_LINES).join("\n")}`,
      );
    });
    await Promise.race([body(), crashed, besides]);
    over.abort();
    await besides;
    await caller.end();

    const stoppedAtMs = Date.now();
    const presences = book.close(stoppedAtMs);
    program.signal("SIGTERM");
    const exitCode = await exitCodeOf(program, signal);
    const survivors = await countSurvivors(folder, signal);
    for (const [kind, count] of [...program.log].sort(([, one], [, other]) => other - one)) {
      say(`log: ${count} × ${kind}`);
    }
    const kept = readKept(folder);
    return {
      fromMs,
      untilMs: fromMs + lengthMs,
      thirds,
      samples,
      quietPoints: troubles.quietPoints,
      runs: program.runs,
      pauses: troubles.pauses,
      presences,
      refusals: troubles.refusals,
      adopted: troubles.adopted,
      calls: caller.calls,
      deliveries: await gather(stand, kept.waiting),
      crashLines: program.crashLines,
      files,
      keptRuns: kept.runs,
      exitCode,
      survivors,
    };
  } finally {
    over.abort();
    await caller.end();
    await endProgram(program);
  }
}

/** Not a number where it does not end in time. */
async function exitCodeOf(program: WatchedProgram, signal: AbortSignal): Promise<number> {
  const ended = new AbortController();
  const timeIsUp = passTime(STOP_MS_MAX, AbortSignal.any([signal, ended.signal]));
  try {
    return await Promise.race([program.ended, timeIsUp.then(() => NaN)]);
  } finally {
    ended.abort();
  }
}

function thirdsOf(fromMs: number, lengthMs: number): readonly [Span, Span, Span] {
  const third = (number: number): Span => ({
    fromMs: fromMs + number * lengthMs / 3,
    untilMs: fromMs + (number + 1) * lengthMs / 3,
  });
  return [third(0), third(1), third(2)];
}

async function untilRunning(program: WatchedProgram, signal: AbortSignal): Promise<void> {
  for (const endMs = performance.now() + STOP_MS_MAX; performance.now() < endMs;) {
    if (program.runs.length > 0) return;
    await passTime(20, signal);
  }
  throw new Error(`The program runs nothing:\n${program.recent.slice(-SHOWN_LINES).join("\n")}`);
}

/** Does something over and over, until it is to end; what takes longer than the time between is not made up for. */
async function repeat(everyMs: number, signal: AbortSignal, act: () => void | Promise<void>): Promise<void> {
  for (let atMs = performance.now(); !signal.aborted; atMs = Math.max(atMs + everyMs, performance.now())) {
    try {
      await passTime(Math.max(0, atMs - performance.now()), signal);
    } catch {
      return;
    }
    await act();
  }
}

/** Makes what lets one file after another vanish, and then come back. */
function createFlapper(folder: string): () => void {
  let count = 0;
  return () => {
    const path = `${folder}/${FLAPPING_FILES[count % FLAPPING_FILES.length]}`;
    if (Math.floor(count / FLAPPING_FILES.length) % 2 === 0) Deno.removeSync(path);
    else Deno.writeTextFileSync(path, "");
    count++;
  };
}

async function countSurvivors(folder: string, signal: AbortSignal): Promise<number> {
  for (const endMs = performance.now() + GONE_MS_MAX; performance.now() < endMs;) {
    if (readOffspring(null, folder).orphans.length === 0) return 0;
    await passTime(50, signal);
  }
  return readOffspring(null, folder).orphans.length;
}

async function gather({ folder, hook, mailbox }: Stand, leftInOutbox: number): Promise<Deliveries> {
  const texts = new Map<string, string>();
  let mailTwins = 0;
  let differingMails = 0;
  for (const { messageId, subject, text } of await mailbox.read()) {
    const words = `${subject}\n${text}`;
    const known = texts.get(messageId);
    if (known === undefined) texts.set(messageId, words);
    else if (known === words) mailTwins++;
    else differingMails++;
  }
  return {
    posts: hook.posts,
    // The subject of a mail that tells one thing is also the first line of its text.
    mails: [...texts.values()].map((words) => words.split("\n").slice(1)),
    differingMails,
    mailTwins,
    changes: allChangesOf({ folder }),
    leftInOutbox,
  };
}

async function endProgram(program: WatchedProgram): Promise<void> {
  try {
    program.signal("SIGKILL");
  } catch {
    // It has ended.
  }
  await program.ended;
}
