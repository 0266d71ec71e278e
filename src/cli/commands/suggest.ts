import { setListIn } from "../../config/add_entries.ts";
import { isObject } from "../../config/schema_view.ts";
import {
  type Outage,
  outagesOf,
  suggestDependencies,
  type SuggestedDependency,
} from "../../engine/suggested_dependencies.ts";
import { timeText } from "../../shared/local_time.ts";
import { printable, printableBlock } from "../../shared/text.ts";
import { allChanges } from "../../state/read_store.ts";
import { type Command, EXIT, OPTION, option, UsageError } from "../command_definition.ts";
import { hintOf } from "../failure.ts";
import { openStateOf } from "../known_config.ts";
import {
  type ConfigTarget,
  openTarget,
  permissionsOfWriting,
  rewriteText,
  writtenChecks,
} from "../new_checks/add_checks.ts";
import { type CommandContext, openConfigAt } from "../open_config.ts";
import { locateState } from "../open_state.ts";

const TIMES = 3;
/** The outages that are printed of each suggestion. */
const SHOWN_MAX = 5;

export const suggestCommand: Command = {
  name: "suggest",
  group: "set_up",
  summary: "suggest dependencies from the outages of the past",
  operands: "dependencies",
  description:
    'Prints "depends_on" of checks that failed in each outage of another check, with the times. The other one failed ' +
    "first, or is the ping of the same host. With --write, it writes them into the config; comments and layout stay. " +
    "The same history leads to the same suggestions.",
  page: "guides/common_causes.md",
  options: [
    OPTION.config,
    OPTION.state,
    option("--times COUNT", `fewest common outages (default: ${TIMES})`),
    option("--write", "write the suggestions into the config"),
  ],
  examples: [
    ["monitor suggest dependencies", "print the suggestions and their outages"],
    ["monitor suggest dependencies --write", "write them into the config"],
  ],
  endings: ["done", "nothing_stored", "state", "permission", "config"],
  run: async (invocation, system) => {
    const [what, ...others] = invocation.operands;
    if (what !== "dependencies" || others.length > 0) {
      throw new UsageError('suggest requires "dependencies"', "monitor suggest dependencies");
    }
    const times = invocation.count("times") ?? TIMES;
    const target = await openTarget({ invocation, system });
    const { config } = target;
    if (config === null) throw new UsageError("there is no config", "make one with: monitor init");
    const place = await locateState(invocation, config, system);
    await using state = await openStateOf({ config, place }, system);
    // The command has warned of that.
    if (state.store === null) return EXIT.nothing;
    const checks = config.checks.filter(({ active }) => active);
    const outages = new Map<string, readonly Outage[]>();
    for (const { name } of checks) {
      outages.set(name, outagesOf(await Array.fromAsync(allChanges(state.store, name))));
    }
    const suggestions = suggestDependencies({ checks, outagesOf: (name) => outages.get(name) ?? [], times });
    const timeZone = config.timeZone();
    system.stdout.write(suggestions.map((one) => printableBlock(describe(one, timeZone))).join(""));
    if (suggestions.length === 0) {
      const why = `no check failed in each outage of another one, ${times} times or more`;
      system.stdout.write(`no suggestions: ${why}\n`);
    } else if (invocation.has("write") && await write(suggestions, target, { invocation, system })) {
      const isRunning = state.monitor?.state === "running";
      if (isRunning) system.stdout.write(`${printable(hintOf(invocation, RELOAD))}\n`);
    }
    return EXIT.ok;
  },
};

function describe({ check, parent, shared, reason }: SuggestedDependency, timeZone: string): string {
  const [dependent, cause] = [JSON.stringify(check), JSON.stringify(parent)];
  const shown = shared.slice(-SHOWN_MAX).map((one) => {
    const seconds = Math.round((one.check.fromMs - one.parent.fromMs) / 1000);
    const when = seconds === 0 ? "at once" : seconds > 0 ? `${seconds} s later` : `${-seconds} s earlier`;
    return `  ${timeText(one.parent.fromMs, timeZone)} ${cause}, ${dependent} ${when}\n`;
  });
  const times = shared.length === 1 ? "once" : `${shared.length} times`;
  return `${dependent}: "depends_on": [${cause}]\n` +
    `  it failed in each outage of ${cause}, ${times}, which ${reason}\n${shown.join("")}`;
}

const RELOAD = "the running monitor uses them after: monitor reload";

/** Writes suggestions about checks that the config itself has; returns whether there were any. */
async function write(
  suggestions: readonly SuggestedDependency[],
  target: ConfigTarget,
  call: CommandContext,
) {
  const { system } = call;
  const configured = target.config?.files[0]?.written["checks"];
  const all = writtenChecks(target.config);
  let { text } = target;
  let count = 0;
  for (const [check, some] of Map.groupBy(suggestions, (one) => one.check)) {
    const own = isObject(configured) ? configured[check] : undefined;
    if (!isObject(own)) {
      const place = all.has(check) ? "it is in an included file" : 'it is made by "for_each"';
      system.stderr.write(`monitor: not written: ${printable(JSON.stringify(check))}: ${place}\n`);
      continue;
    }
    text = setListIn(text, ["checks", check], "depends_on", some.map(({ parent }) => parent));
    count += some.length;
  }
  if (count === 0) return false;
  await permissionsOfWriting(target, system);
  await openConfigAt({ path: target.path, label: target.label, named: true, text }, call);
  await rewriteText(target, text, system);
  const written = `${count} ${count === 1 ? "dependency" : "dependencies"}`;
  system.stdout.write(`wrote ${written} to ${printable(target.label)}\n`);
  return true;
}
