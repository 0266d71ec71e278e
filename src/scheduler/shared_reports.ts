/**
 * What agents report to members that share a state. An agent may reach any of them: the member stores the batch, and
 * the one that runs the checks of the agent records it. It deletes a batch only after the records that have its results
 * are persisted, and before it records the next one; the last batch stays, so that each member sees that the agent is
 * there. What is received twice is recorded once, by the sequence in the record.
 */
import { agentCheckName } from "../domain/check.ts";
import type { Clock } from "../domain/clock.ts";
import { RECEIVED_READ_MAX, type ReceivedReports, type SharedStore } from "../domain/membership.ts";
import type { ReportBatch, ReportReply } from "../domain/reports.ts";
import { StoreError } from "../domain/store.ts";
import type { Member } from "../members/member.ts";
import type { StateRepository } from "../state/state_repository.ts";
import type { AgentReports, AgentVote } from "./agent_reports.ts";

interface SharedReportsOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly store: Pick<
    SharedStore,
    "keepReceived" | "received" | "deleteReceived" | "locationResults" | "saveLocationResults"
  >;
  readonly repository: Pick<StateRepository, "flush" | "isWritable">;
  readonly member: Pick<Member, "runs" | "receives">;
  readonly reports: Pick<
    AgentReports,
    "isRecording" | "checksOf" | "record" | "voted" | "hasRecorded" | "note" | "hear" | "forget" | "rejected"
  >;
  onBug(error: unknown): void;
}

/** The batches of an agent whose check runs here. */
interface Inbox {
  /** Those that are recorded, and still stored. */
  readonly recorded: Set<number>;
  /** When there was nothing else; monotonic clock. */
  emptyMs: number;
  isNew: boolean;
  reading: Promise<void>;
}

export class SharedReports {
  readonly #options: SharedReportsOptions;
  readonly #inboxes = new Map<string, Inbox>();
  /** By agent, the last batch as of the last heartbeat; `null` before the first one, of which no time is known. */
  #last: ReadonlyMap<string, number> | null = null;

  constructor(options: SharedReportsOptions) {
    this.#options = options;
  }

  /** Stores what an agent reports. Resolves once it is persisted; to `null` if that is not possible now. */
  async receive(agent: string, batch: ReportBatch): Promise<ReportReply | null> {
    const { member, reports, store } = this.#options;
    if (!member.receives || !reports.isRecording) return null;
    const { rejected } = reports.checksOf(agent, batch);
    if (!await store.keepReceived(agent, batch)) return null;
    if (member.runs(agentCheckName(agent))) this.#read(agent);
    return { received: batch.results.at(-1)?.sequence ?? 0, rejected };
  }

  /** As in `AgentReports`: only this member knows of it. */
  rejected(): string {
    return this.#options.reports.rejected();
  }

  /** Follows what was received by all members, with each heartbeat. */
  heard(received: readonly ReceivedReports[]): void {
    const { member, reports } = this.#options;
    const before = this.#last;
    this.#last = new Map(received.map(({ agent, last }) => [agent, last]));
    const isNew = ({ agent, last }: ReceivedReports): boolean =>
      before !== null && before.get(agent) !== last;
    reports.hear(received.filter(isNew).map(({ agent }) => agent));
    for (const { agent, last, count } of received) {
      if (!member.runs(agentCheckName(agent))) {
        this.#inboxes.delete(agent);
        reports.forget(agent);
      } else if (count > 1 || this.#inboxes.get(agent)?.recorded.has(last) !== true) this.#read(agent);
    }
  }

  /** Reads and records what is stored of an agent, one time after another. */
  #read(agent: string): void {
    const inbox = this.#inboxes.get(agent) ??
      { recorded: new Set(), emptyMs: -Infinity, isNew: false, reading: Promise.resolve() };
    this.#inboxes.set(agent, inbox);
    if (inbox.isNew) return;
    inbox.isNew = true;
    inbox.reading = inbox.reading.then(async () => {
      inbox.isNew = false;
      try {
        while (await this.#recordSome(agent, inbox));
      } catch (error) {
        // The next heartbeat leads to another try.
        if (!(error instanceof StoreError)) throw error;
      }
    }).catch(this.#options.onBug);
  }

  /** Records some batches; returns whether there may be more. */
  async #recordSome(agent: string, inbox: Inbox): Promise<boolean> {
    const { clock, store, reports, repository } = this.#options;
    const readMs = clock.monotonicMs();
    const batches = await store.received(agent);
    const isAll = batches.length < RECEIVED_READ_MAX;
    const done: number[] = [];
    for (const [index, { id, batch, ageMs }] of batches.entries()) {
      if (!inbox.recorded.has(id)) {
        // Behind a batch of another stream, it would be recorded again.
        await this.#delete(done.splice(0), inbox);
        if (!this.#isHere(agent, inbox, batch)) return false;
        // No clock of the database decides how old it is.
        const checks = reports.record(agent, batch, Math.min(ageMs, clock.monotonicMs() - inbox.emptyMs));
        await this.#vote(checks.votes);
        await repository.flush();
        // Another process may have written one of the records.
        if (!repository.isWritable || !reports.hasRecorded(agent, batch)) return false;
        if (!this.#isHere(agent, inbox, batch)) return false;
        inbox.recorded.add(id);
        reports.note(agent, batch, { ...checks, isLast: isAll && index === batches.length - 1 });
      }
      done.push(id);
    }
    // The last one stays.
    done.pop();
    await this.#delete(done, inbox);
    if (isAll) inbox.emptyMs = readMs;
    return !isAll;
  }

  /** Whether all of a batch is still to be recorded here. */
  #isHere(agent: string, inbox: Inbox, batch: ReportBatch): boolean {
    const { member, reports } = this.#options;
    if (!reports.isRecording || this.#inboxes.get(agent) !== inbox) return false;
    const names = [agentCheckName(agent), ...reports.checksOf(agent, batch).recorded];
    return names.every((name) => member.runs(name));
  }

  /** Saves the last result of each check that an agent ran as a location, unless it is saved already. */
  async #vote(votes: readonly AgentVote[]): Promise<void> {
    const { store, reports } = this.#options;
    if (votes.length === 0) return;
    const last = new Map(votes.map((vote) => [vote.check, vote]));
    const stored = await store.locationResults([...last.keys()]);
    const fresh = [...last.values()].map((vote) => {
      const { result = null } = stored.find(({ check, location }) =>
        check === vote.check && location === vote.location
      ) ?? {};
      return { vote, before: result };
    }).filter(({ vote: { result: { report } }, before }) =>
      before?.report?.stream !== report?.stream || (before?.report?.sequence ?? 0) < (report?.sequence ?? 0)
    );
    if (fresh.length === 0) return;
    await store.saveLocationResults(fresh.map(({ vote }) => vote));
    for (const { vote, before } of fresh) {
      if (before?.condition !== vote.result.condition) reports.voted(vote);
    }
  }

  async #delete(ids: readonly number[], { recorded }: Inbox): Promise<void> {
    if (ids.length === 0) return;
    await this.#options.store.deleteReceived(ids);
    for (const id of ids) recorded.delete(id);
  }
}
