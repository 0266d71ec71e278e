import type { System } from "../../domain/system.ts";
import { type Command, OPTION, option } from "../command_definition.ts";
import { counted, jsonDocument, printable } from "../../shared/text.ts";
import { askService } from "../control_client.ts";
import { describeDifference, describeFailedReload } from "../check/service_output.ts";
import { EXIT } from "../exit_code.ts";
import { hintOf, OutputError } from "../failure.ts";

export const reloadCommand: Command = {
  name: "reload",
  summary: "make the running monitor load its config again",
  description:
    "Makes the monitor that runs on this state load its config again, as SIGHUP does, and prints what changed. An invalid " +
    "config changes nothing. --plan first plays the results of the last 7 days to both configs: the edited file, and the " +
    "one that the monitor uses. It prints messages, nights with one, outages and mean delay of both, and what only one " +
    "sends. At a terminal, it asks then.",
  page: "guides/systemd.md",
  options: [
    OPTION.config,
    OPTION.state,
    option("--plan", "before that, show what changes for the last 7 days"),
    OPTION.format,
  ],
  examples: [
    ["monitor reload", "apply an edited config"],
    ["monitor reload --plan", "see which messages change, then apply it"],
    ["monitor reload -c /etc/monitor/monitor.jsonc", "reload the monitor of one config"],
  ],
  uses: ["read", "write", "net", "env", "sys"],
  endings: ["done", "state", "permission", "config"],
  run: async (invocation, system) => {
    const format = invocation.reportFormat();
    const isPlanned = invocation.has("plan");
    const plan = isPlanned
      ? await (await import("../rehearsal/reload_plan.ts")).planReload({ invocation, system })
      : null;
    if (isPlanned && format === "pretty") {
      system.stdout.write(plan === null ? "" : `${plan.text}\n`);
      if (!await isWanted(system)) {
        system.stdout.write("config not reloaded\n");
        return EXIT.ok;
      }
    }
    const response = await askService({ command: "reload" }, invocation, system);
    if (!("reload" in response)) throw new OutputError("error" in response ? response.error : "no response");
    const { reload } = response;
    if (format === "json") {
      system.stdout.write(jsonDocument({ ...reload, ...isPlanned && { plan: plan?.fields ?? null } }));
    }
    if (!reload.adopted) {
      system.stderr.write(
        `monitor: error: config not reloaded: ${printable(describeFailedReload(reload))}\n`,
      );
      const hint = hintOf(invocation, "see the errors with: monitor validate");
      system.stderr.write(`monitor: hint: ${printable(hint)}\n`);
      return EXIT.config;
    }
    if (format === "json") return EXIT.ok;
    system.stdout.write(
      printable(`config reloaded: ${counted(reload.checks, "check")}, ${describeDifference(reload)}`) + "\n",
    );
    return EXIT.ok;
  },
};

/** Asks at a terminal whether to apply what was shown; without one, it is. */
async function isWanted({ stdout, terminal }: Pick<System, "stdout" | "terminal">): Promise<boolean> {
  if (!terminal.isTerminal || !stdout.isTerminal) return true;
  for (;;) {
    stdout.write("apply it (yes or no): ");
    const answer = (await terminal.readLine())?.trim().toLowerCase() ?? "no";
    if (["y", "yes"].includes(answer)) return true;
    if (["", "n", "no"].includes(answer)) return false;
    stdout.write("expected yes or no\n");
  }
}
