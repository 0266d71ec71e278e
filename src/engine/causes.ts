/**
 * The common causes of problems: an attribute that the failing runs of at least three checks share, and that worked in
 * no run since. Pure.
 *
 * - A run suspects what may have caused its failure, and knows what worked; see `src/scheduler/attributes.ts`.
 * - A cause explains problems that began close together. A check has at most one: that of the most checks, then the
 *   narrowest one, in the order of {@linkcode KINDS}, then the first by name.
 * - Of a wide attribute, three narrower ones must fail: two hosts that fail are no network, and two names no resolver. Of
 *   a unit, a check must fail that suspects nothing else: two ports that fail are no stopped unit. So two faults at a time
 *   are never taken for one.
 * - Checks that a dependency suppresses are left out: `depends_on` decides about them.
 */
import type { AttributeKind, Check, RunAttributes } from "../domain/check.ts";
import type { Cause } from "../domain/outbox.ts";
import { isCron } from "../domain/schedule.ts";
import type { CheckRecord } from "../domain/store.ts";
import { lazily } from "../shared/lazily.ts";
import { MINUTE_MS, SECOND_MS } from "../shared/time_units.ts";
import type { StateRepository } from "../state/state_repository.ts";
import { holdingDependencies } from "./suppression.ts";

/** Fewer checks that fail at the same time are too often a coincidence. */
const CHECKS_MIN = 3;
/** Problems that begin further apart, with none in between, have different causes. */
const WINDOW_MS = 2 * MINUTE_MS;
/**
 * How long a notification waits at most for checks that are being run at once: those of a host that no longer responds
 * end after their timeout, by default 10 seconds.
 */
export const CAUSE_WAIT_MS = 20 * SECOND_MS;
/** A result leads to at most so many runs; each of them that fails leads to more. */
const RUNS_MAX = 8;
/** If so many fail with a suspect, their runs have led to hundreds of others. */
const FAILING_MAX = 64;

interface Kind {
  /** What the checks have in common. */
  describe(value: string, targets: readonly string[]): string;
  /** The kind of which three must fail. @default the checks alone count */
  readonly of?: AttributeKind;
  /** Whether one of the checks must have no suspect of another kind. @default false */
  readonly isSole?: boolean;
  /** Which failures make it a cause. @default three checks */
  readonly required?: string;
}

/** The kinds of attributes, the narrowest first. A server that did not respond suspects its address and its port. */
const KINDS: Readonly<Record<AttributeKind, Kind>> = {
  "certificate": { describe: (value) => `all get the certificate with SHA-256 ${value}…` },
  // The number of a device means nothing to people.
  "file system": {
    describe: (value, targets) =>
      `all use the file system ${value.replace(/^-?\d+/, () => `of ${commonDirectory(targets)}`)}`,
  },
  "container host": { describe: (value) => `all run on the container host ${value}` },
  "unit": {
    describe: (value) => `all belong to the systemd unit ${value}`,
    isSole: true,
    required: "three checks are required, one of them with no other suspect",
  },
  "host": { describe: (value) => `all resolve the name ${value}` },
  "address": { describe: (value) => `all connect to ${value}` },
  "port": { describe: (value) => `all connect to ${value}` },
  "network": {
    describe: (value) => `all connect to the network ${value}`,
    of: "address",
    required: "three addresses are required",
  },
  "location": { describe: (value) => `all fail at the location ${value}` },
  "resolver": {
    describe: (value) => `all resolve names with the resolver ${value}`,
    of: "host",
    required: "three names are required",
  },
};
const KIND_NAMES = Object.keys(KINDS) as readonly AttributeKind[];

export interface CausesOptions {
  /** The checks that run, by name. */
  readonly running: ReadonlyMap<string, Check>;
  recordOf(check: string): CheckRecord;
  /** Returns whether a dependency suppresses the problem of a check. */
  isHeld(check: Check): boolean;
  checksWith(attribute: string): ReadonlySet<string>;
  suspectingWith(attribute: string): ReadonlySet<string>;
  /** The checks whose last run has a suspect. */
  readonly suspecting: ReadonlySet<string>;
}

/** A common cause, and all checks with it, by name. */
export interface FoundCause extends Cause {
  readonly attribute: string;
  readonly names: readonly string[];
}

/** A check that fails, confirmed or not. */
interface Failing {
  readonly name: string;
  readonly suspected: readonly string[];
  /** The start and the end of the first run that failed. */
  readonly beganAtMs: number;
  readonly endedAtMs: number;
  readonly isConfirmed: boolean;
}

/** Returns the cause of each check that has one; found once for the same options. */
export function findCauses(options: CausesOptions): ReadonlyMap<string, FoundCause> {
  return causes.getOrInsertComputed(options, searchCauses);
}

const causes = new WeakMap<CausesOptions, ReadonlyMap<string, FoundCause>>();

function searchCauses(options: CausesOptions): ReadonlyMap<string, FoundCause> {
  const failing = [...options.suspecting].flatMap((name) => failingCheck(name, options) ?? [])
    .filter((one) => one.isConfirmed);
  const found = new Map<string, FoundCause>();
  if (failing.length < CHECKS_MIN) return found;
  const candidates = candidatesOf(failing)
    .filter((one) => refutersOf(one.attribute, sinceOf(one.checks), options).next().done === true)
    .sort(compare);
  for (let best = candidates.shift(); best !== undefined; best = candidates.shift()) {
    const { attribute } = best;
    const checks = best.checks.filter(({ name }) => !found.has(name));
    if (checks.length === best.checks.length) {
      const cause = toCause(best, options);
      for (const { name } of checks) found.set(name, cause);
    } else if (isEnough({ attribute, checks })) {
      const fewer = { attribute, checks };
      const place = candidates.findIndex((other) => compare(fewer, other) < 0);
      candidates.splice(place === -1 ? candidates.length : place, 0, fewer);
    }
  }
  return found;
}

export function causesIn(
  repository: StateRepository,
  running: ReadonlyMap<string, Check>,
  nowMs: number,
): CausesOptions {
  const recordOf = (name: string): CheckRecord => repository.recordOf(name, nowMs);
  const stateOf = (name: string): CheckRecord["condition"] => recordOf(name).condition;
  return {
    running,
    recordOf,
    isHeld: (check) => holdingDependencies(check, { running, stateOf, nowMs }).length > 0,
    checksWith: (attribute) => repository.attributes.checksWith(attribute),
    suspectingWith: (attribute) => repository.attributes.suspectingWith(attribute),
    suspecting: repository.attributes.suspecting,
  };
}

/**
 * Returns the checks to run at once since a check has begun to fail: those that share a suspect and have not run since.
 * One that is ok refutes the suspect; each that fails leads to more.
 */
export function othersToRun(name: string, options: CausesOptions): readonly string[] {
  const chosen = new Set<string>();
  const { attributes } = options.recordOf(name).last ?? {};
  if (attributes === undefined || isWidespread(attributes.suspected, options)) return [];
  for (const suspect of openSuspects(name, options)) {
    for (const other of undecided(suspect, options)) {
      if (chosen.size === RUNS_MAX) return [...chosen];
      chosen.add(other);
    }
  }
  return [...chosen];
}

/** Returns whether so many checks fail with one of some attributes that the others are run anyway. */
export function isWidespread(
  attributes: readonly string[],
  index: Pick<CausesOptions, "suspectingWith">,
): boolean {
  return attributes.some((one) => index.suspectingWith(one).size > FAILING_MAX);
}

/** Returns the failing checks to run at once since one with common suspects is ok again. */
export function failingToRun(
  { suspected }: Pick<RunAttributes, "suspected"> = { suspected: [] },
  { knownAtMs, options: { suspectingWith, recordOf, running } }: {
    /** When the run ended that is ok. */
    readonly knownAtMs: number;
    readonly options: CausesOptions;
  },
): readonly string[] {
  const names = new Set(suspected.flatMap((attribute) => [...suspectingWith(attribute)].sort(byText)));
  return [...names].filter((name) => {
    const { last } = recordOf(name);
    return mayRunAtOnce(running.get(name)) && last !== null && last.startedAtMs < knownAtMs;
  }).slice(0, RUNS_MAX);
}

/** A cron schedule names the times of its runs. */
function mayRunAtOnce(check: Check | undefined): boolean {
  return check !== undefined && !isCron(check.schedule);
}

/**
 * Returns until when a failing check waits for others that share a suspect: `-Infinity` while one of them is being run,
 * else the next run that may confirm the failure of one; `Infinity`: for none.
 */
export function awaitedUntilMs(name: string, options: CausesOptions): number {
  return openSuspects(name, options).reduce(
    (least, suspect) => Math.min(least, suspect.awaitedUntilMs()),
    Infinity,
  );
}

/** Why a failing check has a common cause with others, or none. */
export interface ExplainedCause {
  /** `null`: none is known. */
  readonly cause: FoundCause | null;
  /** What may have caused the failure, the narrowest first. */
  readonly suspects: readonly ExplainedSuspect[];
}

export interface ExplainedSuspect {
  readonly attribute: string;
  /** The others that fail with it, confirmed and at about the same time. */
  readonly failing: readonly string[];
  /** How many others fail with it and are not confirmed yet. */
  readonly unconfirmed: number;
  /** A check with which it worked since; `null`: none. */
  readonly refutedBy: string | null;
  /** Which failures make it a cause. */
  readonly required: string;
}

/** Returns the common cause of a failing check, and its suspects; `null`: it does not fail, or has no suspect. */
export function explainCause(name: string, options: CausesOptions): ExplainedCause | null {
  const suspects = suspectsOf(name, options);
  if (suspects.length === 0) return null;
  return {
    cause: findCauses(options).get(name) ?? null,
    suspects: suspects.map(({ attribute, sinceMs, checks }) => {
      const others = checks.filter((one) => one.name !== name);
      return {
        attribute,
        failing: others.filter(({ isConfirmed }) => isConfirmed).map((one) => one.name).sort(byText),
        unconfirmed: others.filter(({ isConfirmed }) => !isConfirmed).length,
        refutedBy: refutersOf(attribute, sinceMs, options).toArray().sort(byText)[0] ?? null,
        required: partsOf(attribute).kind?.required ?? "three checks are required",
      };
    }),
  };
}

/** A suspect of failing checks, and the start of the first run that failed with it. */
interface Suspect {
  readonly attribute: string;
  readonly sinceMs: number;
  /** The end of that run: a later one shows whether the attribute works. */
  readonly knownAtMs: number;
  /** The checks that fail with it, confirmed or not. */
  readonly checks: readonly Failing[];
  /** Returns whether no later run has refuted it. */
  isOpen(): boolean;
  awaitedUntilMs(): number;
}

/** Returns the suspects of a failing check that no later run has refuted. */
function openSuspects(name: string, options: CausesOptions): readonly Suspect[] {
  return suspectsOf(name, options).filter((suspect) => suspect.isOpen());
}

/** Returns the suspects of a failing check, the narrowest first. */
function suspectsOf(name: string, options: CausesOptions): readonly Suspect[] {
  const failing = failingCheck(name, options);
  if (failing === null) return [];
  return failing.suspected.toSorted((one, other) => rankOf(one) - rankOf(other) || byText(one, other))
    .flatMap((attribute) => suspectsWith(attribute, options).get(name) ?? []);
}

/** By the options, which are those of one moment, and the attribute: many failing checks share them. */
const known = new WeakMap<CausesOptions, Map<string, ReadonlyMap<string, Suspect>>>();

function suspectsWith(attribute: string, options: CausesOptions): ReadonlyMap<string, Suspect> {
  return known.getOrInsertComputed(options, () => new Map()).getOrInsertComputed(attribute, () => {
    const all = [...options.suspectingWith(attribute)].flatMap((name) => failingCheck(name, options) ?? []);
    return new Map(
      together(all).flatMap((checks) => {
        const suspect = toSuspect(attribute, checks, options);
        return checks.map(({ name }) => [name, suspect]);
      }),
    );
  });
}

function toSuspect(attribute: string, checks: readonly Failing[], options: CausesOptions): Suspect {
  const { recordOf, checksWith } = options;
  const sinceMs = sinceOf(checks);
  const knownAtMs = checks.reduce((least, { endedAtMs }) => Math.min(least, endedAtMs), Infinity);
  const isLater = (name: string): boolean => (recordOf(name).last?.startedAtMs ?? -Infinity) >= knownAtMs;
  const suspect: Suspect = {
    ...{ attribute, sinceMs, knownAtMs, checks },
    isOpen: lazily(() => !refutersOf(attribute, sinceMs, options).some(isLater)),
    awaitedUntilMs: lazily(() => {
      if (checksWith(attribute).size < CHECKS_MIN) return Infinity;
      if (undecided(suspect, options).length > 0) return -Infinity;
      return checks.filter(({ isConfirmed }) => !isConfirmed)
        .reduce((least, { name }) => Math.min(least, recordOf(name).nextRunAtMs ?? Infinity), Infinity);
    }),
  };
  return suspect;
}

/** Returns the other checks whose last run depended on an attribute, and began before its failure was known. */
function undecided(
  { attribute, knownAtMs, checks }: Suspect,
  { checksWith, recordOf, running }: CausesOptions,
): readonly string[] {
  const known = new Set(checks.map(({ name }) => name));
  return [...checksWith(attribute)].filter((name) => {
    const { last } = recordOf(name);
    return mayRunAtOnce(running.get(name)) && !known.has(name) && last !== null &&
      last.startedAtMs < knownAtMs;
  }).sort(byText);
}

type Candidate = Pick<Suspect, "attribute" | "checks">;

/** Returns the attributes that enough failing checks suspect, of problems that began close together. */
function candidatesOf(failing: readonly Failing[]): Candidate[] {
  const byAttribute = new Map<string, Failing[]>();
  for (const one of failing) {
    for (const attribute of one.suspected) {
      byAttribute.getOrInsertComputed(attribute, () => []).push(one);
    }
  }
  return [...byAttribute].flatMap(([attribute, checks]) =>
    together(checks).map((some) => ({ attribute, checks: some }))
  ).filter(isEnough);
}

/** Divides checks where nothing began for a while. */
function together(checks: readonly Failing[]): readonly (readonly Failing[])[] {
  const sorted = checks.toSorted((one, other) =>
    one.beganAtMs - other.beganAtMs || byText(one.name, other.name)
  );
  const parts: Failing[][] = [];
  for (const [index, one] of sorted.entries()) {
    const isFar = one.beganAtMs - (sorted[index - 1]?.beganAtMs ?? -Infinity) > WINDOW_MS;
    if (isFar) parts.push([one]);
    else parts.at(-1)?.push(one);
  }
  return parts;
}

function isEnough({ attribute, checks }: Candidate): boolean {
  if (checks.length < CHECKS_MIN) return false;
  const { of: narrower, isSole = false } = partsOf(attribute).kind ?? {};
  if (isSole) {
    const rank = rankOf(attribute);
    return checks.some(({ suspected }) => suspected.every((word) => rankOf(word) === rank));
  }
  if (narrower === undefined) return true;
  const values = new Set(
    checks.flatMap(({ suspected }) => suspected.filter((word) => word.startsWith(`${narrower} `))),
  );
  return values.size >= CHECKS_MIN;
}

function compare(one: Candidate, other: Candidate): number {
  return other.checks.length - one.checks.length || rankOf(one.attribute) - rankOf(other.attribute) ||
    byText(one.attribute, other.attribute) || sinceOf(one.checks) - sinceOf(other.checks);
}

/** Yields the checks for which an attribute worked in a run that ended after the first failing run began. */
function* refutersOf(
  attribute: string,
  sinceMs: number,
  { running, recordOf, checksWith }: CausesOptions,
): Generator<string> {
  for (const name of checksWith(attribute)) {
    const { last } = recordOf(name);
    if (last === null || !running.has(name) || last.attributes?.worked.includes(attribute) !== true) continue;
    if (last.startedAtMs + last.durationMs >= sinceMs) yield name;
  }
}

function toCause({ attribute, checks }: Candidate, { running }: CausesOptions): FoundCause {
  const names = checks.map(({ name }) => name).sort(byText);
  const targets = names.map((name) => running.get(name)?.target ?? "");
  const { kind, value } = partsOf(attribute);
  return {
    attribute,
    names,
    checks: names.length,
    sinceMs: Math.min(...checks.map(({ endedAtMs }) => endedAtMs)),
    text: `${kind?.describe(value, targets) ?? value}, and no healthy check does`,
  };
}

/** Returns the longest directory that has all paths. */
function commonDirectory(paths: readonly string[]): string {
  const [first = [], ...rest] = paths.map((path) => path.split("/"));
  const end = first.findIndex((part, index) => rest.some((parts) => parts[index] !== part));
  return (end === -1 ? first : first.slice(0, end)).join("/") || "/";
}

function failingCheck(name: string, { running, recordOf, isHeld }: CausesOptions): Failing | null {
  const check = running.get(name);
  const { last, condition: { confirmed, problemBeganAtMs, observed } } = recordOf(name);
  // That nothing is known is neither a failure nor a success.
  if (check === undefined || last === null || problemBeganAtMs === null) return null;
  if (observed !== "critical" && observed !== "warning" || isHeld(check)) return null;
  return {
    name,
    suspected: last.attributes?.suspected ?? [],
    beganAtMs: problemBeganAtMs - last.durationMs,
    endedAtMs: problemBeganAtMs,
    isConfirmed: confirmed === "critical" || confirmed === "warning",
  };
}

function sinceOf(checks: readonly Failing[]): number {
  return checks.reduce((least, { beganAtMs }) => Math.min(least, beganAtMs), Infinity);
}

/** An attribute of another version may have a kind that this one lacks: it is the widest, and whole. */
function partsOf(attribute: string) {
  const rank = KIND_NAMES.findIndex((name) => attribute.startsWith(`${name} `));
  const name = KIND_NAMES[rank];
  if (name === undefined) return { kind: null, value: attribute, rank: KIND_NAMES.length };
  return { kind: KINDS[name], value: attribute.slice(name.length + 1), rank };
}

function rankOf(attribute: string): number {
  return partsOf(attribute).rank;
}

function byText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
