import {
  type Command,
  EXIT,
  Invocation,
  OPTION,
  option,
  type OptionSpec,
  UsageError,
} from "../command_definition.ts";
import type { System } from "../../domain/system.ts";
import { countSilences } from "../../outputs/outbox_status.ts";
import {
  describeNote,
  hasOwnEnd,
  lastingSilences,
  newSilences,
  UNTIL_OK_MS_MAX,
} from "../../engine/suppression.ts";
import { isEverything, readSelection, selectChecks } from "../open_config.ts";
import type { Silence } from "../../domain/outbox.ts";
import type { CheckRecord, Store } from "../../domain/store.ts";
import type { ShownCheck } from "../../engine/check_status.ts";
import { readDuration, readTime } from "../read_times.ts";
import { TIME_EXAMPLES, type TimeContext, timeText } from "../../shared/local_time.ts";
import { printable } from "../../shared/text.ts";
import { DAY_MS } from "../../shared/time_units.ts";
import { openKnownState } from "../known_config.ts";
import { stateAlongside } from "../open_state.ts";

export const SILENCE_COMMAND = {
  operands: "[NAME…]",
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
  const known = await openKnownState(invocation, system);
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

/** The actions of a command by their words, with the options that each has besides those of config and state. */
export type Actions = Readonly<Record<string, Action>>;

interface Action {
  readonly options: readonly string[];
  call(invocation: Invocation, system: System): Promise<void>;
}

/**
 * Calls the action that the first operand names; returns whether it names one.
 *
 * @throws {UsageError} If there is another option than those of the action.
 */
export async function runAction(actions: Actions, invocation: Invocation, system: System): Promise<boolean> {
  const [word = "", ...operands] = invocation.operands;
  const action = Object.hasOwn(actions, word) ? actions[word] : undefined;
  if (action === undefined) return false;
  const accepted = [...action.options, "config", "state", "no-color"];
  const other = [...invocation.options.keys()].find((name) => !accepted.includes(name));
  if (other !== undefined) throw new UsageError(`--${other} cannot be used with ${word}`);
  await action.call(new Invocation({ ...invocation, operands }), system);
  return true;
}

/** Returns the problems of some checks, and the checks without one; `null`: of all checks. */
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

function renderSilences(silences: readonly Silence[], timeZone: string): string {
  return silences.map((silence) => {
    const { kind, check, untilMs, problemBeganAtMs } = silence;
    const what = kind === "silence" ? "silenced" : "acknowledged";
    const time = timeText(untilMs, timeZone);
    const end = problemBeganAtMs === null ? time : hasOwnEnd(silence) ? `ok, at the latest ${time}` : "ok";
    const why = inBrackets(describeNote(silence));
    return printable(`${check ?? "all checks"}: ${what} until ${end}${why}`) + "\n";
  }).join("");
}

export function inBrackets(note: string): string {
  return note === "" ? "" : ` (${note})`;
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

async function readSilences(store: Pick<Store, "silences" | "records">, nowMs: number) {
  const silences = lastingSilences(await store.silences(nowMs), await store.records());
  return silences.filter(({ kind }) => kind !== "maintenance");
}

/**
 * Returns when `--for` or `--until` ends, in milliseconds since 1970; `null`: neither is given.
 *
 * @throws {UsageError} If both are given, or one is no time to come.
 */
function readEnd(invocation: Invocation, context: TimeContext): number | null {
  const untilMs = readTime(invocation, "until", context);
  if (untilMs === null) {
    const lengthMs = readDuration(invocation, "for", hintForUnit);
    return lengthMs === null ? null : context.nowMs + lengthMs;
  }
  if (invocation.has("for")) throw new UsageError("--for cannot be used with --until");
  if (untilMs > context.nowMs) return untilMs;
  throw new UsageError(`--until is "${invocation.text("until")}", which is past`);
}

function hintForUnit(length: string): string | undefined {
  const count = /^\s*0*([1-9]\d*)\s*$/.exec(length)?.[1];
  return count && `did you mean "${count} ${count === "1" ? "hour" : "hours"}"?`;
}

const ACTIONS: Actions = { list: { call: list, options: [] }, end: { call: end, options: ["tag", "all"] } };

export const silenceCommand: Command = {
  ...SILENCE_COMMAND,
  name: "silence",
  group: "quiet",
  summary: "suppress notifications for a while; list and end silences",
  operands: "[list|end] [NAME…]",
  description:
    "Suppresses notifications of the named or tagged checks, or with --all of every check. The checks still run. " +
    "A running monitor applies it at once. When the silence ends, a problem that persists is sent within half a " +
    "minute. A new silence of a check replaces its old one. list: prints the current silences and acknowledgements. " +
    "end: ends those of the named or tagged checks, or with --all all of them; notifications that are still due are sent.",
  options: [
    ...targetOptions("every check"),
    option("--for INTERVAL", 'duration, such as "2 hours" or 90m (default: 1 hour)'),
    UNTIL_OPTION,
    option("--until-ok", "until the problem that each check has now has recovered"),
    option("--reason TEXT", "reason, shown by list and status"),
  ],
  examples: [
    ["monitor silence web --for 2h --reason deploy", "silence one check"],
    ["monitor silence --tag web --for 2h", "silence the checks with a tag"],
    ["monitor silence --all --until 18:30", "silence every check"],
    ["monitor silence web --until-ok", "silence a problem until it has recovered"],
    ["monitor silence list", "list the current silences"],
    ["monitor silence end web", "end the silence of one check"],
  ],
  replaced: { "--end": "monitor silence end NAME", "--list": "monitor silence list" },
  run: async (invocation, system) => {
    if (!await runAction(ACTIONS, invocation, system)) await start(invocation, system);
    return EXIT.ok;
  },
};

async function start(invocation: Invocation, system: System): Promise<void> {
  requireTargets(invocation, "monitor silence NAME --for 1h");
  const untilOk = invocation.has("until-ok");
  await withSilences(invocation, system, async (targets) => {
    const { store, names, nowMs } = targets;
    const untilMs = targets.untilMs ?? nowMs + (untilOk ? UNTIL_OK_MS_MAX : FOR_MS_DEFAULT);
    const chosen = untilOk
      ? chooseProblems(await store.records(), names)
      : { chosen: names.map((check) => ({ check, problemBeganAtMs: null })), without: [] };
    const reason = invocation.text("reason") ?? "";
    return await addChosen(targets, chosen, { kind: "silence", untilMs, reason });
  });
}

async function list(invocation: Invocation, system: System): Promise<void> {
  if (!isEverything(readSelection(invocation))) throw new UsageError("list accepts no names of checks");
  await withSilences(invocation, system, async ({ store, timeZone, nowMs }) => {
    const silences = await readSilences(store, nowMs);
    return renderSilences(silences, timeZone) || "no silences\n";
  });
}

async function end(invocation: Invocation, system: System): Promise<void> {
  requireTargets(invocation, "monitor silence end NAME");
  await withSilences(invocation, system, async ({ store, names, timeZone, nowMs }) => {
    const isAll = invocation.has("all");
    const ended = (await readSilences(store, nowMs)).filter(({ check }) => isAll || names.includes(check));
    await store.endSilences(isAll ? "all" : names, nowMs);
    const others = (await readSilences(store, nowMs)).filter(({ check }) => check === null);
    const rest = others.length === 0 ? "" : `still active:\n${renderSilences(others, timeZone)}`;
    return `ended ${countSilences(ended).join(" and ") || "0 silences"}\n${rest}`;
  });
}

const FOR_MS_DEFAULT = 3_600_000;
