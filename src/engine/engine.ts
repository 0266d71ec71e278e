/**
 * What happens between a result and a delivery: a result is recorded, {@linkcode decide} decides, the repository persists
 * the record with its notifications, and the sender sends them.
 */
import { initialState } from "../condition/condition_state.ts";
import type { Check } from "../domain/check.ts";
import type { ConditionState, Suppression } from "../domain/condition.ts";
import type { NotificationFacts } from "../domain/outbox.ts";
import { type NewReport, REPORTED_BYTES_MAX, type ReportedRun } from "../domain/reports.ts";
import type { CheckRecord } from "../domain/store.ts";
import type { StateRepository } from "../state/state_repository.ts";
import { causesIn, failingToRun, isWidespread, othersToRun } from "./causes.ts";
import type { NotifyingConfig } from "./configured_channels.ts";
import { decide, type Decided, NOT_SENT, type Run, type Situation, suppressionIn } from "./decide.ts";
import { isAfterGap } from "./check_status.ts";
import type { Sender } from "./sender.ts";
import { truncateBytes } from "../shared/text.ts";
import { checksToRun } from "./suppression.ts";

interface EngineOptions {
  readonly repository: StateRepository;
  /** Sends, and knows what the channels were last notified of; `null`: no channel is called, and nothing is suppressed. */
  readonly sender: EngineSender | null;
  newId(facts: NotificationFacts): string;
  readonly hostName: string;
  /** Whether checks that may have a common cause run at once. @default false */
  readonly commonCauses?: boolean;
  /** Reports each result to another monitor. @default null, nothing is reported */
  readonly reporter?: Reporter | null;
}

/** The part of a sender that decisions need. */
export type EngineSender = Pick<
  Sender,
  keyof Situation & keyof Sender | "queued" | "isAlone" | "decided" | "send" | "refresh" | "reload"
>;

/** What reports have of the process that records results. */
export interface Reporter {
  /** Whether the config asks for reports now. */
  readonly isActive: boolean;
  /** Returns a report of a run that ended some time ago. */
  reportOf(run: ReportedRun, endedAtMs: number, agoMs: number): NewReport;
}

export class Engine {
  readonly #options: EngineOptions;
  #running: ReadonlyMap<string, Check> = new Map();
  #dependentsOf = countDependents([]);
  #hasCauses: boolean;

  /** Decides about the checks that run here; only these suppress those that depend on them. */
  constructor(running: readonly Check[], options: EngineOptions) {
    this.#options = options;
    this.#hasCauses = options.commonCauses ?? false;
    this.#adopt(running);
  }

  /** Records a run that ended at a time; `agoMs` is how long ago that is, if an agent reported it. */
  record(run: Run, nowMs: number, agoMs = 0): Decided {
    const { check } = run.result;
    const decided = this.#decide(check, nowMs, run);
    const { update, queued, notification, action } = decided;
    const { reporter = null } = this.#options;
    const report = reporter?.isActive === true
      ? { report: reporter.reportOf(reportedRun(run, decided, nowMs), nowMs, agoMs) }
      : {};
    this.#options.repository.keep({ ...update, ...report }, {
      isUrgent: update.change !== null || notification !== null || queued.length > 0 || action !== null,
    });
    return decided;
  }

  get notifies(): boolean {
    return this.#options.sender?.notifies ?? false;
  }

  /** See `ObserveContext`. */
  undelivered(token: string): string | null {
    const found = this.#options.sender?.queued.find(({ notification }) => notification.token === token);
    return found === undefined ? null : found.lastFailure ?? "";
  }

  /** Decides again, without a result, whether a notification or an action is due that was suppressed until now. */
  review(check: Check, nowMs: number): Decided {
    const decided = this.#decide(check, nowMs, null);
    const isDue = decided.notification !== null || decided.action !== null;
    if (isDue) this.#options.repository.keep(decided.update, { isUrgent: true });
    return decided;
  }

  /** Sends what was decided, once it is persisted, or can't be. */
  send({ queued }: Decided): void {
    this.#options.sender?.send(queued);
  }

  /** Reads the silences again: another process may have made one. */
  async refresh(): Promise<void> {
    await this.#options.sender?.refresh();
  }

  /** Returns the suppression of notifications of a check; `null`: none. */
  suppressedBy(check: Check, nowMs: number): Suppression | null {
    return suppressionIn(check, this.#situation(check, nowMs));
  }

  /** Returns the checks that have to run before the suppression of one by its dependencies can be decided. */
  checksToRun(check: Check, nowMs: number): readonly Check[] {
    return checksToRun(check, this.#situation(check, nowMs));
  }

  /** Returns the checks to run at once after a result, since they may have the same cause. */
  othersToRun(before: CheckRecord, { record }: Decided, nowMs: number): readonly string[] {
    const { last } = record;
    if (last === null || this.#newSuspects(before, record).length === 0) return [];
    const options = causesIn(this.#options.repository, this.#running, nowMs);
    if (last.attributes?.suspected.length !== 0) return othersToRun(record.name, options);
    return failingToRun(before.last?.attributes, { knownAtMs: last.startedAtMs + last.durationMs, options });
  }

  /**
   * Returns the attributes by which to read the last results of other members after a run; none if many checks suspect
   * them, since those run anyway.
   */
  attributesToRead(before: CheckRecord, { record }: Decided): readonly string[] {
    const suspects = this.#newSuspects(before, record);
    return isWidespread(suspects, this.#options.repository.attributes) ? [] : suspects;
  }

  /** Returns what a check has begun, or ceased, to suspect by its last run. */
  #newSuspects(before: CheckRecord, { last }: CheckRecord): readonly string[] {
    if (!this.#hasCauses || last?.attributes === undefined) return [];
    const [old, now] = [before.last?.attributes?.suspected ?? [], last.attributes.suspected];
    return (old.length > 0) === (now.length > 0) ? [] : [...old, ...now];
  }

  reload(config: NotifyingConfig): void {
    this.#hasCauses = config.commonCauses;
    this.#adopt(config.running);
    this.#options.sender?.reload(config);
  }

  #adopt(running: readonly Check[]): void {
    this.#running = new Map(running.map((check) => [check.name, check]));
    this.#dependentsOf = countDependents(running);
  }

  #decide(check: Check, nowMs: number, run: Run | null): Decided {
    const { repository, sender } = this.#options;
    const decided = decide(repository.recordOf(check.name, nowMs), check, this.#situation(check, nowMs), run);
    sender?.decided(check, decided.queued);
    return decided;
  }

  #situation(check: Check, nowMs: number): Situation {
    const { repository, sender, newId, hostName } = this.#options;
    if (sender === null) return { ...WITHOUT_CHANNELS, newId, hostName, nowMs };
    const { notifies, silences, nameOf, textMaxOf, sequence } = sender;
    return {
      notifies,
      silences,
      nameOf,
      textMaxOf,
      sequence,
      newId,
      hostName,
      nowMs,
      running: this.#running,
      stateOf: (name): ConditionState => {
        const { condition, isShared = false } = repository.recordOf(name, nowMs);
        // A dependency that others run suppresses by its last result: a newer one may never come.
        return isShared && sender.isAlone ? { ...condition, observedAtMs: nowMs } : condition;
      },
      isOvertaken: sender.isOvertaken(check),
      isLate: check.agent !== undefined && isAfterGap(check, repository.recordOf(check.name, nowMs), nowMs),
      lastNotifiedOf: (channel) => sender.lastNotifiedOf(check.name, channel),
      dependents: this.#dependentsOf(check.name),
    };
  }
}

function reportedRun(
  { result, lateMs = null, isInterrupted = false }: Run,
  { record }: Decided,
  nowMs: number,
) {
  const { check, awaits, durationMs } = result;
  // As the record has it: without numbers that JSON lacks.
  const { condition, output, detail, performanceData, metrics } = record.last ?? result;
  return {
    ...{ check: check.name, condition, metrics, lateMs },
    output: truncateBytes(output, REPORTED_BYTES_MAX.output),
    detail: truncateBytes(detail, REPORTED_BYTES_MAX.detail),
    performanceData: truncateBytes(performanceData, REPORTED_BYTES_MAX.output),
    durationMs: Math.max(0, durationMs),
    nextRunInMs: Math.max(0, (record.nextRunAtMs ?? nowMs) - nowMs),
    overdueInMs: Math.max(0, (record.overdueAtMs ?? nowMs) - nowMs),
    ...awaits !== undefined && { awaits },
    ...isInterrupted && { isInterrupted },
  };
}

/** The situation of a decision that calls no channel. */
export const WITHOUT_CHANNELS = {
  ...NOT_SENT,
  silences: [],
  running: new Map(),
  stateOf: initialState,
  lastNotifiedOf: null,
  acts: false,
} as const satisfies Partial<Situation>;

/** Returns how many checks depend on one, also by way of others. One that has alternatives does not count. */
function countDependents(checks: Iterable<Pick<Check, "name" | "dependsOn">>): (name: string) => number {
  const children = new Map<string, string[]>();
  for (const { name, dependsOn } of checks) {
    for (const parent of dependsOn) {
      if (typeof parent === "string") children.getOrInsertComputed(parent, () => []).push(name);
    }
  }
  const counts = new Map<string, number>();
  return (name) =>
    counts.getOrInsertComputed(name, () => {
      const found = new Set([name]);
      for (const one of found) for (const child of children.get(one) ?? []) found.add(child);
      return found.size - 1;
    });
}
