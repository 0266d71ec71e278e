/** Whether every check ran when it should. */
import { type Judgement, quantile, some } from "./judgement.ts";
import type { Pause, Run, SoakRecord, Span } from "./record.ts";

/** The p99 of the last third is at most this much of the middle one's, and so much more. */
const LATER_MAX = 1.25;
const LATER_BY_MS_MAX = 25;
/** And never more than this. */
const LATE_MS_MAX = 500;
/** What is planned so soon after a pause waits behind all that the pause has put off. */
const AFTER_MS: Readonly<Record<Pause["reason"], number>> = { stopped: 5_000, quiet: 10_000 };
/** So soon after it has come to the config, or after a pause, a check is planned again at the latest. */
const COMING_MS = 10_000;

/** Judges the runs. */
export function judgeRuns(record: SoakRecord): readonly Judgement[] {
  return [judgeLateness(record), judgeCounts(record), judgeGaps(record), judgeKept(record)];
}

/** How late runs of a time began; what was planned in a pause, or just behind it, could not be in time. */
export function latenessIn(
  { fromMs, untilMs }: Span,
  { runs, pauses }: { readonly runs: readonly Run[]; readonly pauses: readonly Pause[] },
): readonly number[] {
  return runs.flatMap(({ startedMs, lateMs }) => {
    const plannedMs = startedMs - lateMs;
    if (plannedMs < fromMs || plannedMs >= untilMs) return [];
    const isExcused = pauses.some((pause) =>
      plannedMs >= pause.fromMs && plannedMs < pause.untilMs + AFTER_MS[pause.reason]
    );
    return isExcused ? [] : [lateMs];
  });
}

function judgeLateness(record: SoakRecord): Judgement {
  const [, middle, last] = record.thirds;
  const before = quantile(latenessIn(middle, record), 0.99);
  const after = quantile(latenessIn(last, record), 0.99);
  const boundMs = Math.min(LATE_MS_MAX, before * LATER_MAX + LATER_BY_MS_MAX);
  const isKnown = !Number.isNaN(before) && !Number.isNaN(after);
  return {
    what:
      `lateness (p99) of the last third at most ${LATER_MAX} × that of the third before and ${LATER_BY_MS_MAX} ms, ` +
      `and at most ${LATE_MS_MAX} ms in both`,
    holds: isKnown ? before <= LATE_MS_MAX && after <= boundMs : null,
    found: isKnown ? `${before.toFixed(1)} ms, then ${after.toFixed(1)} ms` : "no run that could be in time",
  };
}

function judgeCounts({ runs, presences, pauses }: SoakRecord): Judgement {
  const startsOf = startsByName(runs);
  let expectedRuns = 0;
  let sparesTotal = 0;
  let lowest = Infinity;
  const wrong: string[] = [];
  for (const { facts: { name, intervalMs }, spans } of presences) {
    const presentMs = spans.reduce(
      (sum, span) => sum + span.untilMs - span.fromMs - pausedMs(span, pauses),
      0,
    );
    const expected = presentMs / intervalMs;
    const count = startsOf.get(name)?.length ?? 0;
    // Each time it comes, goes or stands still, a check runs once soon afterwards, or once less.
    const spares = spans.length + pauses.length + 1;
    expectedRuns += expected;
    sparesTotal += spares;
    if (expected >= 5) lowest = Math.min(lowest, count / expected);
    if (count < expected * 0.9 - Math.min(spares, expected / 2) || count > expected * 1.1 + spares) {
      wrong.push(`"${name}" ${count} of ${expected.toFixed(0)}`);
    }
  }
  const isAllRight = runs.length > expectedRuns * 0.9 && runs.length < expectedRuns * 1.1 + sparesTotal;
  return {
    what: "every check ran about as often as its interval says",
    holds: wrong.length === 0 && isAllRight,
    found: `${runs.length} runs where the intervals say ${expectedRuns.toFixed(0)}; the seldomest check ${
      (lowest * 100).toFixed(0)
    } %${wrong.length === 0 ? "" : `; ${some(wrong)}`}`,
  };
}

function judgeGaps(record: SoakRecord): Judgement {
  const startsOf = startsByName(record.runs);
  const wrong: string[] = [];
  let longest = 0;
  for (const { facts, spans } of record.presences) {
    const starts = startsOf.get(facts.name) ?? [];
    for (const span of spans) {
      const inside = starts.filter((atMs) => atMs >= span.fromMs && atMs < span.untilMs);
      const times = [span.fromMs, ...inside, span.untilMs];
      for (const [index, atMs] of times.entries()) {
        const nextMs = times[index + 1];
        if (nextMs === undefined) continue;
        const gap = { fromMs: atMs, untilMs: nextMs };
        const paused = pausedMs(gap, record.pauses);
        const gapMs = nextMs - atMs - paused;
        longest = Math.max(longest, gapMs / facts.intervalMs);
        const allowedMs = 2 * facts.intervalMs + facts.durationMaxMs +
          (index === 0 || paused > 0 ? COMING_MS : 0);
        if (gapMs > allowedMs) wrong.push(`"${facts.name}" ${(gapMs / 1000).toFixed(0)} s`);
      }
    }
  }
  return {
    what: "no check went without a run for more than two intervals and the time that a run may take",
    holds: wrong.length === 0,
    found: `the longest wait was ${longest.toFixed(1)} intervals${
      wrong.length === 0 ? "" : `; ${some(wrong)}`
    }`,
  };
}

function judgeKept({ runs, keptRuns }: SoakRecord): Judgement {
  return {
    what: "the state has counted each run that was told",
    holds: runs.length > 0 && keptRuns === runs.length,
    found: `${keptRuns} of ${runs.length}`,
  };
}

function startsByName(runs: readonly Run[]): ReadonlyMap<string, readonly number[]> {
  const starts = new Map<string, number[]>();
  for (const { name, startedMs } of runs) {
    const times = starts.get(name);
    if (times === undefined) starts.set(name, [startedMs]);
    else times.push(startedMs);
  }
  return starts;
}

function pausedMs({ fromMs, untilMs }: Span, pauses: readonly Pause[]): number {
  return pauses.reduce(
    (sum, pause) => sum + Math.max(0, Math.min(untilMs, pause.untilMs) - Math.max(fromMs, pause.fromMs)),
    0,
  );
}
