import type { System } from "../../domain/system.ts";
import { type Command, EXIT, OPTION, option, UsageError } from "../command_definition.ts";
import { counted, jsonDocument, printable } from "../../shared/text.ts";
import { askService } from "./run.ts";
import { describeDifference, describeFailedReload } from "../check/service_output.ts";
import { ConfigError } from "../../config/problem.ts";
import { OutputError } from "../failure.ts";

export const reloadCommand: Command = {
  name: "reload",
  group: "run",
  summary: "make the running monitor load its config again",
  description:
    "Makes the monitor that runs on this state load its config again, as SIGHUP does, and prints what changed. An invalid " +
    "config changes nothing. --plan first replays the last 7 days with both configs: the " +
    "edited file, and the one in use. It prints messages, nights with one, outages and mean delay of both, " +
    "messages that only one sends, and changed checks. Then it asks whether to reload. Without a terminal, and with " +
    "JSON, it reloads only with --yes.",
  page: "guides/systemd.md",
  options: [
    OPTION.config,
    OPTION.state,
    option("--plan", "compare the messages of the last 7 days, and ask before the reload"),
    option("--yes", "with --plan: reload without a prompt"),
    OPTION.format,
  ],
  examples: [
    ["monitor reload", "apply an edited config"],
    ["monitor reload --plan", "compare the messages before a reload"],
    ["monitor reload -c /etc/monitor/monitor.jsonc", "reload the monitor of one config"],
  ],
  uses: ["read", "write", "net", "env", "sys"],
  endings: ["done", "declined", "state", "permission", "config"],
  run: async (invocation, system) => {
    const format = invocation.reportFormat();
    if (invocation.has("yes") && !invocation.has("plan")) throw new UsageError("--yes requires --plan");
    const compare = invocation.has("plan") ? await import("../compare_replays.ts") : null;
    const plan = await compare?.planReload({ invocation, system });
    if (plan !== undefined) {
      if (format === "pretty") system.stdout.write(plan.text);
      const isAsked = format === "pretty" && system.terminal.isTerminal && system.stdout.isTerminal;
      const isConfirmed = invocation.has("yes") || isAsked && await isWanted(system);
      if (!isConfirmed) {
        const fields = { adopted: false, ...plan.difference, ...plan.fields };
        const text = `config not reloaded${isAsked ? "" : "; to reload it, add --yes"}\n`;
        system.stdout.write(format === "json" ? jsonDocument(fields) : text);
        return isAsked ? EXIT.declined : EXIT.ok;
      }
    }
    const response = await askService({ command: "reload" }, invocation, system);
    if (!("reload" in response)) throw new OutputError("error" in response ? response.error : "no response");
    const { reload } = response;
    if (format === "json") system.stdout.write(jsonDocument({ ...reload, ...plan?.fields }));
    if (!reload.adopted) {
      const hint = "see the errors with: monitor validate";
      throw new ConfigError(`config not reloaded: ${describeFailedReload(reload)}`, { hint });
    }
    const text = `config reloaded: ${counted(reload.checks, "check")}, ${describeDifference(reload)}`;
    if (format !== "json") system.stdout.write(printable(text) + "\n");
    return EXIT.ok;
  },
};

async function isWanted({ stdout, terminal }: Pick<System, "stdout" | "terminal">): Promise<boolean> {
  for (;;) {
    stdout.write("apply it (yes or no): ");
    const answer = (await terminal.readLine())?.trim().toLowerCase() ?? "no";
    if (["y", "yes"].includes(answer)) return true;
    if (["", "n", "no"].includes(answer)) return false;
    stdout.write("expected yes or no\n");
  }
}
