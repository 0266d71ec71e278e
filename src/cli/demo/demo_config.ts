import type { Config } from "../../domain/generated/written_config.ts";
import type { System } from "../../domain/system.ts";
import { Invocation } from "../command_definition.ts";
import { type OpenConfig, openConfigAt } from "../open_config.ts";
import type { DemoCheck } from "./demo_checks.ts";

/** Returns the config of the demonstration, as a user would write it. */
export function demoConfig(
  checks: readonly DemoCheck[],
  others: Omit<Config, "defaults" | "channels" | "checks"> = {},
): Config {
  return {
    ...others,
    channels: {
      terminal: { kind: "console", parameters: {} },
      chat: { kind: "webhook", parameters: { target: "https://hooks.example.org/services/demo" } },
      mail: {
        kind: "email",
        parameters: {
          access: {
            host: "mail.example.org",
            port: 587,
            username: "monitor",
            password: "${env:MAIL_PASSWORD}",
          },
          sender: "monitor@example.org",
          receivers: ["operations@example.org"],
        },
      },
    },
    defaults: {
      threshold: 2,
      schedule: { regular_interval: "20 seconds", attentive_interval: "5 seconds" },
      notifications: ["terminal", "chat", "mail"],
    },
    checks: Object.fromEntries(checks.map(({ name, written }) => [name, written])),
  };
}

/** Opens a config without a file. Its placeholders are not resolved, and nothing of this machine is read. */
export async function openDemoConfig(config: Config, system: System): Promise<OpenConfig> {
  const text = JSON.stringify(config, null, 2);
  const source = { label: "demo", path: null, directory: "/", text, mode: null };
  return await openConfigAt({ path: "demo", named: true, sources: [source] }, {
    invocation: new Invocation({ options: new Map([["state", "none"]]) }),
    system,
    withoutSecrets: true,
  });
}
