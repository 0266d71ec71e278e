/** The process that runs the checks, by the state and its lock. */
import { MINUTE_MS } from "../shared/time_units.ts";
import { hashHex } from "../shared/hash.ts";
import { describeDuration } from "../domain/duration.ts";
import { ControlSocketError } from "../domain/http_servers.ts";
import { describeNotRunning, type MonitorRun } from "../domain/monitor_run.ts";
import { type CheckRecord, type Store, StoreError } from "../domain/store.ts";
import { DEAD_AFTER_MS, isLiveMember } from "../domain/membership.ts";
import type { Clock } from "../domain/clock.ts";
import type { System } from "../domain/system.ts";
import { describeMember, locationStatuses, type MonitorStatus } from "../outputs/json/monitor_fields.ts";
import { readServices } from "../state/read_store.ts";
import { pause } from "../shared/deadline.ts";
import { timeText } from "../shared/local_time.ts";
import { jsonText } from "../shared/text.ts";
import type { ControlRequest, ControlResponse } from "./check/control.ts";
import type { OpenConfig } from "./open_config.ts";
import type { StateLocation } from "./open_state.ts";

export function configHash({ sources }: Pick<OpenConfig, "sources">): string {
  return hashHex(JSON.stringify(sources.map(({ text }) => text)), 32);
}

interface MonitorStatusOptions {
  readonly place: StateLocation;
  /** The config as it is now; `null` while it has errors. */
  readonly config: OpenConfig | null;
  readonly records: readonly CheckRecord[];
  readonly system: Pick<System, "clock" | "controlSockets" | "files" | "state">;
}

/** Reads which process runs the checks; `null` if none is recorded. */
export async function readMonitorStatus(
  store: Store | null,
  { place, config, records, system }: MonitorStatusOptions,
): Promise<MonitorStatus | null> {
  const run = await store?.monitorRun() ?? null;
  if (store === null || run === null) return null;
  const members = await readMembers(store, run, system);
  const state = members?.some(isLiveMember) === true
    ? "running"
    : await stateOf(run, { place, members, records, system });
  const locations = members === null ? [] : locationStatuses(config?.checks ?? [], members);
  const sinceMs = endOf(run, { records, members, nowMs: system.clock.wallMs() });
  const notRunning = state === "running" || state === "cron" ? null : { state, sinceMs };
  return { state, notRunning, run, config: await compareConfig(run, config, system), members, locations };
}

/**
 * Reads the members that run checks, or died. While none seems to be live, it waits for a heartbeat as long as a live one
 * needs at most: they send none while the database is away, and it may have returned just now.
 */
async function readMembers(store: Store, { ended }: MonitorRun, { clock }: Pick<System, "clock">) {
  for (let leftMs = DEAD_AFTER_MS;; leftMs -= AGAIN_MS) {
    const members = await readServices(store);
    const isSettled = ended !== null || members === null || members.length === 0;
    if (isSettled || leftMs <= 0 || members.some(isLiveMember)) return members;
    await pause(clock, AGAIN_MS);
  }
}

const AGAIN_MS = 500;

type StateOptions = Omit<MonitorStatusOptions, "config"> & Pick<MonitorStatus, "members">;

async function stateOf(run: MonitorRun, { place, members, records, system }: StateOptions) {
  const { mode, processId, ended, controlPath } = run;
  if (mode === "cron") return "cron";
  if (ended !== null) return ended.state;
  // No lock shows whether the process of another machine runs.
  if (members !== null) return "died";
  const lockPath = `${place.path}.lock`;
  // A call of check --once by hand has the lock, too.
  const isIts = processId === null || system.state.holder(lockPath) === processId;
  if (!isIts || !system.state.isLocked(lockPath)) return "died";
  const nowMs = system.clock.wallMs();
  const isAlive = nowMs - (run.aliveAtMs ?? nowMs) < ALIVE_MS_MAX && !isFrozen(run, records, nowMs);
  return await stateAt(controlPath, system) ?? (isAlive ? "running" : "hangs");
}

/** A service without a control socket is seen alive each minute. */
const ALIVE_MS_MAX = 3 * MINUTE_MS;
/** Less than the 10 seconds after which NRPE ends a plugin. */
const RESPONSE_MS_MAX = 3_000;

/** Requests the state of a service; `null`: it has no socket that this user can reach. */
async function stateAt(
  path: string | null,
  { controlSockets }: Pick<System, "controlSockets">,
): Promise<"running" | "hangs" | "unwritable" | null> {
  if (path === null) return null;
  const request: ControlRequest = { command: "state" };
  const unwritable = jsonText({ isWritable: false } satisfies ControlResponse);
  return await controlSockets.send(path, JSON.stringify(request), { timeoutMs: RESPONSE_MS_MAX })
    .then((response) => response === null ? null : response === unwritable ? "unwritable" : "running")
    .catch((error) => error instanceof ControlSocketError ? "hangs" : null);
}

/** Returns whether one of its checks is overdue, and none has run since the run that it missed. */
function isFrozen(run: MonitorRun, records: readonly CheckRecord[], nowMs: number): boolean {
  const served = new Set(run.checks.map(({ name }) => name));
  const seenMs = lastSeenMs(run, records);
  return records.some(({ name, nextRunAtMs, overdueAtMs }) =>
    served.has(name) && nowMs > Math.max(overdueAtMs ?? Infinity, nextRunAtMs ?? 0) &&
    (nextRunAtMs ?? 0) > seenMs
  );
}

/** Returns when a service ended that does not run, or the last of several members. */
function endOf(
  run: MonitorRun,
  { records, members, nowMs }: Pick<MonitorStatusOptions, "records"> & Pick<MonitorStatus, "members"> & {
    readonly nowMs: number;
  },
): number {
  const heartbeats = (members ?? []).map(({ silentForMs }) => nowMs - silentForMs);
  return Math.max(run.ended?.sinceMs ?? lastSeenMs(run, records), ...heartbeats);
}

/** Returns the last time at which a service is known to have run, by what it stored. */
function lastSeenMs(run: MonitorRun, records: readonly CheckRecord[]): number {
  const { startedAtMs, configLoadedAtMs, aliveAtMs = 0 } = run;
  const observedMs = records.reduce((ms, { condition }) => Math.max(ms, condition.observedAtMs ?? 0), 0);
  return Math.max(startedAtMs, configLoadedAtMs, aliveAtMs, observedMs);
}

/** Returns whether two paths lead to one file, perhaps by symlinks. */
export async function isSameFile(
  one: string,
  other: string,
  { files }: Pick<System, "files">,
): Promise<boolean> {
  const real = async (path: string): Promise<string> => await files.realPath(path).catch(() => path);
  return one === other || await real(one) === await real(other);
}

async function compareConfig(run: MonitorRun, config: OpenConfig | null, system: Pick<System, "files">) {
  if (config === null || config.source.path === null || run.configPath === null) return "unknown";
  if (!await isSameFile(config.source.path, run.configPath, system)) return "another";
  return configHash(config) === run.configHash ? "same" : "edited";
}

/** A part of a summary line, such as `monitor running for 2 h`; `null`: there is none. */
export function describeMonitor(status: MonitorStatus | null, nowMs: number): string | null {
  if (status === null || status.state === "cron") return null;
  const { notRunning, run } = status;
  if (notRunning !== null) return describeNotRunning(notRunning, nowMs);
  return `monitor running for ${describeDuration(Math.max(0, nowMs - run.startedAtMs))}`;
}

export interface NoteOptions {
  readonly nowMs: number;
  readonly hasErrors: boolean;
  readonly timeZone: string;
}

/** Returns what a reader has to know about the monitor: why no service runs, and further facts; lines without newlines. */
export function monitorNotes(status: MonitorStatus | null, options: NoteOptions): readonly string[] {
  const { notRunning = null } = status ?? {};
  return [
    ...notRunning === null ? [] : [describeNotRunning(notRunning, options.nowMs)],
    ...describeMonitorTrouble(status, options),
  ];
}

export function describeMonitorTrouble(
  status: MonitorStatus | null,
  options: NoteOptions,
): readonly string[] {
  if (status === null) return [];
  const idle = (status.members ?? []).map(({ host, ...member }) => ({ host, text: describeMember(member) }))
    .filter(({ text }) => text !== "live").map(({ host, text }) => `member "${host}": ${text}`);
  return [...describeTrouble(status, options), ...idle, ...describeLocations(status)];
}

/** Calls of cron are no members, so without any service the locations are unknown. */
function describeLocations({ state, locations = [] }: MonitorStatus): readonly string[] {
  if (state !== "running") return [];
  return locations.filter(({ members }) => members !== "live").map(({ location, members, checks }) => {
    const found = members === "dead" ? "no live member" : "no member has joined";
    return `location "${location}": ${found}, ${checks} ${checks === 1 ? "check names" : "checks name"} it`;
  });
}

function describeTrouble({ state, run, config }: MonitorStatus, { nowMs, hasErrors, timeZone }: NoteOptions) {
  if (state === "hangs") {
    const process = run.processId === null ? "it" : `process ${run.processId}`;
    return [`monitor: ${process} does not respond; restart it`];
  }
  if (state === "unwritable") return ["monitor: results are in memory only; see its log"];
  if (config === "another") return [`config: monitor uses another one, "${run.configPath}"`];
  if (state !== "running") return [];
  const loaded = describeDuration(Math.max(0, nowMs - run.configLoadedAtMs));
  if (run.failedReload !== null && config !== "same") {
    const { atMs, reason } = run.failedReload;
    const at = timeText(atMs, timeZone);
    return [`config: not reloaded at ${at}, monitor uses the one loaded ${loaded} ago: ${reason}`];
  }
  if (hasErrors) return [`config: invalid; monitor uses the one loaded ${loaded} ago`];
  if (config !== "edited") return [];
  const signal = run.processId === null ? "SIGHUP" : `kill -HUP ${run.processId}`;
  const how = run.controlPath === null ? signal : "monitor reload";
  return [`config: edited since it was loaded ${loaded} ago; reload it with: ${how}`];
}

interface RunRecorderOptions {
  readonly repository: { readonly store: Store };
  readonly system: Pick<System, "clock" | "state">;
  /** The lock of the state, which has the process's id; `null`: the state has no lock. */
  readonly lockPath: string | null;
}

/** Records the run of a service. It ignores that the state can't be written: the repository logs that. */
export class RunRecorder {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #service: Pick<MonitorRun, "mode" | "processId" | "startedAtMs">;
  #run: MonitorRun | null = null;

  constructor({ repository, system: { clock, state }, lockPath }: RunRecorderOptions) {
    this.#store = repository.store;
    this.#clock = clock;
    const processId = lockPath === null ? null : state.holder(lockPath);
    this.#service = { mode: "service", processId, startedAtMs: clock.wallMs() };
  }

  adopt(config: OpenConfig): Promise<void> {
    const facts = factsOf(config, this.#clock.wallMs());
    this.#run = { ...this.#service, controlPath: this.#run?.controlPath ?? null, ended: null, ...facts };
    return this.repeat();
  }

  repeat(): Promise<void> {
    return this.#write({});
  }

  async controlled(path: string | null): Promise<void> {
    if (path !== null) await this.#write({ controlPath: path });
  }

  /** Without a control socket, nothing else shows that the service does not hang. */
  alive(): Promise<void> {
    return this.#write({ aliveAtMs: this.#clock.wallMs() });
  }

  reloadFailed(reason: string): Promise<void> {
    return this.#write({ failedReload: { atMs: this.#clock.wallMs(), reason } });
  }

  /** While other members run, the state is that of a running service. */
  async stopped(atMs: number): Promise<void> {
    const isLast = await unlessUnusable(async () => !hasLiveMember(await readServices(this.#store)));
    if (isLast === true) await this.#write({ ended: { state: "stopped", sinceMs: atMs } });
  }

  async #write(changes: Partial<MonitorRun>): Promise<void> {
    if (this.#run === null) return;
    const run = this.#run = { ...this.#run, ...changes };
    await unlessUnusable(() => this.#store.keepMonitorRun(run));
  }
}

function hasLiveMember(members: MonitorStatus["members"]): boolean {
  return members?.some(isLiveMember) === true;
}

/**
 * Returns when the service ended that ran before this process, or the last member; `null`: there was none, a member runs,
 * or the state can't be read.
 */
export async function endOfService(store: Store, nowMs: number): Promise<number | null> {
  return await unlessUnusable(async () => {
    const run = await store.monitorRun();
    if (run === null || run.mode === "cron") return null;
    const members = await readServices(store);
    if (hasLiveMember(members)) return null;
    return endOf(run, { records: run.ended === null ? await store.records() : [], members, nowMs });
  });
}

/** Records that a service, or the last member, died, and when it was last seen: what this single call finds is newer. */
export async function recordDeath(store: Store): Promise<void> {
  await unlessUnusable(async () => {
    const run = await store.monitorRun();
    if (run === null || run.mode === "cron" || run.ended !== null) return;
    if (hasLiveMember(await readServices(store))) return;
    const sinceMs = lastSeenMs(run, await store.records());
    await store.keepMonitorRun({ ...run, ended: { state: "died", sinceMs } });
  });
}

/**
 * Records that calls by cron run the checks, unless that is recorded with the same config. Checks that left it are kept
 * for the next call if this one does not end their problems.
 */
export async function recordCronRun(
  store: Store,
  config: OpenConfig,
  { left, nowMs }: { readonly left: ReadonlySet<string>; readonly nowMs: number },
): Promise<void> {
  const active = factsOf(config, nowMs);
  const facts = { ...active, checks: [...active.checks, ...[...left].map((name) => ({ name }))] };
  await unlessUnusable(async () => {
    // Members that run meanwhile are the service.
    if (hasLiveMember(await readServices(store))) return;
    const before = await store.monitorRun();
    const isSame = before?.mode === "cron" && before.configHash === facts.configHash &&
      before.configPath === facts.configPath && before.checks.length === facts.checks.length;
    if (isSame) return;
    const none = { processId: null, controlPath: null, ended: null };
    await store.keepMonitorRun({ mode: "cron", startedAtMs: nowMs, ...none, ...facts });
  });
}

/** Returns the checks that the config no longer runs, since the monitor last used it. */
export async function checksThatLeft(
  store: Pick<Store, "monitorRun">,
  { checks, source }: OpenConfig,
): Promise<ReadonlySet<string>> {
  const run = await unlessUnusable(() => store.monitorRun());
  // Another config may use the same state.
  if (run === null || run.configPath === null || run.configPath !== source.path) return new Set();
  const active = new Set(checks.filter((check) => check.active).map(({ name }) => name));
  return new Set(run.checks.map(({ name }) => name).filter((name) => !active.has(name)));
}

function factsOf(config: OpenConfig, nowMs: number) {
  return {
    configPath: config.source.path,
    configHash: configHash(config),
    configLoadedAtMs: nowMs,
    failedReload: null,
    checks: config.checks.filter(({ active }) => active).map(({ name, definition, locations }) => ({
      name,
      ...definition !== undefined && { definition },
      ...locations !== undefined && { locations },
    })),
  };
}

/** Returns what some work returns; `null` if the state can't be used. */
async function unlessUnusable<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreError) return null;
    throw error;
  }
}
