/**
 * What is to be reported, written down as DESIGN 4 says it and as simply as can be: each check keeps its whole
 * history, and every rule is read off it anew.
 */
import type { Check } from "../../src/domain/check.ts";
import { badness, type Condition } from "../../src/domain/condition.ts";
import type { ReportEvent } from "../../src/domain/condition_state.ts";

/** A report that the model expects. */
export interface ExpectedReport {
  readonly check: string;
  readonly event: ReportEvent;
  readonly condition: Condition;
  readonly previous: Condition;
  readonly decidedAtMs: number;
  readonly problemBeganAtMs: number;
}

/** What an observation leads to. */
export interface Decision {
  /** What is due, if every channel knows what was reported before. */
  readonly report: ExpectedReport | null;
  /** What a channel may be notified of that does not know it; `null`: something suppresses it. */
  readonly news: Pick<ExpectedReport, "check" | "condition" | "decidedAtMs" | "problemBeganAtMs"> | null;
}

/** Takes observations, and answers what each leads to. */
export interface ReferenceModel {
  /** Takes one, at which something else may be the case than at the one before. */
  observe(check: Check, observed: Observed): Decision;
}

/** An observation, and what is the case then. */
export interface Observed {
  readonly condition: Condition;
  readonly nowMs: number;
  /** Whether a silence holds the check's reports. */
  readonly silenced: boolean;
  /** Names of the checks that run: the others suppress nothing. */
  readonly running: ReadonlySet<string>;
}

interface Known {
  readonly history: Condition[];
  settled: Condition;
  reported: Condition;
  reportedAtMs: number;
  /** When the problem that was reported began. */
  reportedBeganAtMs: number;
  beganAtMs: number | null;
  observedAtMs: number;
}

/** Makes one that has seen nothing. */
export function createReferenceModel(): ReferenceModel {
  const known = new Map<string, Known>();
  return {
    observe: (check, { condition, nowMs, silenced, running }) => {
      const now = known.get(check.name) ?? unseen();
      known.set(check.name, now);
      now.history.push(condition);
      now.observedAtMs = nowMs;
      now.settled = settle(now, check);
      if (condition === "ok" && now.settled === "ok") now.beganAtMs = null;
      else now.beganAtMs ??= nowMs;
      const isHeld = silenced ||
        now.settled !== "ok" &&
          check.dependsOn.some((name) => running.has(name) && isInDoubt(known.get(name), now));
      if (isHeld) return { report: null, news: null };
      const event = dueEvent(now, check, nowMs);
      const news = {
        check: check.name,
        condition: now.settled,
        decidedAtMs: nowMs,
        problemBeganAtMs: (now.settled === "ok" ? now.reportedBeganAtMs : now.beganAtMs) ?? nowMs,
      };
      if (event === null) return { report: null, news };
      const report: ExpectedReport = { ...news, event, previous: now.reported };
      now.reported = now.settled;
      now.reportedAtMs = nowMs;
      now.reportedBeganAtMs = news.problemBeganAtMs;
      return { report, news };
    },
  };
}

function unseen(): Known {
  return {
    history: [],
    settled: "ok",
    reported: "ok",
    reportedAtMs: -Infinity,
    reportedBeganAtMs: 0,
    beganAtMs: null,
    observedAtMs: 0,
  };
}

/** Raised to the mildest of the last T where that is worse, lowered to the worst of the last R where that is better. */
function settle({ history, settled }: Known, { threshold, recoveryThreshold }: Check): Condition {
  const byBadness = (count: number): readonly Condition[] =>
    history.length < count ? [] : history.slice(-count).sort((one, other) => badness(one) - badness(other));
  const mildest = byBadness(threshold)[0];
  const worst = byBadness(recoveryThreshold).at(-1);
  if (mildest !== undefined && badness(mildest) > badness(settled)) return mildest;
  if (worst !== undefined && badness(worst) < badness(settled)) return worst;
  return settled;
}

function dueEvent(
  { settled, reported, reportedAtMs, history }: Known,
  { annoy }: Check,
  nowMs: number,
): ReportEvent | null {
  if (settled !== reported) return settled === "ok" ? "recovery" : reported === "ok" ? "problem" : "change";
  if (settled === "ok" || history.at(-1) === "ok" || annoy === false) return null;
  return annoy === true || nowMs - reportedAtMs >= annoy * 0.9 ? "reminder" : null;
}

/** A dependency that has a problem, was last not ok, or was not looked at since the problem here began. */
function isInDoubt(dependency: Known | undefined, { beganAtMs }: Known): boolean {
  if (dependency === undefined) return true;
  return dependency.settled !== "ok" || dependency.history.at(-1) !== "ok" ||
    dependency.observedAtMs < (beganAtMs ?? 0);
}
