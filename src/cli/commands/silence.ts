import { type Command, option, UsageError } from "../command_definition.ts";
import { UNTIL_OK_MS_MAX } from "../../engine/silences.ts";
import { isEverything, readSelection } from "../open_config.ts";
import { EXIT } from "../exit_code.ts";
import {
  addChosen,
  chooseProblems,
  readEnd,
  readSilences,
  renderSilences,
  requireTargets,
  SILENCE_COMMAND,
  targetOptions,
  UNTIL_OPTION,
  withSilences,
} from "../silence_targets.ts";

export const silenceCommand: Command = {
  ...SILENCE_COMMAND,
  name: "silence",
  summary: "suppress notifications for a while",
  description:
    "Suppresses notifications of the named or tagged checks, or with --all of every check. The checks still run. " +
    "A running monitor applies it at once. When the silence ends, a problem that persists is sent within half a " +
    "minute. A new silence of a check replaces its old one.",
  options: [
    ...targetOptions("every check"),
    option("--for INTERVAL", 'duration, such as "2 hours" or 90m (default: 1 hour)'),
    UNTIL_OPTION,
    option("--until-ok", "until the problem that each check has now has recovered"),
    option("--reason TEXT", "reason, shown by --list and status"),
    option("--list", "list of the current silences"),
  ],
  examples: [
    ["monitor silence web --for 2h --reason deploy", "silence one check"],
    ["monitor silence --tag web --for 2h", "silence the checks with a tag"],
    ["monitor silence --all --until 18:30", "silence every check"],
    ["monitor silence web --until-ok", "silence a problem until it has recovered"],
    ["monitor silence --list", "list the current silences"],
  ],
  replaced: { "--end": "monitor unsilence" },
  run: async (invocation, system) => {
    const { options } = invocation;
    const isList = options.has("list");
    if (isList && (options.has("all") || !isEverything(readSelection(invocation)))) {
      throw new UsageError("--list cannot be combined with names of checks, --tag or --all");
    }
    if (!isList) requireTargets(invocation, "monitor silence NAME --for 1h");
    const nowMs = system.clock.wallMs();
    // Before the state is opened: a wrong time is a usage error.
    const timeZone = system.timeZone();
    const untilOk = options.has("until-ok");
    const untilMs = readEnd(invocation, { timeZone, nowMs }) ??
      nowMs + (untilOk ? UNTIL_OK_MS_MAX : FOR_MS_DEFAULT);
    await withSilences(invocation, system, async ({ store, names }) => {
      if (isList) return renderSilences(await readSilences(store, nowMs), timeZone) || "no silences\n";
      const chosen = untilOk
        ? chooseProblems(await store.records(), names)
        : { chosen: names.map((check) => ({ check, problemBeganAtMs: null })), without: [] };
      const reason = invocation.text("reason") ?? "";
      return await addChosen(store, chosen, { kind: "silence", fromMs: nowMs, untilMs, reason, timeZone });
    });
    return EXIT.ok;
  },
};

const FOR_MS_DEFAULT = 3_600_000;
