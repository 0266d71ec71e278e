import { type Command, EXIT, option } from "../command_definition.ts";
import { writeNew } from "../failure.ts";
import { STARTER_ADDRESS, STARTER_CONFIG } from "../starter_config.ts";
import { printable } from "../../shared/text.ts";

export const initCommand: Command = {
  name: "init",
  group: "start",
  summary: "write a starter config",
  operands: "[PATH]",
  operandKind: "path",
  description:
    "Writes a starter config with comments to PATH (default: ./monitor.jsonc). It is valid and runs unchanged.",
  page: "start/tutorial.md",
  options: [option("--force", "overwrite of an existing file")],
  examples: [
    ["monitor init", "write ./monitor.jsonc"],
    ["monitor init /etc/monitor/monitor.jsonc", "write the config of a service"],
  ],
  uses: ["read", "write", "env"],
  endings: ["done", "permission"],
  run: async (invocation, system) => {
    const path = invocation.operands[0] ?? "monitor.jsonc";
    await writeNew(path, STARTER_CONFIG, { ...system, overwrite: invocation.has("force") });
    const config = path === "monitor.jsonc" ? "" : ` -c ${printable(path)}`;
    system.stdout.write(
      `wrote ${printable(path)}\nrun every check once with: monitor check --once${config}\n` +
        `start the service, with its page at http://${STARTER_ADDRESS}/, with: monitor check${config}\n`,
    );
    return EXIT.ok;
  },
};
