import { type CheckOf, type CheckResult, checkResult, unknownResult } from "../domain/check.ts";
import { highestSeverity } from "../domain/condition.ts";
import type { NetworkInterfaceParameters } from "../domain/generated/config.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/check_kind.ts";
import { parseJson } from "../shared/json_values.ts";
import { quote } from "../shared/text.ts";
import { SECOND_MS } from "../shared/time_units.ts";
import { describeFailure, runCommand } from "./system_command.ts";
import { evaluateMeasures, type Measure, thresholdsOf, thresholdWarnings } from "./thresholds.ts";

export const networkInterfaceKind: CheckKindEntry<"network_interface"> = {
  observe: observeInterface,
  limit: "process",
  withoutLocations: "an interface is one of this machine, and the check runs at no location",
  target: {
    form: "NAME",
    parametersOf: ({ text }) => ({ name: text }),
    subjectsOf: ({ parameters: { name } }) => [`network interface ${name}`],
    textOf: ({ parameters: { name } }) => name,
    goesDown: true,
  },
  warnings: ({ parameters: { received, sent, errors } }) => thresholdWarnings({ received, sent, errors }),
  requiredPermissions: ({ parameters }) => ({ run: [commandOf(parameters)] }),
};

/** What an interface counted since the machine or the interface started. */
interface Counters {
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** Damaged and dropped packets in both directions. */
  readonly errors: number;
}

interface KeptCounters extends Counters {
  readonly host: string;
  readonly name: string;
  readonly atMs: number;
}

async function observeInterface(
  { parameters, timeoutMs }: CheckOf<"network_interface">,
  context: ObserveContext,
): Promise<CheckResult> {
  const { system: { clock, hostName, platform }, memory } = context;
  if (platform !== "linux") return unknownResult("only Linux has ip, which lists the interfaces");
  const { name } = parameters;
  const words = ["-j", "-s", "link", "show", "dev", name];
  const command = { path: commandOf(parameters), timeoutMs, arguments: words };
  const end = await runCommand(command, context);
  if (end.ended === "exited" && /does not exist/.test(end.stderr.text)) {
    return checkResult("critical", `the interface ${quote(name)} does not exist`);
  }
  const reason = describeFailure(end, command);
  if (reason !== null || end.ended !== "exited") return unknownResult(reason ?? "");
  const link = readLink(end.stdout.text);
  if (link === null) {
    const wish = "iproute2 4.13 or later is required";
    return unknownResult(`${quote(command.path)} printed no JSON of an interface: ${wish}`);
  }
  const { counters, isUp } = link;
  const kept: KeptCounters = { ...counters, host: hostName(), name, atMs: clock.wallMs() };
  const state = checkResult(isUp ? "ok" : "critical", isUp ? "up" : "down");
  const measures = measuresOf(kept, memory ?? null, parameters);
  if (measures !== null) {
    const { condition, output, metrics } = evaluateMeasures(measures);
    return {
      ...checkResult(highestSeverity([state.condition, condition]), `${state.output}; ${output}`, metrics),
      ...memory !== undefined && { memory: JSON.stringify(kept) },
    };
  }
  const isComplete = !isUp || [parameters.received, parameters.sent, parameters.errors]
    .every((thresholds) => Object.keys(thresholds).length === 0);
  if (memory === undefined) {
    const reason = "up; no rates: no state is stored, and they are those since the last run";
    return isComplete ? state : unknownResult(reason);
  }
  const awaited = { ...unknownResult("up; the next run has the first rates"), awaits: "checks" as const };
  return { ...isComplete ? state : awaited, memory: JSON.stringify(kept) };
}

/** `null`: there are no earlier counters of the interface on this machine since it started. */
function measuresOf(
  now: KeptCounters,
  memory: string | null,
  { received, sent, errors }: NetworkInterfaceParameters,
): readonly Measure[] | null {
  const before: KeptCounters | null = memory === null ? null : JSON.parse(memory);
  if (before === null || before.host !== now.host || before.name !== now.name) return null;
  const seconds = (now.atMs - before.atMs) / SECOND_MS;
  const counted = {
    received: now.receivedBytes - before.receivedBytes,
    sent: now.sentBytes - before.sentBytes,
    errors: now.errors - before.errors,
  };
  if (seconds <= 0 || Object.values(counted).some((value) => value < 0)) return null;
  const rate = (direction: "received" | "sent", thresholds: object): Measure => ({
    name: `${direction}_per_second`,
    value: counted[direction] / seconds,
    unit: "bytes",
    thresholds: thresholdsOf(thresholds),
  });
  return [
    rate("received", received),
    rate("sent", sent),
    { name: "errors", value: counted.errors, unit: "number", thresholds: errors },
  ];
}

interface PrintedLink {
  readonly flags?: readonly string[];
  readonly stats64?: Readonly<Record<"rx" | "tx", Readonly<Record<string, number>> | undefined>>;
}

function readLink(text: string): { readonly isUp: boolean; readonly counters: Counters } | null {
  const printed = parseJson(text);
  const [link]: readonly PrintedLink[] = Array.isArray(printed) ? printed : [];
  const { rx, tx } = link?.stats64 ?? {};
  if (!Array.isArray(link?.flags) || rx === undefined || tx === undefined) return null;
  const sum = (...values: readonly (number | undefined)[]): number =>
    values.reduce<number>((subtotal, value = 0) => subtotal + value, 0);
  const counters = {
    receivedBytes: sum(rx["bytes"]),
    sentBytes: sum(tx["bytes"]),
    errors: sum(rx["errors"], rx["dropped"], tx["errors"], tx["dropped"]),
  };
  // LOWER_UP: there is a carrier. Not operstate, which some drivers leave unknown.
  return { isUp: ["UP", "LOWER_UP"].every((flag) => link?.flags?.includes(flag)), counters };
}

function commandOf({ command = "/sbin/ip" }: NetworkInterfaceParameters): string {
  return command;
}
