import { type Command, EXIT, OPTION, option, UsageError } from "../command_definition.ts";
import { pathFromHere } from "../../config/source.ts";
import { isEverything, readSelection, selectChecks } from "../open_config.ts";
import { writeError } from "../failure.ts";
import { openKnownState } from "../known_config.ts";
import { pageFacts } from "../../outputs/html_report/snapshot.ts";

export const reportCommand: Command = {
  name: "report",
  group: "look",
  summary: "write an HTML report of every check",
  operands: "[NAME…]",
  description:
    "Writes one self-contained HTML page from the state, problems first. It shows the condition, availability, durations and " +
    'last changes of every check, or of the named or tagged ones. The key "report" of the config keeps a report up to date.',
  page: "guides/html_report.md",
  options: [
    OPTION.config,
    OPTION.state,
    OPTION.tag,
    option("-o, --output FILE", "output file, or - for stdout (default: -)"),
    option("--public TAG", "only checks with TAG, without outputs, host name and config", {
      names: "tags",
      repeatable: true,
    }),
  ],
  examples: [
    ["monitor report -o monitor.html", "write every check to a file"],
    ["monitor report -o web.html web shop", "write two checks"],
    ["monitor report -o status.html --public web", "write a status page for everybody"],
  ],
  endings: ["done", "name", "state", "permission", "config"],
  uses: ["read", "write", "net", "env", "sys"],
  run: async (invocation, system) => {
    const output = invocation.text("output") ?? "-";
    if (output === "") throw new UsageError("--output is empty, expected a file or -");
    const selection = readSelection(invocation);
    await using known = await openKnownState(invocation, system);
    const { config, error, label, store, checks, monitor } = known;
    const path = output === "-" ? null : pathFromHere(output, system);
    // Only a config without errors shows which files must not be overwritten.
    if (path !== null && error !== null) throw error;
    const clash = path === null ? null : await config?.clashOf(path) ?? null;
    if (clash !== null) throw new UsageError(`--output ${clash}`);
    const named = invocation.texts("public");
    if (config !== null) selectChecks(config.checks, { names: [], tags: named });
    // Written over the file that the config keeps up to date, it must not show more than that.
    const kept = path !== null && path === config?.report?.path ? config.report : undefined;
    const { writeReport } = await import("../../outputs/html_report/write_report.ts");
    const facts = pageFacts({
      configLabel: label,
      text: config?.page ?? null,
      timeZone: (config ?? system).timeZone(),
      intervalMs: kept?.intervalMs ?? null,
      notRunning: monitor?.notRunning ?? null,
    }, system);
    const text = await writeReport({
      store,
      checks: selectChecks(checks, selection),
      isWhole: isEverything(selection),
      ...{ public: named.length > 0 ? named : kept?.public, facts, clock: system.clock },
    });
    if (path === null) system.stdout.write(text);
    else {
      await system.files.replace(path, text).catch((error) => {
        throw writeError(error, path);
      });
    }
    return EXIT.ok;
  },
};
