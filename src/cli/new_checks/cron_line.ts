import { nameFor } from "../../checks/targets.ts";
import { createCronReader } from "../../config/cron_times.ts";
import { exactDuration } from "../../domain/duration.ts";
import { shellWord } from "../../permissions/permission_flags.ts";
import { DAY_MS } from "../../shared/time_units.ts";
import { UsageError } from "../command_definition.ts";

/** A line of a crontab, as a job that checks in. */
export interface CronJob {
  /** After its command. */
  readonly name: string;
  readonly command: string;
  /** Which crontab the line is in. */
  readonly place: string;
  /** The longest time between two runs, as the config accepts it. */
  readonly every: string;
  /** The line with its command behind the words of `monitor beat`. */
  lineBehind(words: readonly string[]): string;
}

const LINE = /^\s*(@\w+|\S+(?:\s+\S+){4})\s+(\S.*)$/;
const FIELDS = /^(?:@\w+|[\d*/,\-\s\w?#]+)$/;

/**
 * Reads a line of a crontab; `null`: it is none. A line of `/etc/crontab` and `/etc/cron.d` has a user, which is only
 * recognized if it is `root`.
 *
 * @throws {UsageError} If its schedule has no times.
 */
export function readCronLine(
  line: string,
  { hasUser = false, place = "the crontab" } = {},
): CronJob | null {
  const [, schedule = "", rest = ""] = LINE.exec(line) ?? [];
  if (!/^[@\d*]/.test(schedule) || !FIELDS.test(schedule)) return null;
  const [, user = "", command = ""] = (hasUser ? /^(\S+\s+)(.*)$/ : /^(root\s+)?(.*)$/).exec(rest) ?? [];
  const name = nameOfCommand(command);
  return {
    name,
    command,
    place,
    every: exactDuration(longestGapMs(schedule)),
    lineBehind: (words) => `${schedule} ${user}${words.map(shellWord).join(" ")} ${asArguments(command)}`,
  };
}

/** The start of the simulation: a Friday, so that it soon reaches a weekend. */
const START_MS = Date.UTC(2026, 0, 2);
const SPAN_MS = 2 * 366 * DAY_MS;
const TIMES_MAX = 2000;

function longestGapMs(schedule: string): number {
  let gapMs = 0;
  try {
    // Days of 24 hours: what DST adds is within the grace.
    const times = createCronReader()(schedule.replace(/^@midnight$/i, "@daily"), "UTC");
    if (times === null) throw new RangeError("It never comes");
    let atMs = times.after(START_MS);
    for (let count = 0; count < TIMES_MAX && (count < 2 || atMs < START_MS + SPAN_MS); count++) {
      const nextMs = times.after(atMs);
      gapMs = Math.max(gapMs, nextMs - atMs);
      atMs = nextMs;
    }
  } catch {
    throw new UsageError(
      `"${schedule}" has no times, expected five fields of cron, or a name such as @daily`,
    );
  }
  return gapMs;
}

/** Words that only a shell understands. */
const SHELL_WORDS: ReadonlySet<string> = new Set(
  [
    "[",
    ".",
    ":",
    "cd",
    "eval",
    "exec",
    "export",
    "for",
    "if",
    "set",
    "source",
    "test",
    "ulimit",
    "umask",
    "while",
  ],
);

/** The command as arguments. What cron sends on stdin, behind the first `%`, stays at the end of the line. */
function asArguments(command: string): string {
  const [, plain = "", input = ""] = /^((?:\\.|[^%\\])*)(%.*)?$/s.exec(command) ?? [, command];
  const [first = ""] = plain.split(/\s+/);
  const isPlain = /^[\w@%+=:,./ \\-]+$/.test(plain) && !first.includes("=") && !SHELL_WORDS.has(first);
  return (isPlain ? plain : `sh -c ${shellWord(plain.trimEnd())}`) + input;
}

/** The beginning of a command that only decides where and whether it runs. */
const GUARD = /^(?:(?:cd|test|\[)\s[^;&|]*(?:&&|\|\||;)\s*)+/;

/** The first word that is no variable, shell word or option; the name of a script without its ending. */
function nameOfCommand(command: string): string {
  const words = command.replace(GUARD, "").split(/[\s;&|()]+/).filter((word) =>
    /^[\w/.]/.test(word) && !word.includes("=")
  );
  const first = words.find((word) => !PREFIXES.has(word)) ?? "";
  return nameFor((first.split("/").at(-1) ?? "").replace(/(?<=.)\.\w+$/, ""));
}

/** Commands that run another one. */
const PREFIXES: ReadonlySet<string> = new Set([
  ...SHELL_WORDS,
  "env",
  "flock",
  "ionice",
  "nice",
  "sh",
  "sudo",
  "timeout",
]);
