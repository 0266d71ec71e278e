import { nameFor } from "../checks/targets.ts";
import { createCronReader } from "../config/cron_times.ts";
import { shellWord } from "../shared/text.ts";
import { HOUR_MS } from "../shared/time_units.ts";

export interface CronJob {
  readonly name: string;
  readonly command: string;
  readonly place: string;
  /** Its schedule, as the config accepts it. */
  readonly cron: string;
  readonly words: readonly string[];
  /** Returns the line with its command after the words of `monitor beat`. */
  lineBehind(words: readonly string[]): string;
}

/** A line of a crontab whose schedule has no times, such as `@reboot`. */
export class CronLineError extends Error {
  override readonly name = "CronLineError";
}

/** From here on a run may take hours. */
const LONG_MS = 6 * HOUR_MS;

const LINE = /^\s*(@\w+|\S+(?:\s+\S+){4})\s+(\S.*)$/;
const FIELDS = /^(?:@\w+|[\d*/,\-\s\w?#]+)$/;

/**
 * Reads a line of a crontab; `null`: it is none. A line of `/etc/crontab` and `/etc/cron.d` has a user, which is only
 * recognized if it is `root`.
 *
 * @throws {CronLineError} If its schedule has no times.
 */
export function readCronLine(line: string, { hasUser = false, place = "the crontab" } = {}): CronJob | null {
  const [, schedule = "", rest = ""] = LINE.exec(line) ?? [];
  if (!/^[@\d*]/.test(schedule) || !FIELDS.test(schedule)) return null;
  const [, user = "", command = ""] = (hasUser ? /^(\S+\s+)(.*)$/ : /^(root\s+)?(.*)$/).exec(rest) ?? [];
  const name = nameOfCommand(command);
  const cron = NAMED[schedule.toLowerCase()] ?? schedule.split(/\s+/).join(" ");
  return {
    name,
    command,
    place,
    cron,
    words: ["job", cron, ...firstGapMs(cron) < LONG_MS ? [] : ["grace=2 hours"]],
    lineBehind: (words) => `${schedule} ${user}${words.map(shellWord).join(" ")} ${asArguments(command)}`,
  };
}

const NAMED: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};

/** Returns the time between the first two runs of a schedule of five fields. */
function firstGapMs(fields: string): number {
  try {
    const times = createCronReader()(fields, "UTC");
    if (times === null) throw new RangeError("It never comes");
    const firstMs = times.after(START_MS);
    return times.after(firstMs) - firstMs;
  } catch {
    const expected = "five fields of cron, or a name such as @daily";
    throw new CronLineError(`"${fields}" has no times, expected ${expected}`);
  }
}

const START_MS = Date.UTC(2026, 0, 1);

/** Words that only a shell understands. */
const SHELL_WORDS: ReadonlySet<string> = new Set(
  "[ . : cd eval exec export for if set source test ulimit umask while".split(" "),
);

/** Returns the command as arguments. The stdin that cron sends, after the first `%`, stays at the end of the line. */
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

const PREFIXES: ReadonlySet<string> = new Set(
  [...SHELL_WORDS, ..."env flock ionice nice sh sudo timeout".split(" ")],
);
