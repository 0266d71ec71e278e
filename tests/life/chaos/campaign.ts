/**
 * Rounds of everything at once, on a state on a small disk: checks that fail and recover, monitors that are killed,
 * stopped, suspended, started twice or on a faster clock, a disk that is full or read-only, clocks that are set, an
 * SMTP server and webhooks that break at every step of their protocols, and are edited in the config at times. Run by
 * chaos_test.ts; throws if anything is lost, invented, sent twice with different ids, or stored otherwise than in the
 * model.
 */
import assert from "node:assert/strict";
import { createAuthority, createCertificate } from "../../support/certificates.ts";
import { untilGone } from "../../support/processes.ts";
import { type Harness, withHarness } from "../program.ts";
import type { Arrival } from "./arrivals.ts";
import { createMovableClock } from "./clock.ts";
import { programChecks, startHostileChecks } from "./hostile_checks.ts";
import { type Kept, readKept, settleRound } from "./kept.ts";
import { createModel, type Model, type ModelChange, observe, type Shown } from "./model.ts";
import { type FlakyHook, startFlakyHook } from "./flaky_hook.ts";
import { type FlakyMail, startFlakyMail } from "./flaky_mail.ts";
import { type DiskTrouble, planLongLife, planRound, type RoundPlan } from "./plan.ts";
import { CHECKS, createShownReader, turnSome, writeChecks, writeFakeConfig } from "./fake_checks.ts";
import { assertSound, count, type Life, live, type Tally } from "./process_life.ts";
import { createRandom, type Random } from "../../../testing/random.ts";
import { makeSmallDisk, type SmallDisk } from "./small_disk.ts";
import { assertNotifiedExactly } from "./notified_exactly.ts";
import { testSeed } from "../../../testing/seed.ts";

/** The duration of the rounds, unless their number is given: to run a failed campaign again. */
const SECONDS = Number(Deno.env.get("CHAOS_SECONDS"));
const ROUNDS = Number(Deno.env.get("CHAOS_ROUNDS") ?? Infinity);
/** The rest of a campaign that is longer than that is one service. */
const LONG_FROM_SECONDS = 40;
const LONG_LIFE_SHARE = 0.4;
const SEED = Number(Deno.env.get("CHAOS_SEED") ?? testSeed());
/** The number of addresses that each channel has in the config, one after the other. */
const ADDRESSES = 3;
const MOUNTS = Deno.env.get("CHAOS_MOUNTS") === "1";

/** The parts of a campaign, and its results so far. */
interface Campaign {
  readonly harness: Harness;
  readonly disk: SmallDisk;
  readonly channels: Readonly<Record<string, FlakyHook | FlakyMail>>;
  /** The address of each in the config: a changed one is another channel for the monitor, and the same receiver. */
  readonly addresses: Record<string, number>;
  readonly environment: Readonly<Record<string, string>>;
  readonly readShown: () => readonly Shown[];
  readonly tally: Tally;
  readonly random: Random;
  readonly changes: ModelChange[];
  /** By the token of a run that was kept, how many changes of its check there were by then. */
  readonly changeCounts: Map<string, number>;
  /** Tokens of runs that were not kept. */
  readonly unkeptRuns: Set<string>;
  /** The rounds in which each channel was edited. */
  readonly editedRounds: Record<string, number[]>;
  readonly unkept: ModelChange[];
  readonly troubledRounds: Set<number>;
  /** The events of each round. */
  readonly journal: string[];
  model: Model;
  /** Checks with hostile targets, in the last round. */
  hostile: Readonly<Record<string, unknown>>;
  lastChangeId: number;
  /** Runs whose note may come when their monitor is long dead. */
  strayRuns: number;
  round: number;
}

assert.ok(SECONDS > 0 || Number.isFinite(ROUNDS), "CHAOS_SECONDS or CHAOS_ROUNDS says how long to play");
const longLifeMs = SECONDS < LONG_FROM_SECONDS || Number.isFinite(ROUNDS)
  ? 0
  : SECONDS * LONG_LIFE_SHARE * 1000;
const endMs = Number.isFinite(ROUNDS) ? Infinity : performance.now() + SECONDS * 1000 - longLifeMs;
console.log(
  `seed ${SEED}, ${Number.isFinite(ROUNDS) ? `${ROUNDS} rounds` : `${SECONDS} s`}${
    MOUNTS ? "" : "; without a disk of its own: it is never full"
  }`,
);
await withHarness(async (harness) => {
  const authority = createAuthority();
  const arrivals: Arrival[] = [];
  const onArrival = (arrival: Omit<Arrival, "round">): void =>
    void arrivals.push({ ...arrival, round: campaign.round });
  await using hook = startFlakyHook({
    name: "hook",
    random: createRandom(SEED, "hook"),
    hasTemplate: false,
    onArrival,
  });
  await using single = startFlakyHook({
    name: "single",
    random: createRandom(SEED, "single"),
    hasTemplate: true,
    onArrival,
  });
  await using mail = startFlakyMail({
    random: createRandom(SEED, "mail"),
    certificate: (address) => createCertificate({ authority, addresses: [address] }),
    round: () => campaign.round,
  });
  Deno.writeTextFileSync(`${harness.directory}/authority.pem`, authority.cert);
  const disk = makeSmallDisk(`${harness.directory}/disk`, { mounts: MOUNTS });
  const channels = { hook, single, mail };
  const campaign: Campaign = {
    harness,
    disk,
    channels,
    addresses: {},
    environment: { DENO_CERT: `${harness.directory}/authority.pem` },
    readShown: createShownReader(harness),
    tally: {},
    random: createRandom(SEED, "rounds"),
    changes: [],
    changeCounts: new Map(),
    unkeptRuns: new Set(),
    editedRounds: {},
    unkept: [],
    troubledRounds: new Set(),
    journal: [],
    model: createModel(CHECKS),
    hostile: {},
    lastChangeId: 0,
    strayRuns: 0,
    round: 0,
  };
  try {
    writeChecks(harness);
    writeConfig(campaign);
    for (; campaign.round < ROUNDS && performance.now() < endMs; campaign.round++) {
      await runRound(campaign, planRound(campaign.random, Object.keys(channels)));
      if (campaign.round % 100 === 99) console.log(`${campaign.round + 1} rounds`);
    }
    if (longLifeMs > 0) {
      await liveLong(campaign);
      campaign.round++;
    }
    await heal(campaign);
    await notifyAll(campaign, [...arrivals, ...await mail.read()]);
  } catch (error) {
    const rounds = new Set([...String(error).matchAll(/round (\d+)/g)].map(([, round]) => Number(round)));
    for (const round of [...rounds, campaign.round]) {
      console.error(`round ${round}: ${campaign.journal[round] ?? ""}`);
      for (const arrival of [...arrivals, ...await mail.read()]) {
        if (arrival.round === round) console.error(JSON.stringify({ ...arrival, text: "" }));
      }
    }
    console.error(
      `seed ${SEED}, round ${campaign.round}: CHAOS_SEED=${SEED} CHAOS_ROUNDS=${
        campaign.round + 1
      } runs it again`,
    );
    throw error;
  } finally {
    disk.makeWritable();
    disk.end();
  }
});

/** The last round: one service, and hostile targets alongside its checks. */
async function liveLong(campaign: Campaign): Promise<void> {
  const { harness, channels, random } = campaign;
  await using hostile = startHostileChecks(harness.mark);
  campaign.hostile = hostile.checks;
  writeConfig(campaign);
  await runRound(campaign, planLongLife(random, Object.keys(channels), longLifeMs));
  for (const name of programChecks(harness.mark)) await untilGone(name);
  campaign.hostile = {};
  writeConfig(campaign);
}

async function runRound(campaign: Campaign, plan: RoundPlan): Promise<void> {
  const { harness, channels, random, tally } = campaign;
  turnSome(harness, random);
  for (const [name, channel] of Object.entries(channels)) channel.isDown = plan.down.includes(name);
  for (const name of plan.down) count(tally, `${name} refuses connections`);
  const turner = createRandom(SEED, `turns ${campaign.round}`);
  const timers = plan.turnsAtMs.map((ms) => setTimeout(() => turnSome(harness, turner), ms));
  for (const move of plan.moves) {
    if (move.atMs === 0) moveChannels(campaign, move.channels);
    else timers.push(setTimeout(() => moveChannels(campaign, move.channels), move.atMs));
  }
  const trouble = beginTrouble(campaign, plan.disk);
  const alongside = plan.statusAtMs === null
    ? null
    : runStatusAlongside(campaign, plan.statusAtMs, trouble.isReal);
  let lives: readonly Life[];
  try {
    lives = await Promise.all(plan.processes.map((planned, index) =>
      live(harness, planned, {
        clockPath: `${harness.directory}/clock-${index}`,
        environment: campaign.environment,
        tally,
        isTroubled: trouble.isReal,
      })
    ));
    await alongside;
    // Messages of a process that was killed belong to this round.
    await Promise.all(Object.values(channels).map((channel) => channel.untilLeft()));
  } finally {
    for (const timer of timers) clearTimeout(timer);
    trouble.end();
  }
  campaign.journal.push(notifyRound(plan, lives));
  settle(campaign, { lives, plan, isTroubled: trouble.isReal });
}

/** Changes channels in the config; after some changes, each is where it was. */
function moveChannels(campaign: Campaign, moved: readonly string[]): void {
  const { addresses, editedRounds, round, tally } = campaign;
  for (const name of moved) {
    count(tally, `${name} is another channel`);
    addresses[name] = ((addresses[name] ?? 0) + 1) % ADDRESSES;
    (editedRounds[name] ??= []).push(round);
  }
  writeConfig(campaign);
}

function writeConfig({ harness, channels, addresses, hostile }: Campaign): void {
  const entries = Object.entries(channels).map((
    [name, channel],
  ) => [name, channel.channelAt(addresses[name] ?? 0)]);
  writeFakeConfig(harness, {
    channels: Object.fromEntries(entries),
    state: "disk/kept.sqlite",
    others: hostile,
  });
}

/** For debugging. */
function notifyRound(plan: RoundPlan, lives: readonly Life[]): string {
  const notified = lives.map(({ what, results, stderr }) =>
    `${what}: ${results.map(({ check, condition }) => `${check} ${condition}`)}\n${stderr}`
  );
  return `${JSON.stringify(plan)}\n${notified.join("\n")}`;
}

interface Trouble {
  /** Whether the state cannot be written in this round for a while. */
  readonly isReal: boolean;
  end(): void;
}

function beginTrouble(
  { disk, troubledRounds, tally, round }: Campaign,
  planned: DiskTrouble | null,
): Trouble {
  if (planned === null || planned.kind === "full" && !disk.isSmall) return { isReal: false, end: () => {} };
  if (planned.kind === "read_only") {
    if (!disk.makeReadOnly()) return { isReal: false, end: () => {} };
    troubledRounds.add(round);
    count(tally, "read-only");
    return { isReal: true, end: disk.makeWritable };
  }
  troubledRounds.add(round);
  count(tally, Number.isFinite(planned.endsAtMs) ? "full for a while" : "full");
  const fill = (): void => disk.fill(planned.roomBytes);
  if (planned.atMs === 0) fill();
  const timers = [
    ...planned.atMs === 0 ? [] : [setTimeout(fill, planned.atMs)],
    ...Number.isFinite(planned.endsAtMs) ? [setTimeout(disk.free, planned.endsAtMs)] : [],
  ];
  return {
    isReal: true,
    end: () => {
      for (const timer of timers) clearTimeout(timer);
      disk.free();
    },
  };
}

/** Runs `monitor status` alongside everything else. */
async function runStatusAlongside(
  { harness, tally }: Campaign,
  atMs: number,
  isTroubled: boolean,
): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, atMs));
  const { code, stderr } = await harness.run(["status"]);
  count(tally, `status: ${code}`);
  assert.ok([0, 1, 2, 3, 64, 69, ...isTroubled ? [74] : []].includes(code), `status: ${code}: ${stderr}`);
}

interface Round {
  readonly lives: readonly Life[];
  readonly plan: RoundPlan;
  readonly isTroubled: boolean;
}

/** Compares the counted and stored results with those of the checks. */
function settle(campaign: Campaign, { lives, plan, isTroubled }: Round): void {
  const { harness, tally, readShown } = campaign;
  const shown = readShown();
  const places = new Map(shown.map(({ token }, place) => [token, place]));
  const counted = new Set(lives.flatMap(({ results }) => results.map(({ token }) => token)));
  for (const [index, life] of lives.entries()) {
    assertAllShown(life, shown, places);
    const own = new Set(life.results.map(({ token }) => token));
    assertSound(life, {
      kind: plan.processes[index]?.kind ?? "once",
      isDoubled: lives.length > 1,
      isTroubled,
      // The origin of a run that does not count is unknown; with two of them that is compared below.
      shownOf: (check) =>
        shown.filter((one) =>
          one.check === check && (own.has(one.token) || lives.length === 1 && campaign.strayRuns === 0)
        ).length,
    });
  }
  const dropped = lives.reduce((sum, { discarded }) => sum + discarded, campaign.strayRuns);
  for (const { name } of CHECKS) {
    const lacking = shown.filter(({ check, token }) => check === name && !counted.has(token)).length;
    assert.ok(
      lacking <= dropped,
      `${name}: ${lacking} runs were dropped, ${dropped} at most; ${
        lives.map(({ what, stderr }) => `${what}: ${stderr}`)
      }`,
    );
    if (lacking > 0) count(tally, "runs without a result");
  }
  campaign.strayRuns = lives.filter(({ mayLackLast }) => mayLackLast).length;
  const firstPlace = ({ results: [first] }: Life): number => places.get(first?.token ?? "") ?? Infinity;
  const ordered = lives.toSorted((one, other) => firstPlace(one) - firstPlace(other));
  const kept: Kept | null = readKept(`${harness.directory}/disk/kept.sqlite`, campaign.lastChangeId, CHECKS);
  const settlement = settleRound(campaign.model, kept, { processes: ordered, checks: CHECKS });
  for (const [index, { results }] of ordered.entries()) {
    for (const { token } of results.slice(settlement.keptCounts[index])) campaign.unkeptRuns.add(token);
  }
  countChanges(campaign, ordered.map(({ results }, index) => results.slice(0, settlement.keptCounts[index])));
  campaign.model = settlement.model;
  campaign.lastChangeId = kept?.lastChangeId ?? 0;
  campaign.changes.push(...settlement.changes.map((change) => ({ ...change, round: campaign.round })));
  if (isTroubled) campaign.unkept.push(...settlement.unkept);
  const keptCount = settlement.keptCounts.reduce((sum, some) => sum + some, 0);
  tally["results"] = (tally["results"] ?? 0) + counted.size;
  tally["results not kept"] = (tally["results not kept"] ?? 0) + counted.size - keptCount;
}

/** Notes how many changes there were by each run that was kept. */
function countChanges(
  { model, changes, changeCounts }: Campaign,
  kept: readonly (readonly Shown[])[],
): void {
  const counts = new Map<string, number>();
  for (const { check } of changes) counts.set(check, (counts.get(check) ?? 0) + 1);
  let now = model;
  for (const run of kept.flat()) {
    const next = observe(now, [run], CHECKS);
    now = next.model;
    const count = (counts.get(run.check) ?? 0) + next.changes.length;
    counts.set(run.check, count);
    changeCounts.set(run.token, count);
  }
}

/** Asserts that a result that counts was printed by the check, exactly so, and counts once. */
function assertAllShown(life: Life, shown: readonly Shown[], places: ReadonlyMap<string, number>): void {
  const last = new Map<string, number>();
  for (const result of life.results) {
    const place = places.get(result.token) ?? -1;
    assert.deepEqual(result, shown[place], `${life.what}: a result that no run has shown: ${life.stderr}`);
    assert.ok(place > (last.get(result.check) ?? -1), `${life.what}: a result counts twice, or late`);
    last.set(result.check, place);
  }
}

/** All is well again: everything goes out, also by a clock that is far from the one before. */
async function heal(campaign: Campaign): Promise<void> {
  const { harness, channels, environment } = campaign;
  for (const channel of Object.values(channels)) {
    channel.isHealed = true;
    channel.isDown = false;
  }
  const due = ["check", "--once", "--due", "--format", "ndjson"];
  const once = ["check", "--once", "--format", "ndjson"];
  for (
    const [args, seconds] of [[due, 36_000], [due, -36_000], [due, 0], [once, 0], [once, 0], [
      once,
      0,
    ]] as const
  ) {
    const clock = createMovableClock(`${harness.directory}/clock-0`, { seconds, moves: "wall" });
    const { code, stdout, stderr } = await harness.run(args, {
      environment: { ...environment, ...clock.environment },
    });
    assert.ok([0, 1, 2, 3].includes(code), `exit code ${code}: ${stderr}`);
    const results = stdout.split("\n").filter((line) => line.includes('"event":"result"')).map((line) =>
      JSON.parse(line)
    );
    assert.equal(results.length, CHECKS.length, `every check is due by a clock that is ${seconds} s away`);
    settle(campaign, {
      lives: [{
        what: "the last calls",
        code,
        stderr,
        results: results.map(({ name, condition, output }) => ({ check: name, condition, token: output })),
        mayLackLast: false,
        isWithoutState: false,
        isTurnedAway: false,
        discarded: 0,
        jumps: 0,
        livedMs: 0,
      }],
      plan: {
        processes: [{ kind: "once", startsAfterMs: 0, clock: null, blows: [] }],
        disk: null,
        down: [],
        moves: [],
        turnsAtMs: [],
        statusAtMs: null,
      },
      isTroubled: false,
    });
  }
  const { stdout } = await harness.run(["status", "--format", "json"]);
  const { notifications } = JSON.parse(stdout) as {
    readonly notifications: readonly { readonly state: string }[];
  };
  // Notifications that were dropped when a channel was edited are shown for a week.
  assert.deepEqual(notifications.filter(({ state }) => state !== "dropped"), [], "nothing waits any more");
}

/** Compares the received notifications with the stored changes, and prints a summary of the campaign. */
async function notifyAll(campaign: Campaign, arrivals: readonly Arrival[]): Promise<void> {
  const { changes, changeCounts, unkeptRuns, editedRounds, unkept, troubledRounds, channels, tally } =
    campaign;
  await Promise.resolve();
  for (const [name, channel] of Object.entries(channels)) {
    const ours = new Set(CHECKS.filter((check) => check.channels.includes(name)).map((check) => check.name));
    const isOurs = ({ check }: ModelChange): boolean => ours.has(check);
    const notified = assertNotifiedExactly(arrivals.filter(({ channel }) => channel === name), {
      changes: changes.filter(isOurs),
      changeCounts,
      unkeptRuns,
      editedRounds: editedRounds[name] ?? [],
      unkept: unkept.filter(isOurs),
      troubledRounds,
      unnoticed: "refusedAfterTaken" in channel ? channel.refusedAfterTaken : new Set(),
    });
    console.log(
      `${name}: ${changes.filter(isOurs).length} changes, ${
        JSON.stringify(notified)
      }; ${channel.met.size} moods`,
    );
  }
  console.log(`${changes.length} changes kept, ${unkept.length} not; ${JSON.stringify(tally)}`);
}
