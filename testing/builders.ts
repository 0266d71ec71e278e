/** Values with defaults for all that a test does not care about. */
import type { CheckKind, CheckOf, CheckSettings } from "../src/domain/check.ts";
import type { ObserveContext } from "../src/domain/check_kind.ts";
import { createMemorySystem } from "./memory_system.ts";

/** A check that runs every minute, without channels. */
export function checkOf<K extends CheckKind>(
  kind: K,
  parameters: CheckOf<K>["parameters"],
  settings: Partial<CheckSettings> = {},
): CheckOf<K> {
  return {
    name: "web",
    active: true,
    threshold: 1,
    recoveryThreshold: settings.threshold ?? 1,
    flapping: "once",
    reminders: false,
    schedule: { regularIntervalMs: 60_000, attentiveIntervalMs: 60_000 },
    maintenanceWindows: [],
    notifications: [],
    dependsOn: [],
    invert: false,
    tags: [],
    timeoutMs: 120_000,
    ...settings,
    kind,
    parameters,
  } as CheckOf<K>;
}

/** The context of a check on the real machine, except for some parts of it. */
export function contextOf(
  { system, ...others }:
    & Partial<Omit<ObserveContext, "system">>
    & { readonly system?: Partial<ObserveContext["system"]> } = {},
): ObserveContext {
  return {
    system: { ...createMemorySystem(), ...system },
    jobs: null,
    directory: "/",
    signal: new AbortController().signal,
    ...others,
  };
}

/** A temporary directory, which is removed when it is disposed of. */
export interface Directory extends AsyncDisposable {
  readonly path: string;
}

/** Makes a temporary directory with these files. */
export async function tempDirectory(files: Readonly<Record<string, string>> = {}): Promise<Directory> {
  const path = await Deno.makeTempDir({ prefix: "monitor_test_" });
  for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${path}/${name}`, text);
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}
