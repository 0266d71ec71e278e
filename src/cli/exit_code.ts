import { type Condition, CONDITION_CODES, highestSeverity, severity } from "../domain/condition.ts";

/** The exit codes in addition to the conditions 0 to 3; from 64 on they are those of BSD's sysexits. */
export const EXIT = {
  ok: 0,
  nothing: 1,
  differs: 1,
  declined: 1,
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
const ENDINGS = {
  done: ["0", "success"],
  nothing: ["1", "nothing imported"],
  nothing_stored: ["1", "no result is stored"],
  proven: ["1", "a check is not ok, or would notice too few faults"],
  differs: ["1", "messages that are not as expected"],
  declined: ["1", "config not reloaded: declined at the prompt"],
  command: ["any", "exit code of COMMAND (126: not executable, 127: not found, 128 + signal number)"],
  observed: ["0, 1, 2, 3", `highest severity, with --once: ${CONDITIONS_MEANING}`],
  ran: ["0, 1, 2, 3", `highest severity of the results: ${CONDITIONS_MEANING}`],
  tried: ["0, 1, 2, 3", `0, or with --dry-run the highest severity: ${CONDITIONS_MEANING}`],
  confirmed: ["0, 1, 2, 3", `highest confirmed severity: ${CONDITIONS_MEANING}`],
  usage: ["64", "usage error"],
  name: ["64", "usage error, or unknown or inactive check"],
  undelivered: ["69", "undelivered notification, if the exit code would be 0 otherwise"],
  bug: ["70", "bug in monitor"],
  output: ["74", "output not writable"],
  state: ["74", "state not readable or writable, or output not writable"],
  held: ["75", "state in use by another monitor"],
  permission: ["77", "missing permission"],
  config: ["78", "invalid or unreadable config"],
  interrupted: ["130, 143", "SIGINT or SIGTERM before every check had a result"],
} satisfies Readonly<Record<string, readonly [codes: string, meaning: string]>>;

export type Ending = keyof typeof ENDINGS;

/** The descriptions of exit codes in the help. A usage error, a bug and a full disk are possible for every command. */
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

export const EXIT_CODE_HELP: readonly (readonly [codes: string, meaning: string])[] = [
  [
    "0, 1, 2, 3",
    `highest severity of check --once and status: ${CONDITIONS_MEANING}`,
  ],
  ...exitCodeHelp(["name", "undelivered", "state", "held", "permission", "config", "interrupted"]),
];

export const FAIL_ON_CONDITIONS = ["unknown", "warning", "critical"] as const;

/** The lowest severity that fails a run. `unknown` always does: there is no data. */
export type FailOn = typeof FAIL_ON_CONDITIONS[number];

export function failRule(failOn: FailOn): (condition: Condition) => boolean {
  return (condition) =>
    condition === "unknown" || (condition !== "ok" && severity(condition) >= severity(failOn));
}

export function exitCodeOf(
  conditions: readonly Condition[],
  fails: (condition: Condition) => boolean,
): number {
  return CONDITION_CODES[highestSeverity(conditions.filter(fails))];
}
