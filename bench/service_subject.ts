/** A watching monitor as users run it, and the bare loop that does the same work at the same rate. */
import { DEFAULT_LIMITS } from "../src/scheduler/run_checks.ts";
import type { RATE_WORK } from "./bare_rate.ts";
import { ownCounter, serverCounter, stateCounter } from "./counters.ts";
import { checkNames, type ConfigSubject, makeConfig, requestCheck } from "./configs.ts";
import { keepChecks, readRecords } from "./kept_state.ts";
import { startServer } from "./server.ts";
import { type Counter, measureSteady, type SteadySample } from "./steady_process.ts";
import type { Workplace } from "./workplace.ts";

/** For how long something is measured. */
export interface Span {
  /** Before it counts. */
  readonly warmUpSeconds: number;
  /** While it counts. */
  readonly seconds: number;
}

/** The checks, and the options of the service. */
export interface ServiceSubject extends ConfigSubject, Span {
  /** Whether the state is kept. @default true */
  readonly isKept?: boolean;
  /** Counts the runs. @default the state */
  readonly counter?: Counter;
}

/** The measured load. */
export interface ServiceSample extends SteadySample {
  /** How late the last run of each check began; nothing where no state is kept. */
  readonly lagMs: readonly number[];
}

/** Runs checks that have run before, and returns the load. */
export async function measureService(
  { programs, directory }: Workplace,
  subject: ServiceSubject,
): Promise<ServiceSample> {
  const { count, intervalSeconds, isKept = true } = subject;
  const place = await Deno.makeTempDir({ dir: directory });
  try {
    const [config, state] = [`${place}/monitor.json`, `${place}/state.sqlite`];
    await Deno.writeTextFile(config, makeConfig(subject));
    if (isKept) await keepChecks(state, { names: checkNames(count), intervalMs: intervalSeconds * 1000 });
    const sample = await measureSteady({
      ...subject,
      command: [
        ...programs.best.commands.monitor,
        ...["check", "--config", config, "--state", isKept ? state : "none"],
      ],
      counter: subject.counter ?? stateCounter(state),
    });
    return { ...sample, lagMs: isKept ? await readLag(state) : [] };
  } finally {
    await Deno.remove(place, { recursive: true });
  }
}

async function readLag(state: string): Promise<readonly number[]> {
  const records = await readRecords(state);
  return records.map(({ name, last }) => {
    if (last?.condition !== "ok") throw new Error(`Cannot measure: "${name}" said "${last?.output}"`);
    return last.lateMs ?? NaN;
  });
}

/** The operation of a bare loop. */
export interface BareSubject extends Span {
  /** The operation. */
  readonly work: keyof typeof RATE_WORK;
  /** Its URL or command. */
  readonly target: string;
  /** How often. */
  readonly perSecond: number;
  /** Counts the operations. @default the loop itself */
  readonly counter?: Counter;
}

/** As many at a time as the monitor has. */
const AT_A_TIME: Readonly<Record<BareSubject["work"], number>> = {
  requests: DEFAULT_LIMITS.network,
  requests_for_body: DEFAULT_LIMITS.network,
  redis_commands: DEFAULT_LIMITS.network,
  smtp_dialogs: DEFAULT_LIMITS.network,
  websockets: DEFAULT_LIMITS.network,
  files: DEFAULT_LIMITS.network,
  ends_of_files: DEFAULT_LIMITS.network,
  scripts: DEFAULT_LIMITS.process,
  scripts_in_groups: DEFAULT_LIMITS.process,
};

/** Runs a bare loop, and returns the load. */
export function measureBare({ programs }: Workplace, subject: BareSubject): Promise<SteadySample> {
  const { work, target, perSecond, counter = ownCounter } = subject;
  return measureSteady({
    ...subject,
    counter,
    command: [
      ...programs.best.commands.bare,
      work,
      target,
      String(perSecond),
      String(AT_A_TIME[work]),
    ],
  });
}

/** Watches checks that ask a server which is started for them alone, and which counts. */
export async function measureScheduledRequests(
  workplace: Workplace,
  { readsBody = false, ...subject }: Omit<ServiceSubject, "check" | "counter"> & {
    readonly readsBody?: boolean;
  },
): Promise<ServiceSample> {
  await using server = await startServer();
  const check = requestCheck(server.address, { readsBody });
  return await measureService(workplace, { ...subject, check, counter: serverCounter(server) });
}

/** Runs a bare loop of requests to a separate server, which counts them. */
export async function measureBareRequests(
  workplace: Workplace,
  { readsBody = false, ...subject }: Omit<BareSubject, "work" | "target" | "counter"> & {
    readonly readsBody?: boolean;
  },
): Promise<SteadySample> {
  await using server = await startServer();
  const counter = serverCounter(server);
  const work = readsBody ? "requests_for_body" : "requests";
  return await measureBare(workplace, { ...subject, work, target: server.address, counter });
}
