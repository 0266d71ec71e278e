import { nameFor } from "../checks/targets.ts";
import { createCronReader } from "../config/cron_times.ts";
import { exactDuration } from "../domain/duration.ts";
import { shellWord } from "../shared/text.ts";
import { DAY_MS, HOUR_MS } from "../shared/time_units.ts";

/** A line of a crontab, as a job that checks in. */
export interface CronJob {
  readonly name: string;
  readonly command: string;
  readonly place: string;
  /** The longest time between two runs, as the config accepts it. */
  readonly every: string;
  readonly words: readonly string[];
  /** Returns the line with its command after the words of `monitor beat`. */
  lineBehind(words: readonly string[]): string;
}

/** A line of a crontab whose schedule has no times, such as `@reboot`. */
export class CronLineError extends Error {
  override readonly name = "CronLineError";
}

/** From here on a run may end later than usual: it took longer, or the hour of DST came in between. */
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
  const gapMs = longestGapMs(schedule);
  const every = exactDuration(gapMs);
  return {
    name,
    command,
    place,
    every,
    words: ["job", every, ...gapMs < LONG_MS ? [] : ["grace=2 hours"]],
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

/** The times of day are the same on each day that has some, so days and times are counted apart. */
function longestGapMs(schedule: string): number {
  const [minute = "", hour = "", ...days] = (NAMED[schedule.toLowerCase()] ?? schedule).split(/\s+/);
  try {
    const times = timesOf(`${minute} ${hour} * * *`, DAY_MS);
    const [first = 0] = times;
    const dayGapMs = days.every((field) => field === "*")
      ? DAY_MS
      : longestGapIn(timesOf(`0 0 ${days.join(" ")}`, 400 * DAY_MS));
    return Math.max(longestGapIn(times), dayGapMs - ((times.at(-1) ?? first) - first));
  } catch {
    const expected = "five fields of cron, or a name such as @daily";
    throw new CronLineError(`"${schedule}" has no times, expected ${expected}`);
  }
}

function longestGapIn(times: readonly number[]): number {
  return times.reduce((gapMs, timeMs, index) => Math.max(gapMs, timeMs - (times[index - 1] ?? timeMs)), 0);
}

/** The first day of the simulation; any day works. */
const START_MS = Date.UTC(2026, 0, 1);

/** The times in a span, and those of more than a day at least twice; the grace covers DST changes. */
function timesOf(expression: string, spanMs: number): readonly number[] {
  const times = createCronReader()(expression, "UTC");
  if (times === null) throw new RangeError("It never comes");
  const found: number[] = [];
  const isEnough = (timeMs: number): boolean =>
    timeMs >= START_MS + spanMs && (spanMs <= DAY_MS || found.length > 1);
  for (let timeMs = times.after(START_MS - 1); !isEnough(timeMs); timeMs = times.after(timeMs)) {
    found.push(timeMs);
  }
  return found;
}

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
