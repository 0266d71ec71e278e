/**
 * The continuous loop: checks run on their schedules until somebody stops it. Runs are observed by `monitor.ts`,
 * results are entered into the repository; what happens is told as events, and the caller prints them.
 *
 * Times here are on one line (see `schedule_time.ts`). Steps of the wall clock do not move it until they are noticed
 * and dealt with in one place (`noticeJump`).
 *
 * Invariant: a beat that runs has no timer, and one that does not run has exactly one, until the watch stops.
 */
import { entryOf } from "../checks/registry.ts";
import type { Check } from "../domain/check.ts";
import type { JobBook } from "../domain/job_runs.ts";
import type { Notification } from "../domain/notification.ts";
import { isCron } from "../domain/schedule.ts";
import type { Redact } from "../shared/redact.ts";
import type { Result } from "../domain/result.ts";
import type { CheckRecord } from "../domain/store.ts";
import type { System } from "../domain/system.ts";
import { startPersisting } from "../state/write_schedule.ts";
import { createLatenessTeller, type Lateness } from "./scheduling_lag.ts";
import type { Recorded, StateRepository } from "../state/state_repository.ts";
import { type Limits, runCheck } from "./run_checks.ts";
import { firstRun, missedUntil, nextRunAfter, overdueRun } from "./next_run.ts";
import { createDriver } from "./driver.ts";
import { createLimiter, type Limiter } from "./limiter.ts";
import type { Notifying } from "../alerting/notifying.ts";
import { createScheduleTime } from "../shared/schedule_time.ts";
import type { TimerHandle } from "./timer_table.ts";
import { createStandstillWatch, STANDSTILL_MS } from "./stall.ts";
import { AFTER_SLEEP_MS, AFTER_STALL_MS, JUMP_MS } from "./stall_safe.ts";

/** What is watched; a reload replaces it whole. */
export interface Watched {
  /** Active checks only. */
  readonly checks: readonly Check[];
  /** Every check of the config, those too that do not run here: what is kept of them stays. @default checks */
  readonly configChecks?: readonly Check[];
  /** The config's folder, absolute. */
  readonly folder: string;
  /** Takes secrets out of a text. */
  readonly redact: Redact;
}

/**
 * Something that happened, for whoever prints it.
 *
 * - `result`: a run that counts; it began `lateMs` after its planned time.
 * - `notification`: what a result led to; its rows are on their way.
 * - `slept`: the clocks parted by `forMs` (negative: the wall clock was set back); `discarded` results do not count.
 * - `stalled`: since this was told last, this process stood still during `count` runs, whose results do not count;
 *   the longest during that of `name`.
 * - `late`: since this was told last, `count` runs began a second or more late, that of `name` the latest.
 */
export type WatchEvent =
  | { readonly event: "result"; readonly result: Result; readonly entry: Recorded; readonly lateMs: number }
  | { readonly event: "notification"; readonly notification: Notification }
  | { readonly event: "slept"; readonly forMs: number; readonly discarded: number }
  | ({ readonly event: "stalled" } & Lateness)
  | ({ readonly event: "late" } & Lateness);

/** What a watch needs. */
export interface WatchOptions {
  /** The parts of the machine that checks and their timers use. */
  readonly system: Pick<System, "clock" | "files" | "processes" | "requests" | "connections" | "environment">;
  /** What jobs said of themselves; `null` where no state is kept. */
  readonly jobs: JobBook | null;
  /** Takes every result that counts, and decides what is told; this writes and tidies it. */
  readonly repository: StateRepository;
  /** How many checks run at a time; the others wait, and are told as late. */
  readonly limits: Limits;
  /** What holds notifications back, and where they go. */
  readonly notifying: Pick<Notifying, "refresh" | "deciding" | "parentsToRun" | "send">;
  /** Called at once for each event; for a notification only after the repository has tried to keep it. */
  onEvent(event: WatchEvent): void;
  /** Told of what must not happen; the watch ends. */
  onBug(error: unknown): void;
}

/** A running watch. */
export interface Watch {
  /** Whether no run is overdue: the loop does its work. */
  readonly isAdvancing: boolean;
  /** Goes on with other checks: unchanged ones keep their phase and their plan, all keep their state by name. */
  reload(watched: Watched): void;
  /** The checks that run just now, in no order. */
  readonly running: readonly string[];
  /**
   * Starts nothing more, gives running checks some time, then ends them, and keeps everything. Answers the checks
   * that were ended without a result; those that only waited for their turn are none of them.
   */
  stop(graceMs: number): Promise<readonly string[]>;
}

/** A sleep is noticed so soon after its end, however far away the next run is. */
const WAKE_EVERY_MS = 30_000;
/** How long after a reload a check runs again whose run was ended because it looked at what the check was before. */
const AFTER_RELOAD_MS = 1_000;

interface Beat {
  check: Check;
  /** When the next or the present run is planned, see `schedule_time.ts`. */
  plannedMs: number;
  timer: TimerHandle | null;
  /** Runs left out since the last result, because of a sleep or a discarded run. */
  missed: number;
  /** Whether the next run was put off because many came late; once only, or a slow machine would run nothing. */
  isSpread: boolean;
  /** Whether checks that depend on it are decided again after its next result. */
  isAwaited: boolean;
  /** Whether it has had a result since the start; what it was before that may be over. */
  wasSeen: boolean;
  /** Ends the present run; `null` while none is under way. */
  running: AbortController | null;
  /** Whether the present run has had its turn. */
  hasStarted: boolean;
  /** The present run's result does not count, and the check runs again after so long; `null`: it counts. */
  againAfterMs: number | null;
  /** Whether the check has left the config, and its present run has yet to end. */
  isGone: boolean;
  /** How long this process stood still during the present run. */
  stalledMs: number;
  /** Whether the run before was discarded because of that: then this one counts, or a slow disk would hide all. */
  isRepeated: boolean;
}

type Timer = { readonly beat: Beat } | { readonly run: () => void };

/** Starts watching. */
export function startWatch(first: Watched, options: WatchOptions): Watch {
  const { system, jobs, repository, limits, notifying, onEvent, onBug } = options;
  const { clock } = system;
  const time = createScheduleTime(clock);
  const limiters: Readonly<Record<"process" | "network", Limiter>> = {
    process: createLimiter(limits.process),
    network: createLimiter(limits.network),
  };
  const beats = new Map<string, Beat>();
  const runs = new Set<Promise<void>>();
  const unfinished: string[] = [];
  /** Checks of which something was to be told and is not; what nobody has looked at since the start may be over. */
  const untold = new Set<string>();
  let watched = first;
  let telling: Promise<void> = Promise.resolve();
  let isStopping = false;

  const driver = createDriver<Timer>(clock, (timers) => {
    try {
      fire(timers);
    } catch (error) {
      onBug(error);
    }
  });
  const after = (delayMs: number, run: () => void): () => void => {
    const handle = driver.schedule(clock.monotonicMs() + delayMs, { run });
    return () => driver.cancel(handle);
  };
  const fire = (timers: readonly Timer[]): void => {
    for (const timer of timers) if ("beat" in timer) timer.beat.timer = null;
    noticeJump();
    noticeStandstill();
    for (const timer of timers) {
      if ("run" in timer) timer.run();
      // What a jump of the clock has just planned anew is not due any more.
      else if (timer.beat.timer === null) beginOrSpread(timer.beat);
    }
  };
  /** A timer that comes so late finds many others due: after a standstill runs are spread as after a start. */
  const beginOrSpread = (beat: Beat): void => {
    const lateMs = time.nowMs() - beat.plannedMs;
    if (lateMs < STANDSTILL_MS || beat.isSpread) return begin(beat);
    beat.isSpread = true;
    noteLateness(beat.check.name, lateMs);
    planOverdue(beat, time.nowMs());
  };

  const plan = (beat: Beat, atMs: number): void => {
    if (beat.timer !== null) driver.cancel(beat.timer);
    beat.plannedMs = atMs;
    beat.timer = isStopping ? null : driver.schedule(time.monotonicMs(atMs), { beat });
  };
  const recordOf = (beat: Beat): CheckRecord => repository.recordOf(beat.check.name, time.nowMs());
  const planAtStart = (beat: Beat, isBehindOverdue: boolean): void => {
    plan(beat, firstRun(beat.check, { record: recordOf(beat), nowMs: time.nowMs(), isBehindOverdue }));
  };
  /** Plans what is overdue soon after a time, the beats in between left out; what is planned for later stays. */
  const planOverdue = (beat: Beat, nowMs: number): void => {
    const { check, plannedMs } = beat;
    const { condition: state } = recordOf(beat);
    const atMs = plannedMs > nowMs ? plannedMs : overdueRun(check, { state, nowMs });
    beat.missed += missedUntil(check, { state, plannedMs, atMs });
    plan(beat, atMs);
  };
  /** Plans a run in place of one that was discarded. */
  const planAgain = (beat: Beat, afterMs: number): void => {
    const nowMs = time.nowMs();
    // Where the clock was set back, what has begun was planned for later than now.
    beat.plannedMs = Math.min(beat.plannedMs, nowMs);
    planOverdue(beat, nowMs + afterMs);
  };

  /** Notices that the wall clock and the monotonic one parted: a suspend, or a clock that was set. */
  const noticeJump = (): void => {
    const jumpMs = time.catchUp();
    if (jumpMs === 0) return;
    const isJump = Math.abs(jumpMs) > JUMP_MS;
    let discarded = 0;
    for (const beat of beats.values()) {
      if (isJump && beat.running !== null) {
        discarded++;
        discard(beat, { againAfterMs: AFTER_SLEEP_MS, reason: "the machine slept" });
      } else if (isJump && jumpMs > 0) planOverdue(beat, time.nowMs() + AFTER_SLEEP_MS);
      else if (isCron(beat.check.schedule)) followWall(beat, isJump);
      // The timer stands: the run comes after as long a time as without the step, and the next one is on the grid.
      else beat.plannedMs += jumpMs;
    }
    // A clock that was set back is no sleep, but the results of then are as doubtful.
    if (isJump) onEvent({ event: "slept", forMs: jumpMs, discarded });
  };
  /** Times of the calendar are those of the wall clock, also when it is set back. */
  const followWall = (beat: Beat, isJump: boolean): void => {
    if (beat.running !== null) return;
    const { plannedMs, check } = beat;
    const nowMs = time.nowMs();
    const record = { ...recordOf(beat), nextRunAtMs: plannedMs };
    plan(beat, isJump && plannedMs > nowMs ? firstRun(check, { record, nowMs }) : plannedMs);
  };
  const noticeStandstill = (): void => {
    const stalledMs = standstill.takeMs();
    if (stalledMs === 0) return;
    for (const beat of beats.values()) if (beat.hasStarted) beat.stalledMs += stalledMs;
  };
  const noteUntold = (check: Check, { suppressed }: Recorded, runsParents: boolean): void => {
    if (suppressed === null) untold.delete(check.name);
    else untold.add(check.name);
    if (suppressed === "dependency" && runsParents) runParents(check);
  };
  /** Runs checks at once whose state decides whether what is due of a check is suppressed. */
  const runParents = (check: Check): void => {
    const nowMs = time.nowMs();
    for (const { name } of notifying.parentsToRun(check, nowMs)) {
      const beat = beats.get(name);
      if (beat === undefined || beat.isGone || beat.isAwaited) continue;
      beat.isAwaited = true;
      if (beat.running === null) plan(beat, nowMs);
    }
  };
  /** Tells what was suppressed that has ended meanwhile, rather than at the next run. */
  const reviewHeld = async ({ runsParents = true } = {}): Promise<void> => {
    if (![...untold].some((name) => beats.has(name))) return;
    await notifying.refresh();
    const nowMs = time.nowMs();
    for (const name of [...untold]) {
      const beat = beats.get(name);
      if (isStopping || beat === undefined || beat.isGone) continue;
      const { check } = beat;
      const entry = repository.review(check, { nowMs, ...notifying.deciding(check, nowMs) });
      if (entry.notification !== null) tell(entry);
      noteUntold(check, entry, runsParents);
    }
  };
  // Whenever a timer fires, the clocks are compared.
  const wakeNowAndThen = (): void => {
    after(WAKE_EVERY_MS, wakeNowAndThen);
    reviewHeld().catch(onBug);
  };
  /** Ends a run whose result is not to count, and runs the check again soon. */
  const discard = (
    beat: Beat,
    { againAfterMs, reason }: { readonly againAfterMs: number; readonly reason: string },
  ): void => {
    beat.againAfterMs = againAfterMs;
    beat.running?.abort(new Error(`Cannot use the result of "${beat.check.name}": ${reason}`));
  };

  const begin = (beat: Beat): void => {
    if (isStopping) return;
    const abort = new AbortController();
    beat.running = abort;
    beat.hasStarted = false;
    beat.isSpread = false;
    beat.againAfterMs = null;
    beat.stalledMs = 0;
    const run = observe(beat, abort).catch(onBug).finally(() => runs.delete(run));
    runs.add(run);
    standstill.start();
  };

  const observe = async (beat: Beat, abort: AbortController): Promise<void> => {
    const { check } = beat;
    const { limit } = await entryOf(check);
    const { folder, redact } = watched;
    let lateMs = 0;
    const start = (): Promise<Result> => {
      beat.hasStarted = true;
      lateMs = time.nowMs() - beat.plannedMs;
      noteLateness(check.name, lateMs);
      return runCheck(check, { system, jobs, folder, redact, signal: abort.signal });
    };
    let result: Result | null = null;
    try {
      result = limit === "none" ? await start() : await limiters[limit].run(start, abort.signal);
    } catch (error) {
      if (!abort.signal.aborted) throw error;
    }
    // Another process may have silenced the check meanwhile.
    if (result !== null && (result.condition !== "ok" || recordOf(beat).condition.confirmed !== "ok")) {
      await notifying.refresh();
    }
    noticeJump();
    noticeStandstill();
    beat.running = null;
    if (result === null && isStopping && beat.hasStarted) unfinished.push(check.name);
    beat.hasStarted = false;
    if (beat.isGone) {
      beats.delete(check.name);
    } else if (result === null || beat.againAfterMs !== null) {
      planAgain(beat, beat.againAfterMs ?? 0);
    } else if (!isStopping && beat.stalledMs > 0 && result.condition !== "ok" && !beat.isRepeated) {
      beat.isRepeated = true;
      noteStall(check.name, beat.stalledMs);
      planAgain(beat, AFTER_STALL_MS);
    } else {
      beat.isRepeated = false;
      // A reload may have changed what follows from an observation, such as the threshold.
      settle(beat, { ...result, check: beat.check }, lateMs);
    }
  };

  const settle = (beat: Beat, result: Result, lateMs: number): void => {
    const { check, plannedMs } = beat;
    const nowMs = time.nowMs();
    const entry = repository.record(result, {
      nowMs,
      ...notifying.deciding(check, nowMs),
      lateMs: Math.max(0, lateMs),
      plan: ({ condition: state }) => {
        const next = nextRunAfter(check, { state, plannedMs, nowMs });
        return { ...next, missed: next.missed + beat.missed };
      },
    });
    beat.missed = 0;
    beat.wasSeen = true;
    plan(beat, entry.record.nextRunAtMs ?? nowMs);
    noteUntold(check, entry, true);
    onEvent({ event: "result", result, entry, lateMs });
    tell(entry);
    if (beat.isAwaited) {
      beat.isAwaited = false;
      // Not again: by a clock that was set back, it may never seem to be new.
      reviewHeld({ runsParents: false }).catch(onBug);
    }
  };
  /** Tells what is to be told once it is kept, or the store was found unable to. */
  const tell = ({ notification, queued }: Recorded): void => {
    const kept = keeping.recorded();
    if (notification === null) kept.catch(onBug);
    else {
      telling = Promise.all([telling, kept]).then(() => {
        onEvent({ event: "notification", notification });
        notifying.send(queued);
      }).catch(onBug);
    }
  };

  const leave = (beat: Beat): void => {
    const { name } = beat.check;
    if (beat.timer !== null) driver.cancel(beat.timer);
    beat.timer = null;
    if (beat.running === null) beats.delete(name);
    // It stays until its run has ended, so that a check that comes back does not run beside it.
    beat.isGone = true;
    beat.running?.abort(new Error(`Cannot go on with "${name}": it left the config`));
  };
  const change = (beat: Beat, check: Check): void => {
    const before = beat.check;
    beat.check = check;
    if (beat.running === null) {
      if (!isSame(before.schedule, check.schedule)) planAtStart(beat, false);
    } else if (beat.isGone || !isSame(observedBy(before), observedBy(check))) {
      beat.isGone = false;
      discard(beat, { againAfterMs: AFTER_RELOAD_MS, reason: "the config was changed" });
    }
  };
  const adopt = (next: Watched): void => {
    watched = next;
    const names = new Set(next.checks.map((check) => check.name));
    for (const [name, beat] of beats) if (!names.has(name)) leave(beat);
    const added: Beat[] = [];
    for (const check of next.checks) {
      const beat = beats.get(check.name);
      if (beat !== undefined) change(beat, check);
      else added.push(createBeat(check));
    }
    for (const beat of added) beats.set(beat.check.name, beat);
    const nowMs = time.nowMs();
    const isOverdue = (beat: Beat): boolean => (recordOf(beat).nextRunAtMs ?? Infinity) <= nowMs;
    const isAnyOverdue = added.some(isOverdue);
    for (const beat of added) planAtStart(beat, isAnyOverdue);
  };

  const standstill = createStandstillWatch({ clock, after, isBusy: () => runs.size > 0 });
  const noteLateness = createLatenessTeller({
    after,
    tell: (lateness) => onEvent({ event: "late", ...lateness }),
  });
  const noteStall = createLatenessTeller({
    after,
    tell: (lateness) => onEvent({ event: "stalled", ...lateness }),
  });
  adopt(first);
  wakeNowAndThen();
  const keeping = startPersisting({
    repository,
    checks: () => watched.configChecks ?? watched.checks,
    nowMs: time.nowMs,
    after,
    onBug,
  });
  return {
    reload: (next) => {
      adopt(next);
      // What waited for a channel that a check has no more is due again, for another channel or for none.
      for (const { check, wasSeen } of beats.values()) if (wasSeen) untold.add(check.name);
      reviewHeld().catch(onBug);
    },
    get isAdvancing() {
      const nowMs = time.nowMs();
      return [...beats.values()].every((beat) =>
        beat.running !== null || beat.plannedMs > nowMs - STANDSTILL_MS
      );
    },
    get running() {
      return [...beats.values()].filter((beat) => beat.hasStarted).map((beat) => beat.check.name);
    },
    stop: async (graceMs) => {
      isStopping = true;
      driver.stop();
      // What waits for its turn is not to start any more.
      for (const beat of beats.values()) if (!beat.hasStarted) beat.running?.abort(new Error("Stopped"));
      const all = Promise.all(runs);
      let cancelGrace = (): void => {};
      const grace = new Promise<void>((resolve) => cancelGrace = clock.after(graceMs, resolve));
      await Promise.race([all, grace]);
      cancelGrace();
      for (const beat of beats.values()) beat.running?.abort(new Error("Stopped"));
      await Promise.all(runs);
      await repository.flush();
      await telling;
      return unfinished;
    },
  };
}

function createBeat(check: Check): Beat {
  return {
    check,
    plannedMs: 0,
    timer: null,
    missed: 0,
    isSpread: false,
    isAwaited: false,
    wasSeen: false,
    running: null,
    hasStarted: false,
    againAfterMs: null,
    isGone: false,
    stalledMs: 0,
    isRepeated: false,
  };
}

/** What decides an observation; the rest of a check is about what follows from it. */
function observedBy({ kind, parameters, timeoutMs }: Check): unknown {
  return { kind, parameters, timeoutMs };
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
