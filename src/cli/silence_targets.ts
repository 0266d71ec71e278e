/** What `monitor silence` and `monitor unsilence` share: which checks are meant, and how silences are listed. */
import type { Silence } from "../domain/outbox.ts";
import type { System } from "../domain/system.ts";
import { timeText } from "../shared/local_time.ts";
import { printable } from "../shared/printable.ts";
import { type Invocation, UsageError } from "./command_definition.ts";
import { checksOfState, openKnownConfig } from "./known_config.ts";
import { isEverything, readSelection, selectChecks } from "./open_config.ts";
import { stateAlongside, warnOfMissing } from "./read_state.ts";

/** The opened state, and the checks that a call is about; `null` stands for all of them. */
interface SilenceTargets {
  readonly store: Awaited<ReturnType<typeof stateAlongside>>;
  readonly names: readonly (string | null)[];
}

/**
 * Opens the state for a call on silences and runs `act` on it.
 *
 * @throws {UsageError} If a check or a tag is unknown.
 */
export async function withSilences(
  invocation: Invocation,
  system: System,
  act: (targets: SilenceTargets) => Promise<string>,
): Promise<void> {
  const selection = readSelection(invocation);
  const { config, place } = await openKnownConfig(invocation, selection, system);
  const configured = config === null ? null : selectChecks(config.checks, selection);
  await warnOfMissing(place, system);
  const store = await stateAlongside(place, system);
  try {
    const checks = configured ??
      selectChecks(checksOfState(await store.monitorRun(), await store.records()), selection);
    const names = invocation.options.has("all") ? [null] : checks.map((check) => check.name);
    system.stdout.write(await act({ store, names }));
  } finally {
    await store.close();
  }
}

/**
 * Requires names of checks, `--tag` or `--all`, and not both.
 *
 * @throws {UsageError} If neither or both are given.
 */
export function requireTargets(invocation: Invocation, example: string): void {
  const isAll = invocation.options.has("all");
  const isUnnamed = isEverything(readSelection(invocation));
  if (isAll && !isUnnamed) throw new UsageError("--all cannot be used with names of checks or --tag");
  if (!isAll && isUnnamed) throw new UsageError("missing names of checks, --tag or --all", example);
}

/** Lists silences, one a line. */
export function renderSilences(silences: readonly Silence[], timeZone: string): string {
  return silences.map(({ check, untilMs, reason }) => {
    const why = reason === "" ? "" : ` (${reason})`;
    return printable(`${check ?? "all checks"}: silenced until ${timeText(untilMs, timeZone)}${why}`) + "\n";
  }).join("");
}
