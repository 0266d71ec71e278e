import { type Command, EXIT, Invocation, option, UsageError } from "../command_definition.ts";
import type { System } from "../../domain/system.ts";
import { countSilences } from "../../outputs/outbox_status.ts";
import { UNTIL_OK_MS_MAX } from "../../engine/silences.ts";
import { isEverything, readSelection } from "../open_config.ts";
import {
  addChosen,
  chooseProblems,
  readSilences,
  rejectOptions,
  renderSilences,
  requireTargets,
  SILENCE_COMMAND,
  targetOptions,
  UNTIL_OPTION,
  withSilences,
} from "../silence_targets.ts";

const ACTIONS = ["list", "end"] as const;

export const silenceCommand: Command = {
  ...SILENCE_COMMAND,
  name: "silence",
  group: "quiet",
  summary: "suppress notifications for a while; list and end silences",
  operands: "[list|end] [NAME…]",
  operandKind: { first: ACTIONS, then: "check", orNames: true },
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
    const [word, ...operands] = invocation.operands;
    const action = ACTIONS.find((one) => one === word);
    if (action === undefined) await start(invocation, system);
    else {
      rejectOptions(invocation, action, OPTIONS[action]);
      await CALLS[action](new Invocation({ ...invocation, operands }), system);
    }
    return EXIT.ok;
  },
};

const OPTIONS = { list: [], end: ["tag", "all"] } as const;
const CALLS = { list, end } as const;

async function start(invocation: Invocation, system: System): Promise<void> {
  requireTargets(invocation, "monitor silence NAME --for 1h");
  const untilOk = invocation.has("until-ok");
  await withSilences(invocation, system, async (targets) => {
    const { store, names, nowMs } = targets;
    const untilMs = targets.untilMs ?? nowMs + (untilOk ? UNTIL_OK_MS_MAX : FOR_MS_DEFAULT);
    const chosen = untilOk
      ? chooseProblems(await store.records(), names)
      : { chosen: names.map((check) => ({ check, problemBeganAtMs: null })), without: [] };
    return await addChosen(targets, chosen, {
      kind: "silence",
      untilMs,
      reason: invocation.text("reason") ?? "",
    });
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
