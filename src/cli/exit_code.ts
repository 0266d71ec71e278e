import { type Condition, CONDITION_CODES, highestSeverity, severity } from "../domain/condition.ts";

/** How the program ends, beside the conditions 0 to 3; numbers of 64 and more are those of BSD's sysexits. */
export const EXIT = {
  ok: 0,
  usage: 64,
  undelivered: 69,
  bug: 70,
  input_output: 74,
  held: 75,
  permission: 77,
  config: 78,
  interrupted: 130,
  terminated: 143,
} as const;

const CONDITIONS_MEANING = "ok, warning, critical, unknown";

/** Every way to end, in the order of the codes: the words of a command's help. */
const ENDINGS: Readonly<Record<Ending, readonly [codes: string, meaning: string]>> = {
  done: ["0", "it is done"],
  command: ["any", "with a command: that of the command, whatever else is wrong"],
  observed: ["0, 1, 2, 3", `highest severity in check --once: ${CONDITIONS_MEANING}`],
  confirmed: ["0, 1, 2, 3", `highest confirmed severity: ${CONDITIONS_MEANING}`],
  usage: ["64", "usage error"],
  name: ["64", "usage error, or an unknown or inactive check"],
  undelivered: ["69", "a notification was not delivered (where the conditions alone would exit 0)"],
  bug: ["70", "a bug in monitor"],
  output: ["74", "the output could not be written"],
  state: ["74", "the state could not be read or written, or the output could not be written"],
  held: ["75", "another monitor holds this state"],
  permission: ["77", "a permission the config needs was not granted"],
  config: ["78", "the config is invalid or cannot be read"],
  interrupted: ["130, 143", "interrupted or terminated before every check had a result"],
};

/** One way in which a command can end. */
export type Ending =
  | "done"
  | "command"
  | "observed"
  | "confirmed"
  | "usage"
  | "name"
  | "undelivered"
  | "bug"
  | "output"
  | "state"
  | "held"
  | "permission"
  | "config"
  | "interrupted";

/** What a help says of the exit codes of some endings. Wrong usage, a bug and a full disk may end every command. */
export function exitCodeHelp(
  endings: readonly Ending[],
): readonly (readonly [codes: string, meaning: string])[] {
  const all: readonly Ending[] = [
    ...endings,
    ...(endings.includes("name") ? [] : ["usage" as const]),
    ...(endings.includes("state") ? [] : ["output" as const]),
    "bug",
  ];
  const names = Object.keys(ENDINGS) as readonly Ending[];
  return names.filter((name) => all.includes(name)).map((name) => ENDINGS[name]);
}

/** The exit codes of the whole program. */
export const EXIT_CODE_HELP: readonly (readonly [codes: string, meaning: string])[] = [
  [
    "0, 1, 2, 3",
    `highest severity in check --once (of status: highest confirmed one): ${CONDITIONS_MEANING}`,
  ],
  ...exitCodeHelp(["name", "undelivered", "state", "held", "permission", "config", "interrupted"]),
];

/** Conditions that `--fail-on` takes. */
export const FAIL_ON_CONDITIONS = ["unknown", "warning", "critical"] as const;

/** The lowest severity that makes a run fail. `unknown` always does: it means that nobody looked. */
export type FailOn = typeof FAIL_ON_CONDITIONS[number];

/** Makes the rule that tells which conditions fail a run. */
export function failRule(failOn: FailOn): (condition: Condition) => boolean {
  return (condition) =>
    condition === "unknown" || (condition !== "ok" && severity(condition) >= severity(failOn));
}

/** The exit code of a run: that of the highest severity that fails it. */
export function exitCodeOf(
  conditions: readonly Condition[],
  fails: (condition: Condition) => boolean,
): number {
  return CONDITION_CODES[highestSeverity(conditions.filter(fails))];
}
