import {
  type Command,
  EXIT,
  Invocation,
  OPTION,
  option,
  type ReportFormat,
  UsageError,
} from "../command_definition.ts";
import { counted, jsonDocument, printable } from "../../shared/text.ts";
import type { Silence } from "../../domain/outbox.ts";
import type { Store } from "../../domain/store.ts";
import type { System } from "../../domain/system.ts";
import { describeNote, endedAt, isAbout, newWindow, windowId } from "../../engine/suppression.ts";
import { isoTime } from "../../shared/json_values.ts";
import { timeText } from "../../shared/local_time.ts";
import { isEverything, readSelection } from "../open_config.ts";
import {
  type Actions,
  inBrackets,
  requireTargets,
  runAction,
  SILENCE_COMMAND,
  UNTIL_OPTION,
  withSilences,
} from "./silence.ts";

const ACTIONS: Actions = {
  start: { call: start, options: ["tag", "all", "for", "until", "note", "id", "format"] },
  list: { call: list, options: ["format"] },
  end: { call: end, options: ["tag", "all", "id"] },
};

export const maintenanceCommand: Command = {
  ...SILENCE_COMMAND,
  name: "maintenance",
  group: "quiet",
  summary: "start or end a maintenance window",
  operands: "start|list|end [NAME…]",
  description:
    "start: opens a maintenance window of the named checks, of all checks with a tag, or of all checks. It ends by itself. " +
    "A running monitor applies it at once. Started twice, a check stays in maintenance until the later end. With the --id of " +
    "a window that is open, start replaces it. list: prints the started windows. end: ends those that were started for " +
    "the same names, tags or --all, or with the same --id.",
  page: "guides/schedules.md",
  options: [
    OPTION.config,
    OPTION.state,
    { ...OPTION.tag, description: "checks with this tag, also those added meanwhile (repeatable)" },
    option("--all", "every check"),
    option("--for INTERVAL", 'duration, such as "2 hours" or 90m'),
    UNTIL_OPTION,
    option("--note TEXT", "note, shown by list, status and the HTML report"),
    option("--id ID", "ID to end it with (default: a random one)"),
    OPTION.format,
  ],
  examples: [
    ["monitor maintenance start --tag web --for 2h --note deploy", "before a deployment"],
    ["monitor maintenance end --tag web", "after it"],
    ["monitor maintenance list --format json", "list the started windows"],
  ],
  run: async (invocation, system) => {
    if (await runAction(ACTIONS, invocation, system)) return EXIT.ok;
    const [word] = invocation.operands;
    const problem = word === undefined ? "missing start, list or end" : `maintenance has no action "${word}"`;
    throw new UsageError(problem, START_EXAMPLE);
  },
};

const START_EXAMPLE = "monitor maintenance start --tag web --for 2h";

async function start(invocation: Invocation, system: System): Promise<void> {
  requireTargets(invocation, START_EXAMPLE);
  const { tags, names } = readSelection(invocation);
  if (tags.length > 0 && names.length > 0) throw namesAndTags();
  if (!invocation.has("for") && !invocation.has("until")) {
    throw new UsageError("missing --for or --until", START_EXAMPLE);
  }
  const id = readId(invocation) ?? system.randomId().slice(0, RANDOM_LENGTH);
  const format = invocation.reportFormat();
  await withSilences(invocation, system, async ({ store, names: checks, timeZone, nowMs, by, ...end }) => {
    const untilMs = end.untilMs ?? nowMs;
    const targets: readonly Pick<Silence, "check" | "tag">[] = tags.length > 0
      ? tags.map((tag) => ({ check: null, tag }))
      : checks.map((check) => ({ check, tag: null }));
    const reason = invocation.text("note") ?? "";
    const made = targets.map((target) => newWindow(id, target, { fromMs: nowMs, untilMs, reason, by }));
    const started = [...new Map(made.map((window) => [window.id, window])).values()];
    const replaced = (await readWindows(store, nowMs)).filter((window) => windowId(window) === id);
    await store.addSilences([...endedAt(replaced, nowMs), ...started]);
    return render(started, timeZone, format);
  });
}

async function list(invocation: Invocation, system: System): Promise<void> {
  if (!isEverything(readSelection(invocation))) throw new UsageError("list accepts no names of checks");
  const format = invocation.reportFormat();
  await withSilences(invocation, system, async ({ store, timeZone, nowMs }) => {
    const windows = await readWindows(store, nowMs);
    return render(windows, timeZone, format) || "no started maintenance windows\n";
  });
}

async function end(invocation: Invocation, system: System): Promise<void> {
  const id = readId(invocation);
  const { tags, names } = readSelection(invocation);
  const hasTargets = invocation.has("all") || tags.length + names.length > 0;
  if (id === undefined) requireTargets(invocation, "monitor maintenance end --tag web");
  else if (hasTargets) throw new UsageError("--id cannot be used with names of checks, --tag or --all");
  if (tags.length > 0 && names.length > 0) throw namesAndTags();
  await withSilences(invocation, system, async ({ store, checks, timeZone, nowMs }) => {
    const isMeant = (window: Silence): boolean => {
      if (id !== undefined) return windowId(window) === id;
      if (window.tag !== null) return tags.includes(window.tag);
      return window.check === null ? invocation.has("all") : names.includes(window.check);
    };
    const windows = await readWindows(store, nowMs);
    const { meant = [], others = [] } = Object.groupBy(windows, (one) => isMeant(one) ? "meant" : "others");
    await store.addSilences(endedAt(meant, nowMs));
    const left = hasTargets ? others.filter((window) => checks.some((check) => isAbout(window, check))) : [];
    const count = new Set(meant.map(windowId)).size;
    const rest = left.length === 0 ? "" : `still active:\n${render(left, timeZone)}`;
    return `ended ${counted(count, "maintenance window")}\n${rest}`;
  });
}

function namesAndTags(): UsageError {
  return new UsageError("--tag cannot be used with names of checks");
}

const RANDOM_LENGTH = 8;
const ID = /^[\w.:@/+-]{1,100}$/;

/** @throws {UsageError} If the ID has other characters. */
function readId(invocation: Invocation): string | undefined {
  const id = invocation.text("id");
  if (id === undefined || ID.test(id)) return id;
  throw new UsageError(`--id is ${JSON.stringify(id)}, expected up to 100 of a-z A-Z 0-9 . : @ / + - _`);
}

async function readWindows(store: Pick<Store, "silences">, nowMs: number): Promise<readonly Silence[]> {
  return (await store.silences(nowMs)).filter(({ kind }) => kind === "maintenance");
}

/** Lists windows, one a line; without any, JSON is a list all the same. */
function render(windows: readonly Silence[], timeZone: string, format: ReportFormat = "pretty"): string {
  if (format === "json") {
    return jsonDocument(windows.map((window) => {
      const { check, tag, fromMs, untilMs, reason, by } = window;
      return { id: windowId(window), check, tag, from: isoTime(fromMs), until: isoTime(untilMs), reason, by };
    }));
  }
  return windows.map((window) => {
    const { check, tag, untilMs } = window;
    const target = tag === null ? check ?? "all checks" : `checks with the tag "${tag}"`;
    const until = timeText(untilMs, timeZone) + inBrackets(describeNote(window));
    return printable(`${target}: in maintenance until ${until}, ID ${windowId(window)}`) + "\n";
  }).join("");
}
