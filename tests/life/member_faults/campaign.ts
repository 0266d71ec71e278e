/**
 * Rounds of faults: each round has a separate installation, with two to five members, and all faults in some order.
 * At its end, the database and the received notifications are compared with the truth.
 */
import { until } from "../installation.ts";
import { withHarness } from "../program.ts";
import { createRandom, type Random } from "../../../testing/random.ts";
import { type FaultKind, FAULTS, healDatabase } from "./faults.ts";
import { countQueued, type FaultyInstallation, readKept, withFaultyInstallation } from "./installation.ts";
import type { FaultyMember } from "./members.ts";
import { compare, type Counts } from "./model.ts";
import { createReport, type Report } from "./report.ts";
import { periodIn } from "./truth.ts";

interface CampaignOptions {
  readonly seed: number;
  readonly seconds: number;
  /** The faults; all if there are none. */
  readonly only: readonly string[];
}

/** With at least so much time, faults last longer. */
const LONG_FROM_SECONDS = 300;
/** A round has a fault of each kind, and begins if there is time for some of them. */
const ROUND_SECONDS_MIN = 20;
/** Members fail open soon in every other round. */
const FAIL_OPEN_SECONDS = [60, 4];

/** Runs rounds until the time is over; throws if anything is not as it should be. */
export async function runCampaign({ seed, seconds, only }: CampaignOptions): Promise<void> {
  const report = createReport();
  const endMs = performance.now() + 1_000 * seconds;
  const random = createRandom(seed, "campaign");
  console.log(`seed ${seed}, ${seconds} s`);
  try {
    for (let round = 0; round === 0 || performance.now() + 1_000 * ROUND_SECONDS_MIN < endMs; round++) {
      await runRound({
        seed,
        round,
        random,
        report,
        endMs,
        isLong: seconds >= LONG_FROM_SECONDS,
        kinds: FAULTS.filter(({ name }) => only.length === 0 || only.includes(name)),
      });
    }
  } finally {
    console.log(report.render());
  }
}

interface Round {
  readonly seed: number;
  readonly round: number;
  readonly random: Random;
  readonly report: Report;
  readonly endMs: number;
  readonly isLong: boolean;
  readonly kinds: readonly FaultKind[];
}

async function runRound(options: Round): Promise<void> {
  const { round, random, report } = options;
  const members = 2 + Math.floor(random.below(4));
  const failOpenAfter = FAIL_OPEN_SECONDS[round % FAIL_OPEN_SECONDS.length] ?? 60;
  console.log(`round ${round}: ${members} members, failing open after ${failOpenAfter} s`);
  await withHarness((harness) =>
    withFaultyInstallation({ harness, members, failOpenAfter }, async (installation) => {
      try {
        report.add(installation.faults, await runFaults(installation, options));
      } catch (error) {
        // Not printed: a quiet run shows errors alone.
        const reason = error instanceof Error ? error.message : String(error);
        throw new Error(`seed ${options.seed}, round ${round}: ${reason}\n${describe(installation)}`, {
          cause: error,
        });
      }
    })
  );
}

async function runFaults(installation: FaultyInstallation, options: Round): Promise<Counts> {
  const { truth, members, database, faults } = installation;
  const { random } = options;
  for (const member of members) member.start();
  await until(
    "the first runs",
    () => [...truth.runs.values()].every((runs) => runs.length > 0),
    () => describe(installation),
  );
  const fromMs = performance.now();
  const pauses = notePauses();
  const turning = turnSome(installation, random);
  await failInTurns(installation, options);
  turning.end();
  for (const condition of [CRITICAL, OK]) await turnAll(installation, condition);
  pauses.end();
  const toMs = performance.now();
  await until(
    "the end of the queues",
    async () => await countQueued(database) === 0,
    () => describe(installation),
  );
  for (const member of members) {
    const code = await member.stop();
    if (code !== 0) throw new Error(`member ${member.name} ended with ${code}`);
  }
  const hasFailedOpen = members.some(({ log }) =>
    log.includes("sending notifications of own checks without it")
  );
  const facts = {
    truth,
    kept: await readKept(database),
    faults,
    pauses: pauses.noted,
    hasFailedOpen,
    fromMs,
    toMs,
  };
  const { differences, counts } = compare(facts);
  if (differences.length > 0) {
    throw new Error(`${differences.length} differences:\n${differences.join("\n")}`);
  }
  return counts;
}

/** One fault after another, in some order, until all have been or the time is over. */
async function failInTurns(
  installation: FaultyInstallation,
  { random, endMs, isLong, kinds }: Round,
): Promise<void> {
  const { members, faults } = installation;
  for (const kind of shuffled(kinds, random)) {
    if (performance.now() > endMs) return;
    const fitting = members.filter((member) => kind.fits?.(member) ?? true);
    const [first, ...others] = fitting;
    if (first === undefined) continue;
    const member = random.pick<FaultyMember>([first, ...others]);
    const fromMs = performance.now();
    const fault = { fault: kind.name, fromMs, toMs: Infinity, affects: kind.affects };
    faults.push(fault);
    console.log(`  ${new Date().toISOString()} ${kind.name} (${member.name})`);
    await kind.run({ ...installation, random, member, isLong });
    faults[faults.length - 1] = { ...fault, toMs: performance.now() };
    await healDatabase(installation);
    await new Promise((resolve) => setTimeout(resolve, random.below(4_000)));
    for (const one of members) one.assertRuns();
  }
}

const OK = 0;
const CRITICAL = 1;

/** Makes all targets succeed or fail, and waits until the last notification of each check matches. */
async function turnAll(installation: FaultyInstallation, parity: number): Promise<void> {
  const { truth, members } = installation;
  for (const name of truth.names) {
    if ((truth.periods.get(name)?.length ?? 0) % 2 === parity) truth.turn(name);
  }
  const isNotified = (name: string): boolean => {
    const periods = truth.periods.get(name) ?? [];
    const last = truth.arrivals.findLast(({ notification }) => notification.check === name);
    return last?.notification.event === (parity === OK ? "recovery" : "problem") &&
      (periodIn(last.notification.output, 0, periods) ?? 0) % 2 === parity;
  };
  await until(
    `each last ${parity === OK ? "recovery" : "problem"}`,
    () => {
      for (const member of members) member.assertRuns();
      return truth.names.every(isNotified);
    },
    () => `missing: ${truth.names.filter((name) => !isNotified(name)).join(" ")}`,
    NOTIFIED_MS,
  );
}

const NOTIFIED_MS = 120_000;

/** Makes targets fail and recover at random times. */
function turnSome({ truth }: FaultyInstallation, random: Random): { end(): void } {
  let timer = 0;
  const turner = createRandom(Math.floor(random.below(1e9)), "turns");
  const turn = (): void => {
    const [first = "", ...others] = truth.names;
    truth.turn(turner.pick([first, ...others]));
    timer = setTimeout(turn, turner.below(2_000));
  };
  turn();
  return { end: () => clearTimeout(timer) };
}

const LOOK_EVERY_MS = 100;
const PAUSE_MS_MIN = 300;

/** Notes when this process did not run for a moment: then the machine was busy, and the members were late, too. */
function notePauses(): { readonly noted: { atMs: number; ms: number }[]; end(): void } {
  const noted: { atMs: number; ms: number }[] = [];
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    if (nowMs - lastMs > PAUSE_MS_MIN) noted.push({ atMs: nowMs, ms: 2 * (nowMs - lastMs) });
    lastMs = nowMs;
  }, LOOK_EVERY_MS);
  return { noted, end: () => clearInterval(timer) };
}

function shuffled<T>(values: readonly T[], random: Random): readonly T[] {
  return values.map((value) => ({ value, place: random.next() }))
    .sort((one, other) => one.place - other.place).map(({ value }) => value);
}

/** For debugging. */
function describe({ members, truth }: FaultyInstallation): string {
  const arrivals = truth.arrivals.map(({ atMs, notification: { check, event, output, id, decided_at } }) =>
    `${Math.round(atMs)} ${check} ${event} ${output} ${id} ${decided_at}`
  );
  const periods = [...truth.periods].map(([name, own]) =>
    `${name} ${own.map(({ index, fromMs }) => `${index}@${Math.round(fromMs)}`).join(" ")}`
  );
  const logs = members.map((member) => `member ${member.name}\n${member.log}`);
  return [...arrivals, ...periods, ...logs].join("\n");
}
