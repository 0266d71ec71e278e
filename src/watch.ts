/**
 * The continuous loop: checks run on their schedules until somebody stops it. Runs are observed by `monitor.ts`,
 * results are entered into the ledger; what happens is told as events, and the caller prints them.
 *
 * Times here are on one line, `scheduleMs`: monotonic time, moved so that it reads as wall time. Steps of the wall
 * clock do not move it until they are noticed and dealt with in one place (`noticeJump`).
 */
import { CHECK_KINDS } from "./checks/registry.ts";
import { isAttentive } from "./condition/transition.ts";
import type { Check } from "./domain/check.ts";
import type { Report } from "./domain/report.ts";
import type { Result } from "./domain/result.ts";
import type { System } from "./domain/system.ts";
import type { Entry, Ledger } from "./ledger.ts";
import { type Limits, runCheck } from "./monitor.ts";
import { createDriver } from "./schedule/driver.ts";
import { createLimiter, type Limiter } from "./schedule/limiter.ts";
import { phaseOf, planFirst, planNext } from "./schedule/plan.ts";
import type { TimerHandle } from "./schedule/timer_table.ts";

/** What is watched; a reload replaces it whole. */
export interface Watched {
  /** Active checks only. */
  readonly checks: readonly Check[];
  /** The document's folder, absolute. */
  readonly folder: string;
  /** Takes secrets out of a text. */
  redact(text: string): string;
}

/** Something that happened, for whoever prints it. */
export type WatchEvent =
  | { readonly event: "result"; readonly result: Result; readonly entry: Entry; readonly lateMs: number }
  | { readonly event: "report"; readonly report: Report; readonly check: Check }
  | { readonly event: "slept"; readonly forMs: number; readonly discarded: number }
  | { readonly event: "late"; readonly count: number; readonly worstMs: number; readonly name: string };

/** What a watch needs. */
export interface WatchOptions {
  readonly system: Pick<System, "clock" | "files" | "processes" | "requests" | "environment">;
  readonly ledger: Ledger;
  readonly limits: Limits;
  /** Whether reports are held back. */
  readonly notifies: boolean;
  onEvent(event: WatchEvent): void;
  /** Told of what must not happen; the watch ends. */
  onBug(error: unknown): void;
}

/** A running watch. */
export interface Watch {
  /** Goes on with other checks: unchanged ones keep their phase and their plan, all keep their state by name. */
  reload(watched: Watched): void;
  /** Starts nothing more, gives running checks some time, then ends them, and keeps everything. */
  stop(graceMs: number): Promise<void>;
}

/** How far wall and monotonic time may part before the machine is taken to have slept. */
const JUMP_MS = 5_000;
/** How long after a sleep the checks that it interrupted run again: the network has to come back. */
const AFTER_SLEEP_MS = 10_000;
/** A run that took so much longer than its time limit was stopped together with the monitor. */
const STALL_MS = 7_000;
/** Results wait so long for others to be written with them. */
const FLUSH_MS = 1_000;
const FLUSH_COUNT = 500;
const LATE_MS = 1_000;
const LATE_TOLD_EVERY_MS = 60_000;
const TIDY_EVERY_MS = 3_600_000;

interface Beat {
  check: Check;
  readonly phase: number;
  /** When the next or the present run is planned, schedule time. */
  plannedMs: number;
  timer: TimerHandle | null;
  /** Ends the present run; `null` while none is under way. */
  running: AbortController | null;
  /** Whether the present run's result no longer counts. */
  isStale: boolean;
}

type Timer = { readonly beat: Beat } | { readonly task: "flush" | "tidy" };

/** Starts watching. */
export function startWatch(first: Watched, options: WatchOptions): Watch {
  const { system, ledger, limits, onEvent, onBug } = options;
  const { clock } = system;
  const limiters: Readonly<Record<"process" | "network", Limiter>> = {
    process: createLimiter(limits.process),
    network: createLimiter(limits.network),
  };
  const beats = new Map<string, Beat>();
  const runs = new Set<Promise<void>>();
  let watched = first;
  let offsetMs = clock.wallMs() - clock.monotonicMs();
  let flushTimer: TimerHandle | null = null;
  let isStopping = false;
  const late = { count: 0, worstMs: 0, name: "", toldMs: -Infinity };

  const scheduleMs = (): number => clock.monotonicMs() + offsetMs;
  const driver = createDriver<Timer>(clock, (timers) => {
    noticeJump();
    for (const timer of timers) {
      if ("beat" in timer) begin(timer.beat);
      else if (timer.task === "flush") flush();
      else tidy();
    }
  });
  const setTimer = (atMs: number, timer: Timer): TimerHandle => driver.schedule(atMs - offsetMs, timer);

  const plan = (beat: Beat, atMs: number): void => {
    if (beat.timer !== null) driver.cancel(beat.timer);
    beat.plannedMs = atMs;
    beat.timer = isStopping ? null : setTimer(atMs, { beat });
  };
  const planAtStart = (beat: Beat, nowMs: number): void => {
    const record = ledger.recordOf(beat.check.name, nowMs);
    const intervalMs = isAttentive(record.condition)
      ? beat.check.schedule.attentiveIntervalMs
      : beat.check.schedule.regularIntervalMs;
    plan(beat, planFirst({ keptMs: record.nextRunAtMs, nowMs, intervalMs, phase: beat.phase }));
  };

  /** Notices that the wall clock and the monotonic one parted: a suspend, or a clock that was set. */
  const noticeJump = (): void => {
    const jumpMs = clock.wallMs() - clock.monotonicMs() - offsetMs;
    offsetMs += jumpMs;
    if (Math.abs(jumpMs) <= JUMP_MS) return;
    let discarded = 0;
    for (const beat of beats.values()) {
      if (beat.running !== null) {
        discarded++;
        discard(beat, "the machine slept");
      } else if (jumpMs > 0) planAtStart(beat, scheduleMs());
      else plan(beat, beat.plannedMs + jumpMs);
    }
    // A clock that was set back is no sleep, but the results of then are as doubtful.
    onEvent({ event: "slept", forMs: jumpMs, discarded });
  };
  /** Ends a run whose result says more about this machine than about the target, and runs the check again soon. */
  const discard = (beat: Beat, reason: string): void => {
    beat.isStale = true;
    beat.running?.abort(new Error(`Cannot use the result of "${beat.check.name}": ${reason}`));
  };

  const begin = (beat: Beat): void => {
    beat.timer = null;
    if (isStopping) return;
    const abort = new AbortController();
    beat.running = abort;
    beat.isStale = false;
    const run = observe(beat, abort).catch(onBug).finally(() => runs.delete(run));
    runs.add(run);
  };

  const observe = async (beat: Beat, abort: AbortController): Promise<void> => {
    const { check } = beat;
    const { limit } = CHECK_KINDS[check.kind];
    const { folder, redact } = watched;
    let lateMs = 0;
    const start = (): Promise<Result> => {
      lateMs = scheduleMs() - beat.plannedMs;
      noteLateness(check, lateMs);
      return runCheck(check, { system, folder, redact, signal: abort.signal });
    };
    let result: Result | null = null;
    try {
      result = limit === "none" ? await start() : await limiters[limit].run(start, abort.signal);
    } catch (error) {
      if (!abort.signal.aborted) throw error;
    }
    noticeJump();
    beat.running = null;
    if (beats.get(check.name) !== beat) return;
    const stalled = result !== null && result.durationMs > check.timeoutMs + STALL_MS;
    if (stalled) onEvent({ event: "slept", forMs: result?.durationMs ?? 0, discarded: 1 });
    if (result === null || beat.isStale || stalled) {
      if (!isStopping) plan(beat, scheduleMs() + AFTER_SLEEP_MS * (0.5 + beat.phase / 2));
      return;
    }
    settle(beat, result, lateMs);
  };

  const settle = (beat: Beat, result: Result, lateMs: number): void => {
    const nowMs = scheduleMs();
    const entry = ledger.enter(result, {
      nowMs,
      held: options.notifies ? null : "no_notify",
      plan: (record) => {
        const { regularIntervalMs, attentiveIntervalMs } = beat.check.schedule;
        const isWatched = isAttentive(record.condition) && attentiveIntervalMs !== regularIntervalMs;
        const next = planNext({
          plannedMs: beat.plannedMs,
          nowMs,
          regularIntervalMs,
          attentiveIntervalMs: isWatched ? attentiveIntervalMs : null,
          phase: beat.phase,
        });
        return { ...next, intervalMs: isWatched ? attentiveIntervalMs : regularIntervalMs };
      },
    });
    plan(beat, entry.record.nextRunAtMs ?? nowMs);
    onEvent({ event: "result", result, entry, lateMs });
    if (ledger.isUrgent || ledger.waiting >= FLUSH_COUNT) flush();
    else flushTimer ??= setTimer(nowMs + FLUSH_MS, { task: "flush" });
    const { report } = entry;
    if (report !== null) {
      void ledger.flush().then(() => onEvent({ event: "report", report, check: beat.check }), onBug);
    }
  };

  const flush = (): void => {
    flushTimer = null;
    ledger.flush().then(() => {
      // What the store could not take waits for the next try.
      if (ledger.waiting > 0 && !isStopping) {
        flushTimer ??= setTimer(scheduleMs() + FLUSH_MS, { task: "flush" });
      }
    }).catch(onBug);
  };
  const tidy = (): void => {
    ledger.tidy(watched.checks, scheduleMs()).catch(onBug);
    if (!isStopping) setTimer(scheduleMs() + TIDY_EVERY_MS, { task: "tidy" });
  };

  const noteLateness = (check: Check, lateMs: number): void => {
    if (lateMs < LATE_MS) return;
    late.count++;
    if (lateMs > late.worstMs) Object.assign(late, { worstMs: lateMs, name: check.name });
    const nowMs = clock.monotonicMs();
    if (nowMs - late.toldMs < LATE_TOLD_EVERY_MS) return;
    onEvent({ event: "late", count: late.count, worstMs: late.worstMs, name: late.name });
    Object.assign(late, { count: 0, worstMs: 0, name: "", toldMs: nowMs });
  };

  const adopt = (next: Watched): void => {
    watched = next;
    const names = new Set(next.checks.map((check) => check.name));
    for (const [name, beat] of beats) {
      if (names.has(name)) continue;
      if (beat.timer !== null) driver.cancel(beat.timer);
      beat.running?.abort(new Error(`Cannot go on with "${name}": it left the document`));
      beats.delete(name);
    }
    const nowMs = scheduleMs();
    for (const check of next.checks) {
      const beat = beats.get(check.name);
      if (beat === undefined) {
        const added: Beat = {
          check,
          phase: phaseOf(check.name),
          plannedMs: nowMs,
          timer: null,
          running: null,
          isStale: false,
        };
        beats.set(check.name, added);
        planAtStart(added, nowMs);
      } else {
        const isSameSchedule = JSON.stringify(beat.check.schedule) === JSON.stringify(check.schedule);
        beat.check = check;
        // A run that is under way ends as it began and is planned anew from its result.
        if (!isSameSchedule && beat.running === null) planAtStart(beat, nowMs);
      }
    }
  };

  adopt(first);
  tidy();
  return {
    reload: adopt,
    stop: async (graceMs) => {
      isStopping = true;
      driver.stop();
      const all = Promise.all(runs);
      let cancelGrace = (): void => {};
      const grace = new Promise<void>((resolve) => cancelGrace = clock.after(graceMs, resolve));
      await Promise.race([all, grace]);
      cancelGrace();
      for (const beat of beats.values()) beat.running?.abort(new Error("Stopped"));
      await Promise.all(runs);
      await ledger.flush();
    },
  };
}
