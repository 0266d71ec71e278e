/**
 * The config for commands that only read the state, or add to it. While it has errors, or was edited, a service
 * continues with the last one that it loaded, so these commands show the checks of that one.
 */
import { ConfigError } from "../config/problem.ts";
import { absolutePath } from "../config/source.ts";
import { postgresIn } from "../config/postgres_settings.ts";
import { parseText } from "../config/syntax.ts";
import { findStatePath } from "../config/positions.ts";
import type { MonitorRun } from "../domain/monitor_run.ts";
import type { CheckRecord, Store } from "../domain/store.ts";
import type { System } from "../domain/system.ts";
import type { ShownCheck } from "../engine/check_status.ts";
import type { MonitorStatus } from "../outputs/json/monitor_fields.ts";
import { locateState, readState, type StateLocation } from "./open_state.ts";
import { readMonitorStatus } from "./monitor_status.ts";
import type { Invocation } from "./command_definition.ts";
import { type OpenConfig, openConfig } from "./open_config.ts";
import { warn } from "./terminal.ts";
import { hintOf } from "./failure.ts";

/** A config as far as it can be used, and where its state is. */
interface KnownConfig {
  /** `null` while it has errors. */
  readonly config: OpenConfig | null;
  readonly error: ConfigError | null;
  readonly label: string;
  /** Its absolute path; `null`: it is from stdin, or there is none. */
  readonly path: string | null;
  readonly place: StateLocation;
}

/**
 * Loads the config; its errors are warnings if the path of an existing state can be read nevertheless.
 *
 * @throws {ConfigError} If it has errors, and the state can't be found or the checks are chosen by their tags.
 */
export async function openKnownConfig(invocation: Invocation, system: System): Promise<KnownConfig> {
  try {
    const config = await openConfig(invocation, system, { withoutSecrets: true });
    const place = await locateState(invocation, config, system);
    return { config, error: null, label: config.source.label, path: config.source.path, place };
  } catch (error) {
    if (!(error instanceof ConfigError) || invocation.texts("tag").length > 0) throw error;
    const place = await locateStateOf(error, invocation, system);
    if (place === null) throw error;
    const hint = hintOf(invocation, "see: monitor validate");
    warn(`${error.message}; showing the checks of the state (${hint})`, system);
    const { label = "no config", path = null } = error.source ?? {};
    return { config: null, error, label, path, place };
  }
}

async function locateStateOf({ source }: ConfigError, invocation: Invocation, system: System) {
  if (source === null && invocation.text("state") === undefined) return null;
  const { text = "", path = null, directory = system.workingDirectory } = source ?? {};
  const found = findStatePath(text);
  const statePath = found === null ? null : absolutePath(found, directory);
  const postgres = postgresIn(parseText(text).value, directory);
  const place = await locateState(invocation, { source: { path }, statePath, postgres }, system);
  if (place.postgres !== undefined) return place;
  return place.path !== null && await system.state.files.look(place.path) !== null ? place : null;
}

export interface KnownState extends AsyncDisposable {
  /** `null`: there is none yet. */
  readonly store: Store | null;
  /** Those that run. */
  readonly checks: readonly ShownCheck[];
  readonly records: readonly CheckRecord[];
  readonly monitor: MonitorStatus | null;
  recordOf(name: string): CheckRecord | null;
}

export async function openKnownState(
  invocation: Invocation,
  system: System,
  options: Parameters<typeof readState>[2] = {},
): Promise<KnownConfig & KnownState> {
  const known = await openKnownConfig(invocation, system);
  return { ...known, ...await openStateOf(known, system, options) };
}

/** The same for a config that is open already. */
export async function openStateOf(
  { config, place }: Pick<KnownConfig, "config" | "place">,
  system: System,
  options: Parameters<typeof readState>[2] = {},
): Promise<KnownState> {
  const store = await readState(place, system, options);
  const close = (): Promise<void> => store?.close() ?? Promise.resolve();
  try {
    const records = await store?.records() ?? [];
    const monitor = await readMonitorStatus(store, { place, config, records, system });
    const checks = shownChecks(config?.checks ?? null, monitor, records);
    const byName = new Map(records.map((record) => [record.name, record]));
    const recordOf = (name: string): CheckRecord | null => byName.get(name) ?? null;
    return { store, checks, records, recordOf, monitor, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** While a service runs with a config that was edited since, the checks that it runs, then new ones. */
function shownChecks(
  configured: readonly ShownCheck[] | null,
  monitor: MonitorStatus | null,
  records: readonly CheckRecord[],
): readonly ShownCheck[] {
  if (configured === null) return checksOfState(monitor?.run ?? null, records);
  const hasService = monitor !== null && ["running", "hangs", "unwritable"].includes(monitor.state);
  if (!hasService || monitor.config !== "edited") return configured;
  const added = new Map(configured.map((check) => [check.name, check]));
  const served = checksOfState(monitor.run, records).map((check) => {
    const written = added.get(check.name);
    if (written === undefined) return check;
    added.delete(check.name);
    const { definition, locations: _, ...rest } = written;
    return { ...check, ...rest, active: true, kind: definition === check.definition ? rest.kind : null };
  });
  return [...served, ...added.values()];
}

/** Returns the checks of a process, or of the stored records if none is known. */
export function checksOfState(run: MonitorRun | null, stored: readonly CheckRecord[]): readonly ShownCheck[] {
  // Without its schedule, a check is overdue when its record says so: `overdueAtMs` adds two of these intervals.
  const intervals = new Map(stored.map(({ name, overdueAtMs, nextRunAtMs }) => {
    const leftMs = overdueAtMs === null || nextRunAtMs === null ? 0 : overdueAtMs - nextRunAtMs;
    return [name, Math.max(0, leftMs / 2)];
  }));
  return (run?.checks ?? stored.map(({ name }) => ({ name }))).map((served) => {
    const intervalMs = intervals.get(served.name) ?? 0;
    return {
      ...served,
      kind: null,
      active: true,
      tags: [],
      maintenanceWindows: [],
      dependsOn: [],
      schedule: { regularIntervalMs: intervalMs, attentiveIntervalMs: intervalMs },
      timeoutMs: 0,
      threshold: null,
      recoveryThreshold: null,
    };
  });
}
