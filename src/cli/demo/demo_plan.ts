/**
 * The results of the invented checks at any time before and after the start of the demonstration. They are deterministic
 * for a start.
 */
import { type CheckResult, checkResult } from "../../domain/check.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../shared/time_units.ts";
import type { DemoCheck } from "./demo_checks.ts";

export interface DemoPlanOptions {
  readonly checks: readonly DemoCheck[];
  /** The end of the history; wall time, milliseconds since 1970. */
  readonly startMs: number;
  /** The length of the history. @default 90 */
  readonly days?: number;
}

export interface PlannedResult extends CheckResult {
  readonly durationMs: number;
}

interface Incident {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly trouble: number;
}

/** The duration of a run in an output. */
const SECONDS = /\b(?:took|after|within) ([\d.]+) s\b/;

/** The interval of new failures while the demonstration runs. */
const NEXT_INCIDENT_MS = 30 * SECOND_MS;
const FIRST_INCIDENT_MS = 5 * SECOND_MS;
const INCIDENT_MS_MIN = 50 * SECOND_MS;
const INCIDENT_MS_MAX = 2 * MINUTE_MS;

/** The intervals of past runs, by age: as long as the strips of the page permit, which show 24 hours and days. */
const STEPS = [
  { untilMs: 30 * HOUR_MS, stepMs: HOUR_MS },
  { untilMs: 8 * DAY_MS, stepMs: 3 * HOUR_MS },
  { untilMs: Infinity, stepMs: DAY_MS },
] as const;
/** The last runs, which the page shows one by one. */
const LAST_RUNS = 25;
/** The longest splay: not all checks run at the same time. */
const SPLAY_MS = 8 * SECOND_MS;

export class DemoPlan {
  readonly startMs: number;
  readonly beginMs: number;
  readonly #checks: ReadonlyMap<string, { readonly check: DemoCheck; readonly index: number }>;
  readonly #past: ReadonlyMap<string, readonly Incident[]>;
  readonly #restless: readonly string[];

  constructor({ checks, startMs, days = 90 }: DemoPlanOptions) {
    this.startMs = startMs;
    this.beginMs = startMs - days * DAY_MS;
    this.#checks = new Map(checks.map((check, index) => [check.name, { check, index }]));
    this.#past = new Map(checks.map((check, index) => [check.name, this.#incidentsOf(check, index)]));
    const isSteady = ({ problem, findings, written }: DemoCheck): boolean =>
      problem !== undefined || findings.incidents === 0 || findings.troubles.length === 0 ||
      written.depends_on !== undefined;
    this.#restless = checks.filter((check) => !isSteady(check)).map(({ name }) => name);
  }

  resultOf(name: string, atMs: number): PlannedResult {
    const { check: { findings }, index } = this.#get(name);
    const { ok, troubles, usualMs } = findings;
    const slowerSinceMs = this.startMs - random(index, 7) * 90 * DAY_MS;
    const noise = 0.8 + 0.4 * random(index, atMs) + (random(index, atMs + 1) < 0.02 ? 1.5 : 0);
    const durationMs = usualMs * noise * (atMs > slowerSinceMs ? 1.3 : 1);
    const incident = this.#incidentAt(name, atMs);
    const [condition, output] = (incident === null ? undefined : troubles[incident.trouble]) ?? ["ok", ok];
    const [, seconds] = SECONDS.exec(output) ?? [];
    const tookMs = seconds === undefined ? durationMs : Number(seconds) * SECOND_MS + durationMs / 10;
    return { ...checkResult(condition, output), durationMs: tookMs };
  }

  /** Returns the times of the runs until the start: frequent enough to confirm each incident and its end. */
  timesOf(name: string): readonly number[] {
    const { check: { problem }, index } = this.#get(name);
    const incidents = this.#past.get(name) ?? [];
    const beginMs = problem?.isNew === true ? incidents[0]?.fromMs ?? this.startMs : this.beginMs;
    const splayMs = Math.floor(random(index, 3) * SPLAY_MS);
    const times = new Set<number>();
    const add = (atMs: number): void => {
      if (atMs >= beginMs && atMs <= this.startMs) times.add(atMs);
    };
    for (let step = 0; step < LAST_RUNS; step++) add(this.startMs - step * MINUTE_MS - splayMs);
    if (problem?.isNew === true) return [...times].filter((_at, at) => at % 5 === 0).sort(byTime);
    let agoMs = splayMs;
    for (const { untilMs, stepMs } of STEPS) {
      for (; agoMs < Math.min(untilMs, this.startMs - beginMs); agoMs += stepMs) add(this.startMs - agoMs);
    }
    for (const { fromMs, untilMs } of incidents) {
      for (let step = 0; step < 3; step++) {
        add(fromMs + step * MINUTE_MS);
        add(untilMs + step * MINUTE_MS);
      }
    }
    return [...times].sort(byTime);
  }

  #get(name: string): { readonly check: DemoCheck; readonly index: number } {
    const found = this.#checks.get(name);
    if (found === undefined) throw new Error(`There is no check "${name}" in the demonstration`);
    return found;
  }

  #incidentsOf({ findings, problem }: DemoCheck, index: number): readonly Incident[] {
    const { startMs } = this;
    const now = problem === undefined ? [] : [{
      fromMs: startMs - problem.sinceMinutes * MINUTE_MS,
      untilMs: startMs + (problem.forMinutes ?? Infinity) * MINUTE_MS,
      trouble: problem.trouble ?? 0,
    }];
    if (problem?.isNew === true || findings.troubles.length === 0) return now;
    const count = findings.incidents ?? 1 + Math.floor(random(index, 1) * 2);
    const earliest = Array.from({ length: count }, (_, at) => {
      const [when, long, which] = [11, 12, 13].map((salt) => random(index, salt + 100 * (at + 1)));
      const fromMs = Math.floor(this.beginMs + (0.02 + 0.95 * (when ?? 0)) * (startMs - this.beginMs));
      return {
        fromMs,
        untilMs: fromMs + Math.floor(4 * MINUTE_MS + (long ?? 0) ** 4 * 9 * HOUR_MS),
        trouble: Math.floor((which ?? 0) * findings.troubles.length),
      };
    });
    return [...earliest, ...now];
  }

  #incidentAt(name: string, atMs: number): Incident | null {
    const isNow = ({ fromMs, untilMs }: Incident): boolean => fromMs <= atMs && atMs < untilMs;
    const known = this.#past.get(name)?.findLast(isNow);
    if (known !== undefined || atMs <= this.startMs) return known ?? null;
    const latest = Math.floor((atMs - this.startMs - FIRST_INCIDENT_MS) / NEXT_INCIDENT_MS);
    const earliest = latest - Math.ceil(INCIDENT_MS_MAX / NEXT_INCIDENT_MS);
    for (let turn = latest; turn >= Math.max(0, earliest); turn--) {
      const incident = this.#incidentOfTurn(turn);
      if (incident.name === name && isNow(incident)) return incident;
    }
    return null;
  }

  /** Returns an incident after the start, by its number; each concerns one check. */
  #incidentOfTurn(turn: number): Incident & { readonly name: string } {
    const [which = 0, long = 0, trouble = 0] = [21, 22, 23].map((salt) => random(turn, salt));
    const name = this.#restless[Math.floor(which * this.#restless.length)] ?? "";
    const fromMs = this.startMs + FIRST_INCIDENT_MS + turn * NEXT_INCIDENT_MS;
    return {
      name,
      fromMs,
      untilMs: fromMs + INCIDENT_MS_MIN + long * (INCIDENT_MS_MAX - INCIDENT_MS_MIN),
      trouble: Math.floor(trouble * (this.#checks.get(name)?.check.findings.troubles.length ?? 0)),
    };
  }
}

/** Returns a number from 0 to below 1 that is deterministic for two numbers (mulberry32, by Tommy Ettinger). */
function random(one: number, other: number): number {
  let mixed = Math.imul(1 + Math.imul(one + 1, 0x9e3779b1) + Math.floor(other), 0x6d2b79f5);
  mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

function byTime(one: number, other: number): number {
  return one - other;
}
