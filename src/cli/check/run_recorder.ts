import type { MonitorRun } from "../../domain/monitor_run.ts";
import { type Store, StoreError } from "../../domain/store.ts";
import type { System } from "../../domain/system.ts";
import { isLiveMember } from "../../domain/membership.ts";
import { readServices } from "../../state/read_store.ts";
import type { OpenConfig } from "../open_config.ts";
import type { MonitorStatus } from "../../outputs/json/monitor_fields.ts";
import { configHash, endOf, lastSeenMs } from "../monitor_status.ts";

export interface RunRecorder {
  adopt(config: OpenConfig): Promise<void>;
  repeat(): Promise<void>;
  /** While other members run, the state is that of a running service. */
  stopped(atMs: number): Promise<void>;
  controlled(path: string | null): Promise<void>;
  /** Without a control socket, nothing else shows that the service does not hang. */
  alive(): Promise<void>;
  reloadFailed(reason: string): Promise<void>;
}

interface RunRecorderOptions {
  readonly repository: { readonly store: Store };
  readonly system: Pick<System, "clock" | "state">;
  /** The lock of the state, which has the process's id; `null`: the state has no lock. */
  readonly lockPath: string | null;
}

/** Makes the recorder of a service. It ignores that the state can't be written: the repository logs that. */
export function createRunRecorder({ repository, system, lockPath }: RunRecorderOptions): RunRecorder {
  const startedAtMs = system.clock.wallMs();
  const processId = lockPath === null ? null : system.state.holder(lockPath);
  let run: MonitorRun | null = null;
  let controlPath: string | null = null;
  const write = async (changes: Partial<MonitorRun> = {}): Promise<void> => {
    if (run === null) return;
    const kept = run = { ...run, ...changes };
    await unlessUnusable(() => repository.store.keepMonitorRun(kept));
  };
  return {
    adopt: (config) => {
      const facts = factsOf(config, system.clock.wallMs());
      run = { mode: "service", processId, controlPath, startedAtMs, ended: null, ...facts };
      return write();
    },
    repeat: () => write(),
    controlled: async (path) => {
      controlPath = path;
      if (path !== null) await write({ controlPath });
    },
    alive: () => write({ aliveAtMs: system.clock.wallMs() }),
    reloadFailed: (reason) => write({ failedReload: { atMs: system.clock.wallMs(), reason } }),
    stopped: async (atMs) => {
      const isLast = await unlessUnusable(async () => !hasLiveMember(await readServices(repository.store)));
      if (isLast === true) await write({ ended: { state: "stopped", sinceMs: atMs } });
    },
  };
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
    const run = {
      mode: "cron",
      processId: null,
      controlPath: null,
      startedAtMs: nowMs,
      ended: null,
    } as const;
    await store.keepMonitorRun({ ...run, ...facts });
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
