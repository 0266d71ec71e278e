/** The common parts of the commands for silences and acknowledgements: the checks, the end, and the list. */
import {
  type Command,
  type Invocation,
  OPTION,
  option,
  type OptionSpec,
  UsageError,
} from "./command_definition.ts";
import type { Silence } from "../domain/outbox.ts";
import type { CheckRecord, Store } from "../domain/store.ts";
import type { System } from "../domain/system.ts";
import type { ShownCheck } from "../engine/check_status.ts";
import { describeNote, hasOwnEnd, lastingSilences, newSilences } from "../engine/silences.ts";
import { readDuration } from "./read_times.ts";
import { parseTime, TIME_EXAMPLES, type TimeContext, timeText } from "../shared/local_time.ts";
import { printable } from "../shared/text.ts";
import { DAY_MS } from "../shared/time_units.ts";
import { openKnownState } from "./known_config.ts";
import { isEverything, readSelection, selectChecks } from "./open_config.ts";
import { stateAlongside } from "./open_store.ts";

export const SILENCE_COMMAND = {
  operands: "[NAME…]",
  operandKind: "check",
  page: "guides/notifications.md",
  uses: ["read", "write", "net", "env", "sys"],
  endings: ["done", "name", "state", "permission", "config"],
} as const satisfies Partial<Command>;

export function targetOptions(all: string): readonly OptionSpec[] {
  return [OPTION.config, OPTION.state, OPTION.tag, option("--all", all)];
}

export const UNTIL_OPTION: OptionSpec = option(
  "--until TIME",
  `end time, in the time zone of the config or one of its own, such as ${TIME_EXAMPLES}`,
);

/** The opened state, and the checks of a call; `null`: all of them. */
interface SilenceTargets {
  readonly store: Store;
  readonly names: readonly (string | null)[];
  readonly checks: readonly ShownCheck[];
  readonly timeZone: string;
  readonly nowMs: number;
  /** The person who acts, for the others; `null`: unknown. */
  readonly by: string | null;
  /** When `--for` or `--until` ends, in milliseconds since 1970; `null`: neither is given. */
  readonly untilMs: number | null;
}

/** @throws {UsageError} If a check or a tag is unknown, or an end is no time to come. */
export async function withSilences(
  invocation: Invocation,
  system: System,
  act: (targets: SilenceTargets) => Promise<string>,
): Promise<void> {
  const selection = readSelection(invocation);
  // What is no time to come in any zone is an error before the state is opened.
  readEnd(invocation, { timeZone: "UTC", nowMs: system.clock.wallMs() - DAY_MS });
  const known = await openKnownState(invocation, selection, system);
  await known.store?.close();
  const checks = selectChecks(known.checks, selection);
  const [timeZone, nowMs] = [(known.config ?? system).timeZone(), system.clock.wallMs()];
  const untilMs = readEnd(invocation, { timeZone, nowMs });
  const store = await stateAlongside(known.place, system);
  try {
    const names = invocation.has("all") ? [null] : checks.map((check) => check.name);
    system.stdout.write(await act({ store, names, checks, timeZone, nowMs, by: personIn(system), untilMs }));
  } finally {
    await store.close();
  }
}

/** Returns the user, before sudo, and the machine. */
function personIn({ environment, hostName }: System): string | null {
  const user = USER_VARIABLES.map(environment).find((name) => name !== undefined && name !== "");
  return user === undefined ? null : `${user} on ${hostName()}`;
}

const USER_VARIABLES = ["SUDO_USER", "LOGNAME", "USER", "USERNAME"];

/** @throws {UsageError} If neither or both are given. */
export function requireTargets(invocation: Invocation, example: string): void {
  const isAll = invocation.has("all");
  const isUnnamed = isEverything(readSelection(invocation));
  if (isAll && !isUnnamed) throw new UsageError("--all cannot be used with names of checks or --tag");
  if (!isAll && isUnnamed) throw new UsageError("missing names of checks, --tag or --all", example);
}

/** @throws {UsageError} If there is another option than those of an action, of the config and of the state. */
export function rejectOptions(invocation: Invocation, action: string, accepted: readonly string[]): void {
  const other = [...invocation.options.keys()].find((name) =>
    ![...accepted, "config", "state", "no-color"].includes(name)
  );
  if (other !== undefined) throw new UsageError(`--${other} cannot be used with ${action}`);
}
/** Chooses the problems of some checks, and lists the checks without one; `null` stands for all checks. */
export function chooseProblems(
  records: readonly CheckRecord[],
  names: readonly (string | null)[],
): ChosenChecks {
  const isAll = names.includes(null);
  const chosen = records.flatMap(({ name: check, condition: { problemBeganAtMs } }) =>
    problemBeganAtMs !== null && (isAll || names.includes(check)) ? [{ check, problemBeganAtMs }] : []
  );
  if (isAll) return { chosen, without: chosen.length === 0 ? [null] : [] };
  return { chosen, without: names.filter((name) => !chosen.some(({ check }) => check === name)) };
}

interface ChosenChecks {
  readonly chosen: readonly Pick<Silence, "check" | "problemBeganAtMs">[];
  readonly without: readonly (string | null)[];
}

export function renderSilences(silences: readonly Silence[], timeZone: string): string {
  return silences.map((silence) => {
    const { kind, check, untilMs, problemBeganAtMs } = silence;
    const note = describeNote(silence);
    const why = note === "" ? "" : ` (${note})`;
    const what = kind === "silence" ? "silenced" : "acknowledged";
    const time = timeText(untilMs, timeZone);
    const end = problemBeganAtMs === null ? time : hasOwnEnd(silence) ? `ok, at the latest ${time}` : "ok";
    return printable(`${check ?? "all checks"}: ${what} until ${end}${why}`) + "\n";
  }).join("");
}

/**
 * Adds silences or acknowledgements, and lists them, then the checks that have no problem. Replaced ones end, and stay
 * stored for `monitor why --at`.
 */
export async function addChosen(
  { store, nowMs: fromMs, by, timeZone }: SilenceTargets,
  { chosen, without }: ChosenChecks,
  { notes = "", ...settings }: Pick<Silence, "untilMs" | "reason"> & {
    readonly kind: "silence" | "acknowledgement";
    /** Further lines, before those of checks without a problem. */
    readonly notes?: string;
  },
): Promise<string> {
  const { made, replaced } = newSilences(chosen, await store.silences(fromMs), { ...settings, fromMs, by });
  await store.addSilences([...replaced, ...made]);
  const verb = settings.kind === "silence" ? "silence" : "acknowledge";
  return renderSilences(made, timeZone) + notes +
    without.map((name) => printable(`${name ?? "all checks"}: no problem to ${verb}`) + "\n").join("");
}

export async function readSilences(
  store: Pick<Store, "silences" | "records">,
  nowMs: number,
): Promise<readonly Silence[]> {
  const silences = lastingSilences(await store.silences(nowMs), await store.records());
  return silences.filter(({ kind }) => kind !== "maintenance");
}

/**
 * Returns when `--for` or `--until` ends, in milliseconds since 1970; `null`: neither is given.
 *
 * @throws {UsageError} If both are given, or one is no time to come.
 */
function readEnd(invocation: Invocation, context: TimeContext): number | null {
  const until = invocation.text("until");
  if (until === undefined) {
    const lengthMs = readDuration(invocation, "for", hintForUnit);
    return lengthMs === null ? null : context.nowMs + lengthMs;
  }
  if (invocation.has("for")) throw new UsageError("--for cannot be used with --until");
  const ms = parseTime(until, context);
  if (ms === null) {
    throw new UsageError(`--until is "${until}", expected a time such as ${TIME_EXAMPLES}`);
  }
  if (ms === "no such time") throw new UsageError(`--until is "${until}", a time that does not exist`);
  if (ms <= context.nowMs) throw new UsageError(`--until is "${until}", which is past`);
  return ms;
}

function hintForUnit(length: string): string | undefined {
  const count = /^\s*0*([1-9]\d*)\s*$/.exec(length)?.[1];
  return count && `did you mean "${count} ${count === "1" ? "hour" : "hours"}"?`;
}
