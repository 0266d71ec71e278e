import { parseIntervalText } from "../../config/interval.ts";
import type { Silence } from "../../domain/outbox.ts";
import type { System } from "../../domain/system.ts";
import {
  type Command,
  CONFIG_OPTION,
  type Invocation,
  optionValue,
  UsageError,
} from "../command_definition.ts";
import { isEverything, readSelection, selectChecks, TAG_OPTION } from "../open_config.ts";
import { EXIT } from "../exit_code.ts";
import { checksOfState, openKnownConfig } from "../known_config.ts";
import { parseTime, type TimeContext, timeText } from "../../shared/local_time.ts";
import { printable } from "../../shared/printable.ts";
import { besideState, STATE_OPTION, warnOfMissing } from "../state.ts";

/** `monitor silence`: suppresses notifications for a while. */
export const silenceCommand: Command = {
  name: "silence",
  summary: "suppress notifications for a while; end a silence",
  operands: "[NAME…]",
  operandsMax: Infinity,
  operandKind: "check",
  description:
    "Suppresses the notifications of the named checks, or of all with --all, for an hour unless told otherwise. The " +
    "checks still run. A running monitor honors it at once. What is still true when the silence is over is notified " +
    "within half a minute. A further silence of a check replaces its earlier one.",
  options: [
    CONFIG_OPTION,
    STATE_OPTION,
    TAG_OPTION,
    { name: "all", description: "all checks" },
    { name: "for", value: "INTERVAL", description: 'how long, such as "2 hours" or 90m (default: 1 hour)' },
    {
      name: "until",
      value: "TIME",
      description: "local end time, such as 18:30, 2026-12-24 or 2026-12-24T08:00",
    },
    { name: "reason", value: "TEXT", description: "why, for those who see it in the list" },
    { name: "end", description: "end the silences of the named checks, or of all with --all" },
    { name: "list", description: "list what is silenced" },
  ],
  examples: [
    ["monitor silence web --for 2h --reason deploy", "one check"],
    ["monitor silence --tag web --for 2h", "the checks that are tagged so by now"],
    ["monitor silence --all --until 18:30", "every check"],
    ["monitor silence --end web", "let it speak again"],
    ["monitor silence --list", "what is silenced now"],
  ],
  uses: ["read", "write", "env", "sys"],
  endings: ["done", "name", "state", "permission", "config"],
  run: runSilence,
};

const FOR_MS_DEFAULT = 3_600_000;

async function runSilence(invocation: Invocation, system: System): Promise<number> {
  const { options } = invocation;
  const isAll = options.has("all");
  const isList = options.has("list");
  const selection = readSelection(invocation);
  if (isList && (isAll || !isEverything(selection) || options.has("end"))) {
    throw new UsageError("--list stands alone");
  }
  if (isAll && !isEverything(selection)) throw new UsageError("--all excludes names of checks and --tag");
  if (!isList && !isAll && isEverything(selection)) {
    throw new UsageError(
      "silence needs the names of checks, --tag or --all",
      "monitor silence NAME --for 1h",
    );
  }
  const { config, place } = await openKnownConfig(invocation, selection, system);
  const configured = config === null ? null : selectChecks(config.checks, selection);
  const nowMs = system.clock.wallMs();
  // Before the state is touched: a wrong time is wrong usage.
  const timeZone = system.timeZone();
  const untilMs = readEnd(invocation, { timeZone, nowMs });
  await warnOfMissing(place, system);
  const store = await besideState(place, system);
  try {
    const checks = configured ??
      selectChecks(checksOfState(await store.monitorRun(), await store.records()), selection);
    const names: readonly (string | null)[] = isAll ? [null] : checks.map((check) => check.name);
    if (isList) {
      system.stdout.write(renderList(await store.silences(nowMs), timeZone));
    } else if (options.has("end")) {
      const ended = await store.endSilences(isAll ? "all" : names, nowMs);
      system.stdout.write(`ended ${ended} ${ended === 1 ? "silence" : "silences"}\n`);
      const others = (await store.silences(nowMs)).filter(({ check }) => check === null);
      if (others.length > 0) system.stdout.write(`still in force:\n${renderList(others, timeZone)}`);
    } else {
      const reason = optionValue(invocation, "reason") ?? "";
      const silences = names.map((check): Silence => ({
        // The same for each silence of a check, so that a second one replaces the first.
        id: check === null ? "all checks" : `check ${check}`,
        check,
        fromMs: nowMs,
        untilMs,
        reason,
      }));
      await store.addSilences(silences);
      system.stdout.write(renderList(silences, timeZone));
    }
  } finally {
    await store.close();
  }
  return EXIT.ok;
}

function readEnd(invocation: Invocation, context: TimeContext): number {
  const length = optionValue(invocation, "for");
  const until = optionValue(invocation, "until");
  if (length !== undefined && until !== undefined) {
    throw new UsageError("--for and --until exclude each other");
  }
  if (until !== undefined) return readUntil(until, context);
  if (length === undefined) return context.nowMs + FOR_MS_DEFAULT;
  const interval = parseIntervalText(length);
  if ("ms" in interval) return context.nowMs + interval.ms;
  throw new UsageError(`--for ${JSON.stringify(length)} ${interval.problem}`, hintForUnit(length));
}

function hintForUnit(length: string): string | undefined {
  const count = /^\s*0*([1-9]\d*)\s*$/.exec(length)?.[1];
  return count && `did you mean "${count} ${count === "1" ? "hour" : "hours"}"?`;
}

function readUntil(text: string, context: TimeContext): number {
  const ms = parseTime(text, context);
  if (ms === null) {
    throw new UsageError(`--until is "${text}", expected a time such as 18:30 or 2026-12-24T08:00`);
  }
  if (ms === "no such time") throw new UsageError(`--until is "${text}", a time that does not exist`);
  if (ms <= context.nowMs) throw new UsageError(`--until is "${text}", which is past`);
  return ms;
}

function renderList(silences: readonly Silence[], timeZone: string): string {
  if (silences.length === 0) return "nothing is silenced\n";
  return silences.map((silence) => describeSilence(silence, timeZone)).join("");
}

function describeSilence({ check, untilMs, reason }: Silence, timeZone: string): string {
  const until = timeText(untilMs, timeZone);
  const why = reason === "" ? "" : ` (${reason})`;
  return printable(`${check === null ? "all checks" : check}: silent until ${until}${why}`) + "\n";
}
