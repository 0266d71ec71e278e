import {
  type Command,
  exitCodeOf,
  failRule,
  type Invocation,
  OPTION,
  UsageError,
} from "../command_definition.ts";
import { jsonDocument, printable } from "../../shared/text.ts";
import type { CheckFields } from "../formats/json.ts";
import { OutputError } from "../failure.ts";
import { pathFromHere } from "../../config/source.ts";
import { type Check, isReported } from "../../domain/check.ts";
import { ControlSocketError } from "../../domain/http_servers.ts";
import type { System } from "../../domain/system.ts";
import { readServices } from "../../state/read_store.ts";
import type { ControlRequest, ControlResponse } from "../check/control.ts";
import { openKnownConfig } from "../known_config.ts";
import { isSameFile } from "../monitor_status.ts";
import { selectChecks } from "../open_config.ts";
import { readState } from "../open_state.ts";

export const runCommand: Command = {
  name: "run",
  group: "run",
  summary: "run checks now in the running monitor",
  operands: "NAME…",
  description:
    "Runs checks now in the monitor that runs on this state, and prints their results. They count like any other result: for " +
    "thresholds, notifications and history.",
  page: "guides/systemd.md",
  options: [OPTION.config, OPTION.state, OPTION.format],
  examples: [
    ["monitor run web", "run a check after a fix, without waiting for its schedule"],
    ["monitor run web mail --format json", "print the results as JSON"],
  ],
  uses: ["read", "write", "net", "env", "sys"],
  endings: ["ran", "name", "state", "permission", "config"],
  run: async (invocation, system) => {
    const names = [...new Set(invocation.operands)];
    if (names.length === 0) throw new UsageError("run requires the name of a check", "monitor run NAME");
    const format = invocation.reportFormat();
    const response = await askService({ command: "run", names }, invocation, system);
    if (!("results" in response)) throw new OutputError("error" in response ? response.error : "no response");
    const missing = names.filter((_, index) => response.results[index] === null);
    if (missing.length > 0) {
      const listed = missing.map((name) => `"${name}"`).join(", ");
      const problem = `the running monitor has no such check: ${listed}`;
      throw new UsageError(problem, "list them with: monitor status");
    }
    const results = response.results.filter((result) => result !== null);
    const lines = results.map((result) => `${describeResult(result)}\n`);
    system.stdout.write(format === "json" ? jsonDocument({ checks: results }) : lines.join(""));
    return exitCodeOf(results.map(({ condition }) => condition), failRule("warning"));
  },
};

function describeResult({ name, condition, output, confirmed, occurrences, threshold }: CheckFields): string {
  const said = `${condition.toUpperCase()} ${name}: ${output === "" ? "no output" : output}`;
  if (confirmed === condition) return printable(said);
  if (confirmed !== null) return printable(`${said} (confirmed: ${confirmed})`);
  return printable(`${said} (pending${occurrences === 0 ? "" : `: ${occurrences} of ${threshold}`})`);
}

/**
 * Sends a request to the service that runs on the state of a config, and returns its response.
 *
 * @throws {OutputError} If no service runs, it has no control socket, or it hangs.
 * @throws {UsageError} If it uses another config; if an agent runs a named check; or if members share the state, and a named check is not in the config.
 */
export async function askService(
  request: ControlRequest,
  invocation: Invocation,
  system: System,
): Promise<ControlResponse> {
  const { config, error, place, path } = await openKnownConfig(invocation, system);
  if (request.command === "run") refuseReported(request.names, config?.checks ?? []);
  const store = await readState(place, system);
  const run = await store?.monitorRun() ?? null;
  const members = await readServices(store);
  await store?.close();
  if (members !== null) {
    if (request.command === "run" && config !== null) {
      selectChecks(config.checks, { names: request.names, tags: [] });
    }
    const { describeShared } = await import("./members.ts");
    throw new OutputError(describeShared(request, members, config?.checks ?? []) ?? NOT_RUNNING);
  }
  if (run === null || run.mode !== "service" || run.ended !== null) throw new OutputError(NOT_RUNNING);
  const named = invocation.text("config");
  // A config that does not exist is another one, too.
  const asked = error?.source === null && named !== undefined ? pathFromHere(named, system) : path;
  const isAsked = named !== undefined || invocation.text("state") === undefined;
  const used = run.configPath;
  if (isAsked && asked !== null && used !== null && !await isSameFile(asked, used, system)) {
    throw new UsageError(
      `the monitor that runs on this state uses another config, "${used}" instead of "${asked}"`,
      `add -c ${used}; to use the other config, restart that monitor with it`,
    );
  }
  if (run.controlPath === null) {
    const remedy = request.command === "run"
      ? "make the directory of its state private and restart it"
      : "reload it with SIGHUP";
    throw new OutputError(`the running monitor has no control socket; ${remedy}`);
  }
  const response = await system.controlSockets.send(run.controlPath, JSON.stringify(request)).catch(
    (error: unknown) => {
      if (!(error instanceof ControlSocketError)) throw error;
      const process = run.processId === null ? "" : ` (process ${run.processId})`;
      throw new OutputError(`the running monitor${process} hangs: ${error.message}; restart it`);
    },
  );
  if (response === null || response === "") throw new OutputError(NOT_RUNNING);
  return JSON.parse(response) as ControlResponse;
}

/** Only the agent runs what it reports. */
function refuseReported(names: readonly string[], checks: readonly Check[]): void {
  const reported = checks.find((check) => names.includes(check.name) && isReported(check));
  if (reported === undefined) return;
  const { name, agent = "" } = reported;
  throw new UsageError(
    `the results of "${name}" come from agent "${agent}", which runs it`,
    `monitor run "${name}" on the machine of the agent`,
  );
}

const NOT_RUNNING = "no monitor runs on this state; start it with: monitor check";
