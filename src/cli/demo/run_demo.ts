import { channelEntryOf } from "../../channels/registry.ts";
import { combinedChecks } from "../../domain/check.ts";
import { type ListenAddress, ListenError, type ServeOptions } from "../../domain/http_servers.ts";
import { hostAndPort } from "../../domain/runtime_permissions.ts";
import type { Log, System } from "../../domain/system.ts";
import { type CheckRunner, RUN_HERE } from "../../scheduler/run_checks.ts";
import { counted, printable } from "../../shared/text.ts";
import { toScheduled } from "../check/reload.ts";
import { type ServiceParts, startParts } from "../check/service_parts.ts";
import { readCheckSettings } from "../check/settings.ts";
import { Invocation } from "../command_definition.ts";
import { createLog } from "../create_log.ts";
import { EXIT } from "../exit_code.ts";
import { type DemoCheck, demoChecks } from "./demo_checks.ts";
import { makeHistory, seemToDeliver } from "./demo_history.ts";
import { DemoPlan } from "./demo_plan.ts";
import type { Config } from "../../domain/generated/written_config.ts";
import { type OpenConfig, openConfigAt } from "../open_config.ts";

/**
 * Runs the service with invented checks until a stop signal. It opens only its listening socket.
 *
 * @throws {ListenError} If it can't listen.
 */
export async function runDemo(address: ListenAddress, machine: System): Promise<number> {
  // An address in use is found before the history is made.
  const { httpServers } = machine;
  await hinting(httpServers.listen(address, NO_PAGE).then((server) => server.close()));
  const stopped = Promise.withResolvers<void>();
  const endSignals = machine.onStopSignal(() => stopped.resolve());
  const system: System = { ...machine, hostName: () => "demo" };
  try {
    const parts = await startDemo(hostAndPort(address.host, address.port), { system, onBug: stopped.reject });
    try {
      await hinting(parts.outputs.listen());
      await stopped.promise;
      return EXIT.ok;
    } finally {
      await parts.scheduler.stop(0);
      await parts.sender.stop();
      await parts.outputs.end();
    }
  } finally {
    endSignals();
  }
}

async function startDemo(
  address: string,
  { system, onBug }: { readonly system: System; onBug(error: unknown): void },
): Promise<ServiceParts> {
  const { clock } = system;
  const checks = demoChecks();
  const config = await openDemoConfig(
    demoConfig(checks, {
      listen: { address, interval: "5 seconds" },
      page: {
        title: "Status of example.org",
        url: `http://${address}/`,
        description: "A demonstration of monitor: every check and every result is invented.",
      },
    }),
    system,
  );
  const plan = new DemoPlan({ checks, startMs: clock.wallMs() });
  const store = await system.stores.openInMemory();
  await makeHistory({ store, config, checks, plan, system });
  const writeLine = (line: string): void => system.stdout.write(`${printable(line)}\n`);
  const scheduled = toScheduled(config, { names: [], tags: [] });
  const invocation = new Invocation({});
  const parts = await startParts({
    ...{ system, config, scheduled, invocation, writeLine, onBug },
    settings: readCheckSettings(invocation),
    log: demoLog(system, writeLine),
    state: {
      ...{ store, path: null, shared: null, lockPath: null },
      reopen: (error) => Promise.reject(error),
      whileLocked: (work) => work,
      close: () => store.close(),
    },
    onEvent: () => {},
    runner: demoRunner(plan, system),
    deliver: (channel, message, context) =>
      channel.name === "terminal"
        ? channelEntryOf(channel).deliver(message, channel, context)
        : Promise.resolve(seemToDeliver(channel, plan, clock.wallMs())),
  });
  writeLine(`${counted(checks.length, "check")} with 90 days of history, all invented; Ctrl-C ends it`);
  return parts;
}

function demoRunner(plan: DemoPlan, { clock }: System): CheckRunner {
  return {
    limitOf: () => Promise.resolve("none"),
    run: (check, options) => {
      if (combinedChecks(check).length > 0) return RUN_HERE.run(check, options);
      const { durationMs, ...result } = plan.resultOf(check.name, clock.wallMs());
      return Promise.resolve({ check, ...result, startedAtMs: clock.wallMs() - durationMs, durationMs });
    },
  };
}

const NO_PAGE: ServeOptions = {
  handle: () => Promise.resolve({ status: 503, headers: {}, body: "" }),
  onBug: () => {},
};

async function hinting(listening: Promise<void>): Promise<void> {
  try {
    await listening;
  } catch (error) {
    if (!(error instanceof ListenError)) throw error;
    throw new ListenError(`${error.message}; choose another address with --listen`, { cause: error });
  }
}

/** Returns a log whose lines have no time: a person reads them. */
function demoLog({ stderr, clock }: System, writeLine: (line: string) => void): Log {
  const log = createLog({ sink: stderr, clock, level: "warning", format: "text" });
  return { ...log, info: writeLine };
}

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
