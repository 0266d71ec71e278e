/** The events of one round, drawn before it begins: the same for the same seed. */
import type { Random } from "../../../testing/random.ts";

/** Something that happens to a process so many milliseconds after its start. */
export type Blow =
  | { readonly atMs: number; readonly signal: Deno.Signal }
  /** The process is stopped, and meanwhile so many seconds pass on its clocks. */
  | { readonly atMs: number; readonly stopMs: number; readonly seconds: number }
  /** Its clocks are moved while it runs. */
  | { readonly atMs: number; readonly seconds: number };

/** A process of a round. */
export interface PlannedProcess {
  readonly kind: "once" | "due" | "service";
  /** After the first one. */
  readonly startsAfterMs: number;
  /** `null`: the machine's clocks. */
  readonly clock: { readonly seconds: number; readonly moves: "wall" | "both" } | null;
  readonly blows: readonly Blow[];
  /** How long it lives, if so long that its resources are measured. */
  readonly longLifeMs?: number;
}

/** A fault of the disk of the state. */
export type DiskTrouble =
  | { readonly kind: "full"; readonly atMs: number; readonly roomBytes: number; readonly endsAtMs: number }
  | { readonly kind: "read_only" };

/** An edit of the config. */
export interface PlannedMove {
  readonly atMs: number;
  /** The edited channels. */
  readonly channels: readonly string[];
}

/** A round. */
export interface RoundPlan {
  /** One, or two on the same state. */
  readonly processes: readonly [PlannedProcess, ...PlannedProcess[]];
  readonly disk: DiskTrouble | null;
  /** Channels whose connections are refused all the time. */
  readonly down: readonly string[];
  /** Channels that are changed in the config, before it begins or meanwhile. */
  readonly moves: readonly PlannedMove[];
  /** When the checks show something else, besides at the beginning. */
  readonly turnsAtMs: readonly number[];
  /** The time of a `monitor status` alongside the monitor. */
  readonly statusAtMs: number | null;
}

/** Draws a round. */
export function planRound(random: Random, channels: readonly string[]): RoundPlan {
  const moves = planMoves(random, channels);
  const first = planProcess(random, { startsAfterMs: 0, moves });
  const isDoubled = random.oneIn(4);
  const startsAfterMs = random.oneIn(3) ? 0 : random.below(500);
  const second = isDoubled ? [planProcess(random, { startsAfterMs, moves })] : [];
  return {
    processes: [first, ...second],
    disk: planDisk(random),
    down: channels.filter(() => random.oneIn(8)),
    moves,
    turnsAtMs: Array.from({ length: Math.floor(random.below(4)) }, () => random.below(1_500)),
    statusAtMs: random.oneIn(10) ? random.below(400) : null,
  };
}

/** A signal before the program handles it terminates it. */
const SIGNALS_FROM_MS = 3_000;

/**
 * Draws a round of one service that lives long, whose config also has checks with hostile targets: it is reloaded,
 * stopped for some seconds, and asked to end in the middle of its work.
 */
export function planLongLife(random: Random, channels: readonly string[], longLifeMs: number): RoundPlan {
  const times = (everyMs: number): readonly number[] =>
    Array.from(
      { length: Math.floor(longLifeMs / everyMs) },
      () => SIGNALS_FROM_MS + random.below(longLifeMs - SIGNALS_FROM_MS),
    );
  const blows: readonly Blow[] = [
    ...times(20_000).map((atMs) => ({ atMs, signal: "SIGHUP" as const })),
    ...times(30_000).map((atMs) => ({ atMs, stopMs: random.below(4_000), seconds: 0 })),
  ];
  return {
    processes: [{
      kind: "service",
      startsAfterMs: 0,
      clock: null,
      blows: [...blows.toSorted((one, other) => one.atMs - other.atMs), {
        atMs: longLifeMs,
        signal: "SIGTERM",
      }],
      longLifeMs,
    }],
    disk: null,
    down: [],
    moves: times(40_000).map((atMs) => ({ atMs, channels: channels.filter(() => random.oneIn(2)) })),
    turnsAtMs: times(1_000),
    statusAtMs: random.below(longLifeMs),
  };
}

const STATE_TROUBLE_ONE_IN = 4;

function planDisk(random: Random): DiskTrouble | null {
  if (!random.oneIn(STATE_TROUBLE_ONE_IN)) return null;
  if (random.oneIn(4)) return { kind: "read_only" };
  const atMs = random.oneIn(2) ? 0 : random.below(500);
  return {
    kind: "full",
    atMs,
    // With some space it fills up in the middle of an operation.
    roomBytes: random.oneIn(2) ? 0 : random.below(120_000),
    endsAtMs: random.oneIn(2) ? Infinity : atMs + random.below(700),
  };
}

function planMoves(random: Random, channels: readonly string[]): readonly PlannedMove[] {
  const times = random.pick([[], [], [], [], [], [], [], [0], [random.below(1_500)], [
    0,
    random.below(1_500),
  ]]);
  return times.map((atMs) => ({ atMs, channels: channels.filter(() => random.oneIn(2)) }));
}

function planProcess(
  random: Random,
  { startsAfterMs, moves }: { readonly startsAfterMs: number; readonly moves: readonly PlannedMove[] },
): PlannedProcess {
  const kind = random.pick<PlannedProcess["kind"]>(["once", "once", "once", "due", "service"]);
  const clock = random.oneIn(2) ? null : {
    seconds: random.oneIn(2) ? 0 : (random.next() - 0.5) * 72_000,
    moves: random.pick<"wall" | "both">(["wall", "both"]),
  };
  const blows = kind === "service"
    ? [...scheduleBlows(random, clock !== null), ...reloads(random, { startsAfterMs, moves })]
    : onceBlows(random, clock !== null);
  return { kind, startsAfterMs, clock, blows: blows.toSorted((one, other) => one.atMs - other.atMs) };
}

/** Reloads a running monitor some time after an edit of the config. */
function reloads(
  random: Random,
  { startsAfterMs, moves }: { readonly startsAfterMs: number; readonly moves: readonly PlannedMove[] },
): readonly Blow[] {
  return moves.filter(({ atMs }) => atMs > startsAfterMs && !random.oneIn(4))
    .map(({ atMs }) => ({ atMs: atMs - startsAfterMs + random.below(200), signal: "SIGHUP" }));
}

const END_SIGNALS = ["SIGKILL", "SIGKILL", "SIGKILL", "SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"] as const;

/** Most end within half a second by themselves. */
function onceBlows(random: Random, hasClock: boolean): readonly Blow[] {
  const kinds = random.below(10);
  if (kinds < 3) return [];
  if (kinds < 7) return [{ atMs: random.below(450), signal: random.pick([...END_SIGNALS]) }];
  const stall = stands(random, random.below(350), hasClock);
  return random.oneIn(3) ? [stall, { atMs: random.below(700), signal: "SIGKILL" }] : [stall];
}

/** It has to be ended in the end. */
function scheduleBlows(random: Random, hasClock: boolean): readonly Blow[] {
  const lifeMs = random.oneIn(6) ? 2_000 + random.below(3_000) : 100 + random.below(1_600);
  const blows: Blow[] = [];
  if (random.oneIn(2)) blows.push(stands(random, random.below(lifeMs), hasClock));
  if (hasClock && random.oneIn(2)) blows.push({ atMs: random.below(lifeMs), seconds: someSeconds(random) });
  if (random.oneIn(3)) blows.push({ atMs: random.below(lifeMs), signal: "SIGHUP" });
  if (random.oneIn(2)) return [...blows, { atMs: lifeMs, signal: "SIGKILL" }];
  blows.push({ atMs: lifeMs, signal: random.pick(["SIGTERM", "SIGINT"]) });
  // While it stops: a kill, or a second signal.
  if (random.oneIn(3)) {
    blows.push({ atMs: lifeMs + random.below(150), signal: random.pick(["SIGKILL", "SIGTERM", "SIGINT"]) });
  }
  return blows;
}

function stands(random: Random, atMs: number, hasClock: boolean): Blow {
  return { atMs, stopMs: random.below(400), seconds: hasClock ? 60 + random.below(1_800) : 0 };
}

/** Some seconds let pending timers fire; more are a step of a clock. */
function someSeconds(random: Random): number {
  return random.oneIn(2) ? random.below(12) : (random.next() - 0.5) * 7_200;
}
