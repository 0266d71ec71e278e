/** Reports the results of this monitor to another one (`report_to`), from the state, until it has received them. */
import type { ReportTo } from "../domain/generated/config.ts";
import type { NewReport, ReportedRun, Reporting, ReportReply, StoredReport } from "../domain/reports.ts";
import type { IncomingResponse } from "../domain/connections.ts";
import { StoreError } from "../domain/store.ts";
import type { Log, System } from "../domain/system.ts";
import { afterColon } from "../channels/clean_text.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { Reporter } from "../engine/engine.ts";
import { backoffMs } from "../engine/queue_state.ts";
import type { SchedulerEvent } from "../scheduler/scheduler.ts";
import { startDeadline } from "../shared/deadline.ts";
import { describeRequestFailure } from "../shared/failure_words.ts";
import { hash32 } from "../shared/hash.ts";
import { readStart } from "../shared/read_response.ts";
import { counted, firstItems, oneLine, quote } from "../shared/text.ts";
import { MINUTE_MS, SECOND_MS } from "../shared/time_units.ts";
import { createTrouble } from "../shared/describe_error.ts";
import type { StateRepository } from "../state/state_repository.ts";
import { readReply, writeBatch, writeResult } from "./report_format.ts";

type Configured = Pick<LoadedConfig, "reportTo" | "redact">;

interface ReportSenderOptions {
  readonly system: Pick<System, "clock" | "requests" | "randomId">;
  readonly log: Pick<Log, "info" | "warning" | "error">;
  readonly repository: Pick<StateRepository, "flush" | "store">;
  readonly config: Configured;
  onBug(error: unknown): void;
}

/** So many results wait for the other monitor at most; further ones replace the oldest. */
export const WAITING_MAX = 100_000;
const BATCH_COUNT_MAX = 500;
const BATCH_BYTES_MAX = 512 * 1024;
const TIMEOUT_MS = 10 * SECOND_MS;
const RETRY_MS_MAX = MINUTE_MS;
/** Results of a second are sent together. */
const SOON_MS = SECOND_MS;
/** Without results, it shows so often that it is there. */
const IDLE_MS = 30 * SECOND_MS;
const REPLY_BYTES_MAX = 1_048_576;
const NAMES_SHOWN = 5;
/** Malformed or too large: the same again would be, too. */
const REJECTING_STATUSES: readonly number[] = [400, 413];

type Outcome = { readonly kind: "done" | "more" } | { readonly kind: "failed"; readonly reason: string };

type Exchanged =
  | { readonly status: number; readonly text: string; readonly reply: ReportReply | null }
  | { readonly status: null; readonly reason: string; readonly isTimeUp: boolean };

export class ReportSender implements Reporter {
  readonly #options: ReportSenderOptions;
  readonly #process: string;
  readonly #startedMs: number;
  readonly #trouble = createTrouble<string>((failure) => {
    const { log } = this.#options;
    if (failure === null) log.info("results are reported again");
    else log.warning(this.#config.redact(`${failure}; results are stored until they are reported`));
  });
  readonly #ended = new AbortController();
  #config: Configured;
  #countMax = BATCH_COUNT_MAX;
  /** More was rejected; grows again with each report. */
  #countLimit = BATCH_COUNT_MAX;
  /** The checks of which a result was dropped, and none received since. */
  readonly #dropped = new Set<string>();
  #failures = 0;
  /** Monotonic; when the last exchange succeeded. */
  #sentMs = -Infinity;
  #plan: { readonly atMs: number; cancel(): void } | null = null;
  #sending: Promise<void> | null = null;

  constructor(options: ReportSenderOptions) {
    const { system, config } = options;
    this.#options = options;
    this.#config = config;
    this.#process = system.randomId();
    this.#startedMs = system.clock.monotonicMs();
  }

  get isActive(): boolean {
    return this.#config.reportTo !== null;
  }

  reportOf(run: ReportedRun, endedAtMs: number, agoMs: number): NewReport {
    const monotonicMs = this.#options.system.clock.monotonicMs() - agoMs;
    return { run, endedAtMs, process: this.#process, monotonicMs };
  }

  start(): void {
    this.#sendAfter(0);
  }

  adopt(config: Configured): void {
    this.#config = config;
    this.#failures = 0;
    this.#sendAfter(0);
  }

  /** Sends what is no routine soon. */
  happened(event: SchedulerEvent): void {
    if (event.event !== "result") return;
    const { result: { condition }, entry: { occurrences } } = event;
    if (condition !== "ok" || occurrences === 1) this.#sendAfter(this.#failures === 0 ? SOON_MS : Infinity);
  }

  async end(): Promise<void> {
    this.#ended.abort(new Error("Stopped"));
    this.#plan?.cancel();
    await this.#sending;
  }

  /** Sends everything once. Returns a description of the failure; `null`: it succeeded. */
  async sendAll(): Promise<string | null> {
    if (!this.isActive) return null;
    for (;;) {
      const outcome = await this.#exchange();
      if (outcome.kind === "done") return null;
      if (outcome.kind === "failed") return outcome.reason;
    }
  }

  /** Sends after a delay, unless it does so earlier anyway. */
  #sendAfter(delayMs: number): void {
    const { system: { clock }, onBug } = this.#options;
    const atMs = clock.monotonicMs() + delayMs;
    if (!this.isActive || this.#ended.signal.aborted || this.#sending !== null) return;
    if (atMs === Infinity || (this.#plan?.atMs ?? Infinity) <= atMs) return;
    this.#plan?.cancel();
    const cancel = clock.after(delayMs, () => {
      this.#plan = null;
      const beganMs = clock.monotonicMs();
      this.#sending = this.#send().catch(onBug).finally(() => {
        this.#sending = null;
        const { reportTo } = this.#config;
        // From its begin: otherwise agents that wait for one hub at a time would all send at the same time ever after.
        const regularMs = beganMs + Math.min(reportTo?.intervalMs ?? IDLE_MS, IDLE_MS) - clock.monotonicMs();
        this.#sendAfter(this.#failures === 0 ? Math.max(0, regularMs) : this.#retryMs());
      });
    });
    this.#plan = { atMs, cancel };
  }

  #retryMs(): number {
    const jitter = hash32(this.#options.system.randomId()) / 2 ** 32;
    return Math.min(backoffMs(this.#failures, jitter), RETRY_MS_MAX);
  }

  async #send(): Promise<void> {
    const failure = await this.sendAll();
    if (this.#ended.signal.aborted) return;
    this.#failures = failure === null ? 0 : this.#failures + 1;
    this.#trouble.set(failure);
  }

  async #exchange(): Promise<Outcome> {
    const { repository, log } = this.#options;
    const { reportTo } = this.#config;
    if (reportTo === null || this.#ended.signal.aborted) return { kind: "done" };
    try {
      await repository.flush();
      const { store } = repository;
      let reporting = await this.#reporting();
      const surplus = await store.dropReports(WAITING_MAX);
      if (surplus > 0) {
        reporting = { ...reporting, dropped: reporting.dropped + surplus };
        await store.keepReporting(reporting);
        log.error(`${surplus} results dropped: more than ${WAITING_MAX} were waiting to be reported`);
      }
      const { reports, waiting } = await store.reports(this.#countMax);
      const isIdle = this.#options.system.clock.monotonicMs() - this.#sentMs < IDLE_MS - SECOND_MS;
      if (reports.length === 0 && isIdle) return { kind: "done" };
      return await this.#post(reportTo, { reporting, reports, waiting });
    } catch (error) {
      // The failure of the state is logged where it is written.
      if (!(error instanceof StoreError)) throw error;
      return { kind: "failed", reason: `cannot report: ${error.message}` };
    }
  }

  async #reporting(): Promise<Reporting> {
    const { repository: { store }, system } = this.#options;
    const known = await store.reporting();
    if (known !== null) return known;
    const reporting: Reporting = {
      stream: system.randomId(),
      received: 0,
      dropped: 0,
      rejected: [],
      sentAtMs: null,
      failure: null,
    };
    await store.keepReporting(reporting);
    return reporting;
  }

  async #post(
    reportTo: ReportTo,
    { reporting, reports, waiting }: {
      readonly reporting: Reporting;
      readonly reports: readonly StoredReport[];
      readonly waiting: number;
    },
  ): Promise<Outcome> {
    const { system: { clock }, repository: { store } } = this.#options;
    const results: string[] = [];
    let bytes = 0;
    for (const report of reports) {
      const text = writeResult({ ...report.run, sequence: report.sequence, ageMs: this.#ageOf(report) });
      bytes += encoder.encode(text).length;
      if (results.length > 0 && bytes > BATCH_BYTES_MAX) break;
      results.push(text);
    }
    const sent = reports.slice(0, results.length);
    const { stream, dropped } = reporting;
    const facts = {
      version: 1,
      stream,
      process: this.#process,
      waiting: waiting - sent.length,
      dropped,
    } as const;
    const startedMs = clock.monotonicMs();
    const exchanged = await this.#request(reportTo, writeBatch(facts, results));
    const { status } = exchanged;
    const isUseless = status !== null && sent.length > 0 &&
      (exchanged.reply?.received ?? 0) <= reporting.received;
    if (status !== null && exchanged.reply !== null && !isUseless) {
      // Twice as many take twice as long at most.
      if (clock.monotonicMs() - startedMs < TIMEOUT_MS / 2) {
        this.#countLimit = Math.min(this.#countLimit + 1, BATCH_COUNT_MAX);
        this.#countMax = Math.min(2 * this.#countMax, this.#countLimit);
      }
      await this.#received(reporting, { sent, reply: exchanged.reply });
      return { kind: sent.length < waiting ? "more" : "done" };
    }
    if (this.#ended.signal.aborted) return { kind: "done" };
    const { host } = new URL(reportTo.target);
    const reason = status === null
      ? exchanged.reason
      : exchanged.reply !== null
      ? `${host} received none of ${counted(sent.length, "result")}`
      : `${host} returned status ${status}${afterColon(oneLine(exchanged.text))}`;
    const isRejected = status !== null && REJECTING_STATUSES.includes(status);
    const isTooSlow = status === null && exchanged.isTimeUp;
    const [first] = sent;
    // The next one is smaller, or none would ever arrive.
    if ((isRejected || isTooSlow) && sent.length > 1) this.#countMax = Math.floor(sent.length / 2);
    if (isRejected && first !== undefined) {
      if (sent.length > 1) {
        this.#countLimit = this.#countMax;
        return { kind: "more" };
      }
      // Otherwise it is not about this result, and would be the same for each one.
      const without = await this.#request(reportTo, writeBatch({ ...facts, waiting }, []));
      if (without.status !== null && without.reply !== null) {
        return await this.#drop(first, reporting, reason);
      }
      if (this.#ended.signal.aborted) return { kind: "done" };
    }
    const failure = this.#config.redact(`report failed: ${reason}`);
    if (reporting.failure !== failure) await store.keepReporting({ ...reporting, failure });
    return { kind: "failed", reason: `report failed: ${reason}` };
  }

  async #request({ target, key }: ReportTo, body: string): Promise<Exchanged> {
    const { system: { clock, requests } } = this.#options;
    const url = reportUrl(target);
    using deadline = startDeadline(clock, TIMEOUT_MS, this.#ended.signal);
    let response: IncomingResponse | null = null;
    try {
      response = await requests.send({
        target: url.href,
        method: "POST",
        headers: {
          "authorization": `Bearer ${key}`,
          "content-type": "application/json",
          "user-agent": "monitor",
        },
        body,
      }, deadline.signal);
      const { status } = response;
      const { text, failure } = await readStart(response, REPLY_BYTES_MAX);
      if (failure !== null) throw failure;
      return { status, text, reply: status === 200 ? readReply(text) : null };
    } catch (error) {
      const { isTimeUp } = deadline;
      const reason = isTimeUp
        ? `no response from ${url.host} within ${TIMEOUT_MS / 1000} s`
        : describeRequestFailure(requests.explain(error, url.href), url.href);
      return { status: null, reason, isTimeUp };
    } finally {
      await response?.close();
    }
  }

  /** Drops the oldest result, which is always rejected. */
  async #drop(
    { run: { check }, sequence }: StoredReport,
    reporting: Reporting,
    reason: string,
  ): Promise<Outcome> {
    const { repository: { store }, log } = this.#options;
    if (!this.#dropped.has(check)) {
      log.error(this.#config.redact(`result of ${quote(check)} dropped: ${reason}`));
    }
    this.#dropped.add(check);
    // The next ones may be of the same kind.
    [this.#countMax, this.#countLimit] = [1, BATCH_COUNT_MAX];
    await store.keepReporting({
      ...reporting,
      received: sequence,
      dropped: reporting.dropped + 1,
      failure: null,
    });
    return { kind: "more" };
  }

  async #received(
    before: Reporting,
    { sent, reply }: { readonly sent: readonly StoredReport[]; readonly reply: ReportReply },
  ): Promise<void> {
    const { system: { clock }, repository: { store }, log } = this.#options;
    this.#sentMs = clock.monotonicMs();
    const names = new Set(sent.map(({ run }) => run.check));
    for (const name of names) this.#dropped.delete(name);
    const rejected = new Set([
      ...before.rejected.filter((name) => !names.has(name)),
      ...reply.rejected.filter((name) => names.has(name)),
    ]);
    const added = [...rejected].filter((name) => !before.rejected.includes(name));
    if (added.length > 0) {
      const listed = firstItems(added.map((name) => quote(name)), NAMES_SHOWN).join(", ");
      log.warning(
        `results of ${listed} are ignored where they are reported: no such check of this agent there`,
      );
    }
    const last = sent.at(-1)?.sequence ?? 0;
    await store.keepReporting({
      ...before,
      received: Math.max(before.received, Math.min(reply.received, last)),
      rejected: [...rejected],
      sentAtMs: clock.wallMs(),
      failure: null,
    });
  }

  /** Of another process, the clock may have been set since; it ended before this one started. */
  #ageOf({ process, monotonicMs, endedAtMs }: StoredReport): number {
    const { system: { clock } } = this.#options;
    const nowMs = clock.monotonicMs();
    if (process === this.#process) return Math.max(0, nowMs - monotonicMs);
    return Math.max(clock.wallMs() - endedAtMs, nowMs - this.#startedMs);
  }
}

const encoder = new TextEncoder();

function reportUrl(target: string): URL {
  const url = new URL(target);
  if (url.pathname === "/") url.pathname = "/report";
  return url;
}
