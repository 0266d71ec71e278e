/** The results that other monitors (agents) report to this service, and whether they report at all. */
import {
  agentCheckName,
  type Check,
  type CheckResult,
  checkResult,
  isAgentCheck,
  isReported,
  unknownResult,
} from "../domain/check.ts";
import type { ReportLog } from "../domain/check_kind.ts";
import type { Clock } from "../domain/clock.ts";
import type { Agent } from "../domain/generated/config.ts";
import type { EarlyLook, LocationResult } from "../domain/membership.ts";
import type { ReportBatch, ReportedResult, ReportReply } from "../domain/reports.ts";
import { isCron } from "../domain/schedule.ts";
import type { Log } from "../domain/system.ts";
import { clockToleranceMs, overdueAtMs, REPORT_MARGIN_MS } from "../engine/check_status.ts";
import { timeText } from "../shared/local_time.ts";
import { counted, firstItems, quote, QUOTED_LENGTH_MAX, truncate } from "../shared/text.ts";
import { DAY_MS, MINUTE_MS, SECOND_MS } from "../shared/time_units.ts";
import type { LocalLocations } from "../state/location_results.ts";
import type { StateRepository } from "../state/state_repository.ts";
import { bareUpdate } from "../state/write_behind.ts";
import type { Scheduler } from "./scheduler.ts";

interface AgentConfig {
  readonly agents: Readonly<Record<string, Agent>>;
  readonly checks: readonly Check[];
  /** The time zone of times in outputs. @default UTC */
  timeZone?(): string;
}

interface AgentReportsOptions {
  readonly clock: Clock;
  readonly repository: Pick<StateRepository, "recordOf" | "keep" | "flush" | "isWritable">;
  readonly log: Pick<Log, "info" | "warning">;
  /** The last results of locations, some of which are agents; `null`: no check has such locations. @default null */
  readonly locations?: Pick<LocalLocations, "save"> | null;
  /** Whether members share what agents report: then only `hear` lets the time go on. @default false */
  readonly isShared?: boolean;
}

interface Contact {
  /** The time that this process was awake until then. */
  readonly awakeMs: number;
  readonly wallMs: number;
  readonly process: string;
  readonly waiting: number;
  readonly dropped: number;
  /** The checks whose last results were ignored. */
  readonly rejected: readonly string[];
  /** Since when it reports without a gap, by the time that this process was awake, and nothing is waiting. */
  readonly liveSinceMs: number;
}

/** A stopped or suspended process hears nothing: that is no silence of the agents. */
const TICK_MS = 5 * SECOND_MS;
/** Without a tick or, with a shared state, a heartbeat for so long, this process heard nothing. */
const DEAF_MS = 2 * TICK_MS;
/** An agent reports at least every 30 s. */
const GAP_MS = 90 * SECOND_MS;
/** After that, the check about it shows that it is quiet. */
const QUIET_MS = MINUTE_MS;
const NAMES_SHOWN = 5;
/** So many rejected checks of an agent are remembered. */
const REJECTED_MAX = 100;
/** A clock of an agent that was wrong may have made a result seem older. */
const AGE_MS_MAX = 7 * DAY_MS;

interface RecordedChecks {
  readonly accepted: ReadonlySet<string>;
  /** Those that the agent must not report, or that do not run. */
  readonly rejected: readonly string[];
  /** The results of the agent as a location, by sequence. */
  readonly votes: readonly AgentVote[];
}

export type AgentVote = LocationResult & { readonly ageMs: number };

type ReportScheduler = Pick<Scheduler, "report" | "request" | "runs" | "isStopping">;

export class AgentReports implements ReportLog {
  readonly #options: AgentReportsOptions;
  /** When something came from each agent last; `wallMs` is `null`: nothing since this process knows it. */
  readonly #heard = new Map<string, Pick<Contact, "awakeMs"> & { readonly wallMs: number | null }>();
  readonly #contacts = new Map<string, Contact>();
  #config: AgentConfig;
  #checks: ReadonlyMap<string, Check>;
  #scheduler: ReportScheduler | null = null;
  #onVote = (_check: string, _why: EarlyLook["why"]): void => {};
  #awakeMs = 0;
  /** When the last report with a wrong key came, by the time that this process was awake. */
  #rejectedMs = -Infinity;
  #readMs: number;
  #offsetMs: number;
  /** When the time went on after this process could hear nothing; by the time that it was awake. */
  #resumedMs = -Infinity;
  #cancel = (): void => {};

  constructor(config: AgentConfig, options: AgentReportsOptions) {
    const { clock } = options;
    this.#options = options;
    this.#config = config;
    this.#checks = byName(config);
    this.#readMs = clock.monotonicMs();
    this.#offsetMs = clock.wallMs() - this.#readMs;
    this.#begin();
  }

  /** Records what is received with this scheduler. Calls back when the result of an agent as a location changed. */
  attach(
    scheduler: ReportScheduler,
    onVote: (check: string, why: EarlyLook["why"]) => void = () => {},
  ): void {
    this.#scheduler = scheduler;
    this.#onVote = onVote;
  }

  isAgent(location: string): boolean {
    return Object.hasOwn(this.#config.agents, location);
  }

  isLive(agent: string): boolean {
    this.#measureHere();
    return !this.#isSilent(agent);
  }

  adopt(config: AgentConfig): void {
    this.#config = config;
    this.#checks = byName(config);
    for (const known of [this.#contacts, this.#heard]) {
      for (const name of known.keys()) if (!this.isAgent(name)) known.delete(name);
    }
    this.#begin();
  }

  end(): void {
    this.#cancel();
  }

  /**
   * Records what an agent reports; what is repeated is recorded once. Resolves when all of it is persisted; to `null` if
   * that is not possible now.
   */
  async receive(agent: string, batch: ReportBatch): Promise<ReportReply | null> {
    const { repository, locations = null } = this.#options;
    if (!this.isRecording) return null;
    const { results } = batch;
    const checks = this.record(agent, batch);
    for (const vote of checks.votes) if (locations?.save(vote, vote.ageMs) === true) this.voted(vote);
    this.#measure();
    this.#hear(agent);
    this.note(agent, batch, checks);
    await repository.flush();
    if (!repository.isWritable) return null;
    return { received: results.at(-1)?.sequence ?? 0, rejected: checks.rejected };
  }

  /** Notes a report with the key of no agent. Returns the agents that do not report, as text; may be empty. */
  rejected(): string {
    this.#measureHere();
    this.#rejectedMs = this.#awakeMs;
    return listed([...this.#heard.keys()].filter((agent) => this.#silentAtMs(agent) !== null));
  }

  get isRecording(): boolean {
    return this.#scheduler?.isStopping === false;
  }

  /** Returns the checks of a batch whose results are recorded, here or elsewhere, and those that are rejected. */
  checksOf(
    agent: string,
    { results }: ReportBatch,
  ): Readonly<Record<"recorded" | "rejected", readonly string[]>> {
    const names = [...new Set(results.map(({ check }) => check))].filter((name) =>
      !this.#isLocated(agent, name)
    );
    const isRecorded = (name: string): boolean =>
      this.#isReported(agent, name) && this.#scheduler?.runs(name) === true;
    return { recorded: names.filter(isRecorded), rejected: names.filter((name) => !isRecorded(name)) };
  }

  /** Records the results of a batch that was received some time ago; `flush` of the repository persists them. */
  record(agent: string, { stream, results }: ReportBatch, agoMs = 0): RecordedChecks {
    const rejected = new Set<string>();
    const accepted = new Set<string>();
    const votes: AgentVote[] = [];
    for (const reported of results) {
      const { check, sequence, ageMs, awaits, isInterrupted = false, ...result } = reported;
      if (this.#isLocated(agent, check)) {
        const vote = this.#voteOf(agent, { ...reported, ageMs: ageMs + agoMs }, stream);
        if (vote !== null) votes.push(vote);
        accepted.add(check);
        continue;
      }
      const isRecorded = this.#isReported(agent, check) && this.#scheduler?.report(check, {
        ...result,
        ...awaits !== undefined && { awaits },
        report: { stream, sequence },
        agoMs: Math.min(ageMs + agoMs, AGE_MS_MAX),
        isInterrupted,
      });
      (isRecorded === true ? accepted : rejected).add(check);
    }
    return { accepted, rejected: [...rejected], votes };
  }

  /** Returns whether each result of a batch that is to be recorded is in the record of its check. */
  hasRecorded(agent: string, batch: ReportBatch): boolean {
    const recorded = new Set(this.checksOf(agent, batch).recorded);
    const { stream, results } = batch;
    return results.every(({ check, sequence }) => {
      if (!recorded.has(check)) return true;
      const { last } = this.#recordOf(check);
      return last?.report?.stream === stream && last.report.sequence >= sequence;
    });
  }

  /** The time goes on, and something came from these agents, here or at another member. */
  hear(agents: Iterable<string>): void {
    this.#measure();
    for (const agent of agents) this.#hear(agent);
  }

  /** Forgets the last report of an agent whose check runs elsewhere. */
  forget(agent: string): void {
    this.#contacts.delete(agent);
  }

  /** Called once a result of an agent as a location is saved, and another one than the last. */
  voted({ check, result: { condition } }: Pick<AgentVote, "check" | "result">): void {
    this.#onVote(check, condition === "ok" ? "changed" : "failing");
  }

  #isLocated(agent: string, name: string): boolean {
    return this.isAgent(agent) && this.#checks.get(name)?.locations?.from.includes(agent) === true;
  }

  #isReported(agent: string, name: string): boolean {
    const check = this.#checks.get(name);
    return this.isAgent(agent) && check?.agent === agent && isReported(check);
  }

  /** Returns the result of an agent as a location; `null`: the next one is overdue. */
  #voteOf(
    location: string,
    { check, sequence, ageMs, overdueInMs, awaits, ...reported }: ReportedResult,
    stream: string,
  ): AgentVote | null {
    if (ageMs > overdueInMs + REPORT_MARGIN_MS) return null;
    const { condition, output, detail, performanceData, metrics, durationMs, lateMs } = reported;
    const result = { condition, output, detail, performanceData, metrics, durationMs, lateMs };
    const vote = { location, condition: awaits === undefined ? condition : null, output, durationMs };
    const startedAtMs = this.#options.clock.wallMs() - ageMs - durationMs;
    const kept = { ...result, startedAtMs, locations: [vote], report: { stream, sequence } };
    return { check, location, result: kept, trace: "", ageMs };
  }

  look(check: Check): CheckResult {
    this.#measureHere();
    const { agent = "" } = check;
    const contact = this.#contacts.get(agent) ?? null;
    if (!this.isAgent(agent)) return awaiting(`${quote(agent)} is no agent of the config`);
    const isSilent = this.#isSilent(agent);
    const { timeZone } = this.#shown(agent);
    if (isAgentCheck(check)) {
      if (contact !== null && !isSilent) {
        return this.#isHeard(contact)
          ? describeContact(contact, this.#shown(agent))
          : describeUnheard(contact, this.#shown(agent));
      }
      const lastMs = this.#heard.get(agent)?.wallMs ?? Number(this.#recordOf(check.name).last?.memory ?? NaN);
      const result = unknownResult(
        (Number.isNaN(lastMs) ? "no report yet" : `no report since ${timeText(lastMs, timeZone)}`) +
          (this.#rejectedMs > (this.#heard.get(agent)?.awakeMs ?? 0)
            ? "; wrong key? reports with the key of no agent were rejected since"
            : ""),
      );
      if (!isSilent) return awaiting(result.output);
      return { ...result, condition: "critical", ...!Number.isNaN(lastMs) && { beganAtMs: lastMs } };
    }
    const isMissing = contact !== null && !isSilent && this.#isMissing(check, contact);
    if (!isMissing) return awaiting(`agent ${quote(agent)} has not reported it yet`);
    const { last } = this.#recordOf(check.name);
    const missing = last?.report === undefined
      ? `agent ${quote(agent)} never reported it`
      : `no result from agent ${quote(agent)} since ${
        timeText(Number(last.memory ?? last.startedAtMs), timeZone)
      }`;
    return unknownResult(`${missing}, although it reports others`);
  }

  /** Whether the agent has sent all that it has, and the result of a check that was due is not among it. */
  #isMissing(check: Check, { waiting, awakeMs, wallMs, liveSinceMs }: Contact): boolean {
    const { schedule, timeoutMs } = check;
    const graceMs = isCron(schedule) ? 5 * MINUTE_MS : 2 * schedule.regularIntervalMs + timeoutMs;
    if (waiting > 0 || awakeMs - liveSinceMs <= graceMs) return false;
    const record = this.#recordOf(check.name);
    return record.last === null || wallMs > overdueAtMs(check, record) + clockToleranceMs(record);
  }

  /** Notes the last batch that was recorded of an agent, unless nothing was heard of it while this process ran. */
  note(
    agent: string,
    { process, waiting, dropped }: ReportBatch,
    { accepted, rejected: names, isLast = true }: RecordedChecks & {
      /** Whether none behind it is stored. */
      readonly isLast?: boolean;
    },
  ): void {
    const { log } = this.#options;
    const rejected = names.map((name) => truncate(name, QUOTED_LENGTH_MAX));
    const { awakeMs, wallMs } = this.#heard.get(agent) ?? { awakeMs: 0, wallMs: null };
    if (wallMs === null) return;
    const before = this.#contacts.get(agent) ?? null;
    const isContinued = before !== null && before.process === process && waiting === 0 && isLast &&
      awakeMs - before.awakeMs <= GAP_MS;
    const refused = (before?.rejected ?? []).filter((name) => !accepted.has(name));
    const added = refused.length >= REJECTED_MAX ? [] : rejected.filter((name) => !refused.includes(name));
    this.#contacts.set(agent, {
      ...{ awakeMs, wallMs, process, waiting, dropped },
      rejected: [...refused, ...added].slice(0, REJECTED_MAX),
      liveSinceMs: isContinued ? before.liveSinceMs : awakeMs,
    });
    if (before === null) log.info(`agent ${quote(agent)} reports`);
    if (added.length > 0) {
      log.warning(`agent ${quote(agent)}: results of ${listed(added)} ignored, not checks that it reports`);
    }
    const isNews = before === null || before.dropped !== dropped || added.length > 0 ||
      awakeMs - before.awakeMs > GAP_MS || !this.#isHeard(before);
    if (isNews) this.#scheduler?.request(agentCheckName(agent));
    this.#show(agent);
  }

  /** Shows the last report in the result of the check about the agent, whose next run may be later. */
  #show(agent: string): void {
    const record = this.#recordOf(agentCheckName(agent));
    const { last } = record;
    const contact = this.#contacts.get(agent);
    if (contact === undefined || last?.condition !== "ok") return;
    const { output, metrics, memory } = describeContact(contact, this.#shown(agent));
    this.#options.repository.keep(bareUpdate({ ...record, last: { ...last, output, metrics, memory } }));
  }

  #hear(agent: string): void {
    if (!this.#heard.has(agent)) return;
    this.#heard.set(agent, { awakeMs: this.#awakeMs, wallMs: this.#options.clock.wallMs() });
  }

  /** Whether the last report came since this process can hear; else nothing is known until the next one. */
  #isHeard({ awakeMs }: Pick<Contact, "awakeMs">): boolean {
    return awakeMs >= this.#resumedMs && this.#options.clock.monotonicMs() - this.#readMs <= DEAF_MS;
  }

  /** Until the next report of each agent, it may be dead since the last one. */
  #resume(): void {
    this.#resumedMs = this.#awakeMs;
    for (const agent of this.#contacts.keys()) this.#scheduler?.request(agentCheckName(agent));
  }

  /** Whether nothing came from an agent for too long since it is known; another location is this process. */
  #isSilent(agent: string): boolean {
    const settings = this.#config.agents[agent];
    const { awakeMs = 0 } = this.#heard.get(agent) ?? {};
    return settings !== undefined && this.#awakeMs - awakeMs > settings.silentAfterMs;
  }

  /** Returns when a quiet agent counts as silent; `null`: it reports. */
  #silentAtMs(agent: string): number | null {
    const quietMs = this.#awakeMs - (this.#heard.get(agent)?.awakeMs ?? 0);
    const { silentAfterMs = 0 } = this.#config.agents[agent] ?? {};
    return quietMs > QUIET_MS ? this.#options.clock.wallMs() + silentAfterMs - quietMs : null;
  }

  #shown(agent: string): ShownTimes {
    return { silentAtMs: this.#silentAtMs(agent), timeZone: this.#config.timeZone?.() };
  }

  #recordOf(name: string): ReturnType<StateRepository["recordOf"]> {
    return this.#options.repository.recordOf(name, this.#options.clock.wallMs());
  }

  #begin(): void {
    for (const name of Object.keys(this.#config.agents)) {
      if (!this.#heard.has(name)) this.#heard.set(name, { awakeMs: this.#awakeMs, wallMs: null });
    }
    if (this.#options.isShared !== true) this.#tick();
  }

  #tick(): void {
    this.#cancel();
    this.#measure();
    if (Object.keys(this.#config.agents).length === 0) return;
    this.#cancel = this.#options.clock.after(TICK_MS, () => this.#tick());
  }

  #measureHere(): void {
    if (this.#options.isShared !== true) this.#measure();
  }

  /** Adds the time since the last tick. If the clock was set, records seem overdue: agents get time to report again. */
  #measure(): void {
    const { clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const beforeMs = this.#awakeMs;
    this.#awakeMs += Math.min(nowMs - this.#readMs, DEAF_MS);
    for (const [agent, { awakeMs }] of this.#heard) {
      const isQuiet = beforeMs - awakeMs <= QUIET_MS && this.#awakeMs - awakeMs > QUIET_MS;
      if (isQuiet) this.#scheduler?.request(agentCheckName(agent));
    }
    const hasStopped = nowMs - this.#readMs > DEAF_MS;
    if (hasStopped) this.#resume();
    this.#readMs = nowMs;
    const offsetMs = clock.wallMs() - nowMs;
    const isSet = Math.abs(offsetMs - this.#offsetMs) > SECOND_MS;
    this.#offsetMs = offsetMs;
    if (!isSet && !hasStopped) return;
    for (const [name, contact] of this.#contacts) {
      this.#contacts.set(name, { ...contact, liveSinceMs: this.#awakeMs });
    }
  }
}

function byName({ checks }: AgentConfig): ReadonlyMap<string, Check> {
  return new Map(checks.map((check) => [check.name, check]));
}

function awaiting(output: string): CheckResult {
  return { ...unknownResult(output), awaits: "report" };
}

interface ShownTimes {
  /** When the quiet agent counts as silent; `null`: it reports. */
  readonly silentAtMs: number | null;
  readonly timeZone: string | undefined;
}

function describeContact(
  { wallMs, waiting, dropped, rejected }: Contact,
  { silentAtMs, timeZone }: ShownTimes,
): CheckResult & { readonly memory: string } {
  const last = timeText(wallMs, timeZone);
  const facts = [
    silentAtMs === null
      ? `last report at ${last}`
      : `no report since ${last}, counts as silent at ${timeText(silentAtMs, timeZone)}`,
    ...waiting === 0 ? [] : [`${counted(waiting, "result")} waiting there`],
    ...dropped === 0 ? [] : [`${counted(dropped, "result")} dropped there`],
    ...rejected.length === 0 ? [] : [`ignored: ${listed(rejected)}`],
  ];
  const metrics = { waiting_results: waiting, dropped_results: dropped, rejected_checks: rejected.length };
  return { ...checkResult("ok", facts.join("; "), metrics), memory: String(wallMs) };
}

/** A report that awaits others is stored, so that all members know that its agent may be dead. */
function describeUnheard({ wallMs }: Contact, { timeZone }: ShownTimes): CheckResult {
  const last = `last report at ${timeText(wallMs, timeZone)}`;
  return { ...unknownResult(`${last}; since then, none could be received for a time`), awaits: "checks" };
}

function listed(names: readonly string[]): string {
  return firstItems(names.map((name) => quote(name)), NAMES_SHOWN).join(", ");
}
