import { isLoopback, parseListenAddress } from "../../shared/ip_address.ts";
import { type Command, option, UsageError } from "../command_definition.ts";
import { STARTER_ADDRESS } from "./init.ts";

export const demoCommand: Command = {
  name: "demo",
  group: "start",
  summary: "show a live page with invented checks",
  description:
    "Runs the service with 40 invented checks, whose conditions change while you watch, and with 90 days of history. " +
    "It needs no config, sends nothing, and uses no files and no network except its listening socket. Ctrl-C ends it.",
  page: "guides/live_view.md",
  options: [option("--listen ADDRESS", `loopback address of the page (default: ${STARTER_ADDRESS})`)],
  examples: [
    ["monitor demo", `show the page at http://${STARTER_ADDRESS}/`],
    ["monitor demo --listen 127.0.0.1:8080", "show the page at another port"],
  ],
  uses: ["net"],
  endings: ["state", "permission"],
  run: async (invocation, system) => {
    const address = invocation.text("listen") ?? STARTER_ADDRESS;
    const parsed = parseListenAddress(address);
    if (parsed === null || !isLoopback(parsed.host)) {
      const example = `such as ${STARTER_ADDRESS}`;
      throw new UsageError(`--listen is "${address}", expected a loopback address, ${example}`);
    }
    const { runDemo } = await import("../demo/run_demo.ts");
    return await runDemo(parsed, system);
  },
};
