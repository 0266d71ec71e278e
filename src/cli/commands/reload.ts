import { type Command, OPTION } from "../command_definition.ts";
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
    "config changes nothing.",
  page: "guides/systemd.md",
  options: [OPTION.config, OPTION.state, OPTION.format],
  examples: [
    ["monitor reload", "apply an edited config"],
    ["monitor reload -c /etc/monitor/monitor.jsonc", "reload the monitor of one config"],
  ],
  uses: ["read", "write", "net", "env", "sys"],
  endings: ["done", "state", "permission", "config"],
  run: async (invocation, system) => {
    const format = invocation.reportFormat();
    const response = await askService({ command: "reload" }, invocation, system);
    if (!("reload" in response)) throw new OutputError("error" in response ? response.error : "no response");
    const { reload } = response;
    if (format === "json") system.stdout.write(jsonDocument(reload));
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
