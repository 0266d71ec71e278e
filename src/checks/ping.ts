import { type CheckOf, type CheckResult, checkResult, unknownResult } from "../domain/check.ts";
import type { CheckKindEntry, ObserveContext, ParameterProblem } from "../domain/check_kind.ts";
import type { System } from "../domain/system.ts";
import { truncate } from "../shared/text.ts";
import { evaluateMeasures, type Measure, thresholdsOf, thresholdWarnings } from "./thresholds.ts";
import { describeFailure, runCommand } from "./system_command.ts";

export const pingKind: CheckKindEntry<"ping"> = {
  observe: observePing,
  limit: "process",
  hasResponded: ({ metrics }) => (metrics["lost_percent"] ?? 100) < 100,
  reachedBy: ({ parameters: { host } }) => host,
  target: {
    form: "HOST",
    parametersOf: ({ text }) => ({ host: text }),
    nameOf: ({ text }) => `ping_${text}`,
    subjectsOf: ({ parameters: { host } }) => [`ping ${host.toLowerCase()}`],
    textOf: ({ parameters: { host } }) => host,
    goesDown: true,
  },
  warnings: ({ parameters: { loss, roundTrip } }) => thresholdWarnings({ loss, round_trip: roundTrip }),
  errors: findErrors,
  requiredPermissions: ({ parameters }, system) => ({ run: [commandOf(parameters, system)] }),
};

/** Runs the system's `ping`, with options that iputils, BusyBox, inetutils and macOS share. */
async function observePing(check: CheckOf<"ping">, context: ObserveContext) {
  const { parameters, timeoutMs } = check;
  const { host, count } = parameters;
  const { platform } = context.system;
  // At least one second, and no more than the timeout leaves after the last request.
  const waitSeconds = Math.max(1, Math.floor(timeoutMs / 1000) - count);
  const command = {
    path: commandOf(parameters, context.system),
    arguments: [
      ...["-n", "-q", "-c", `${count}`],
      ...["-W", `${platform === "darwin" ? waitSeconds * 1000 : waitSeconds}`],
      // A name that begins with a hyphen is no option.
      ...["--", host.replace(/^\[(.*)\]$/, "$1")],
    ],
    timeoutMs,
  };
  const end = await runCommand(command, context);
  if (end.ended === "timed_out") {
    return checkResult("critical", `timeout after ${timeoutMs / 1000} s while pinging ${host}`);
  }
  if (end.ended === "not_started") return unknownResult(`cannot start "${command.path}": ${end.reason}`);
  const [sent = 0, received = 0] = COUNTS.exec(end.stdout.text)?.slice(1).map(Number) ?? [];
  if (sent === 0) {
    const [line = ""] = `${end.stderr.text}\n${end.stdout.text}`.trim().split("\n");
    const text = truncate(line, TEXT_LENGTH_MAX);
    if (OF_TARGET.test(text)) return checkResult("critical", text);
    return unknownResult(describeFailure(end, command) ?? `"${command.path}" printed no summary: ${text}`);
  }
  if (received === 0) {
    const { metrics } = evaluateMeasures([lossOf({ sent, received }, check)]);
    return checkResult("critical", `no reply from ${host} to ${sent} pings`, metrics);
  }
  return evaluate({ sent, received, averageMs: TIMES.exec(end.stdout.text)?.[1] }, check);
}

/** Duplicates may make more replies than requests. */
const COUNTS = /^(\d{1,9}) packets transmitted, (\d{1,9}) (?:packets )?received\b/m;

/** The average is the second value of `min/avg/max`. */
const TIMES = /^(?:rtt|round-trip) min\/avg\/max\S* = \d{1,9}(?:\.\d{1,9})?\/(\d{1,9}(?:\.\d{1,9})?)\//m;

/** The failures of a target, in the words of all implementations; any other failure is on this side. */
const OF_TARGET = new RegExp(
  [
    "name or service not known|no address associated|temporary failure in name resolution|bad address",
    "unknown host|cannot resolve|unreachable|no route to host|host is down",
  ].join("|"),
  "i",
);

const TEXT_LENGTH_MAX = 200;

interface Summary {
  readonly sent: number;
  readonly received: number;
  /** Absent if the command measures no time. */
  readonly averageMs: string | undefined;
}

function lossOf(
  { sent, received }: Pick<Summary, "sent" | "received">,
  { parameters: { loss: thresholds } }: CheckOf<"ping">,
): Measure {
  return { name: "lost", value: Math.max(0, sent - received), unit: "number", total: sent, thresholds };
}

function evaluate({ averageMs, ...counts }: Summary, check: CheckOf<"ping">): CheckResult {
  const { parameters } = check;
  const measures = [lossOf(counts, check)];
  const thresholds = thresholdsOf(parameters.roundTrip);
  if (averageMs !== undefined) {
    measures.push({ name: "round_trip", value: Number(averageMs), unit: "milliseconds", thresholds });
  }
  const result = evaluateMeasures(measures);
  const isUnmeasured = averageMs === undefined && Object.keys(thresholds).length > 0;
  return isUnmeasured && result.condition === "ok"
    ? { ...result, condition: "unknown", output: `${result.output}; ping printed no round-trip time` }
    : result;
}

/** A fixed path: looking it up would need to read every directory in `PATH`. */
function commandOf(
  { command }: CheckOf<"ping">["parameters"],
  { platform }: Pick<System, "platform">,
): string {
  return command ?? (platform === "darwin" ? "/sbin/ping" : "/usr/bin/ping");
}

function findErrors({ parameters: { count }, timeoutMs }: CheckOf<"ping">): readonly ParameterProblem[] {
  const most = Math.floor(timeoutMs / 1000);
  const message = `is ${count}, one a second, expected at most ${most} with this timeout`;
  return count * 1000 <= timeoutMs ? [] : [{ path: ["count"], message }];
}
