import { actionTitle } from "../condition/action.ts";
import type { Decided } from "../engine/decide.ts";
import {
  ConfiguredChannels,
  type NotifyingConfig,
  toNotifyingConfig,
} from "../engine/configured_channels.ts";
import { entriesOf } from "../checks/registry.ts";
import type { LoadedConfig } from "../config/load.ts";
import { type Check, checkResult } from "../domain/check.ts";
import type { Delivery } from "../domain/delivery.ts";
import type { CheckRecord, Store } from "../domain/store.ts";
import type { System } from "../domain/system.ts";
import { hostAndPort, NET_ALL } from "../domain/runtime_permissions.ts";
import { assumedAttributes, type ConfiguredAttributes } from "../scheduler/attributes.ts";
import { valuesOf } from "../state/metric_sums.ts";
import { createRehearsalStore, rehearsedMachine, VirtualClock } from "./rehearsal_world.ts";
import { clockText, describeMessage, splitTime } from "./scenario_text.ts";
import { RehearsedService, type RehearsedServiceOptions } from "./rehearsed_service.ts";
import {
  type ExpectedMessage,
  findUnknownNames,
  rejectScenario,
  resultsOf,
  type Scenario,
  type ScriptedAction,
  type ScriptedResult,
} from "./scenario.ts";
import type { ListElement } from "../config/add_entries.ts";
import { MINUTE_MS } from "../shared/time_units.ts";

/** A message that a channel accepted. */
export interface SentMessage {
  readonly atMs: number;
  readonly text: string;
}

export interface Rehearsal {
  readonly scenario: Scenario;
  /** By name of a channel, those of the scenario first. */
  readonly channels: readonly RehearsedChannel[];
  /** What messages name as the cause of several problems. */
  readonly causes: readonly string[];
  /** The limits of values that no result of their check in the scenario has, such as `queue of web`. */
  readonly untestedLimits: readonly string[];
  readonly isAsExpected: boolean;
}

export interface RehearsedChannel {
  readonly name: string;
  readonly sent: readonly SentMessage[];
  /** The messages as an expectation has them. */
  readonly lines: readonly string[];
  readonly differences: readonly Difference[];
  readonly isAsExpected: boolean;
}

export interface RehearseOptions extends Pick<RehearsedServiceOptions, "skips"> {
  readonly config: LoadedConfig;
  readonly system: System;
  /** Carries out a command line of an administrator, on the state of the service. */
  act(action: ScriptedAction, place: { readonly system: System; readonly store: Store }): Promise<void>;
  /** Called in the end, with the records of all checks. @default nothing */
  onEnd?(records: readonly CheckRecord[]): void;
}

/**
 * Plays a scenario, and compares the messages.
 *
 * @throws {ConfigError} If it names what the config does not have.
 */
export async function rehearse(scenario: Scenario, options: RehearseOptions): Promise<Rehearsal> {
  const { config } = options;
  const all = toNotifyingConfig(config);
  const notifying = { ...all, running: all.running.map((check) => asMeasured(check, scenario)) };
  const channels = new ConfiguredChannels(notifying);
  const channelNames = [...new Set([...channels.names.values(), ACTIONS])];
  rejectScenario(scenario.source, findUnknownNames(scenario, { checks: config.checks, channelNames }));
  const sent = new Map<string, SentMessage[]>();
  const causes = new Set<string>();
  const clock = new VirtualClock(scenario.startMs, () => options.system.settle());
  const machine = rehearsedMachine(options.system, clock, "rehearsal");
  const system = { ...machine, timeZone: () => scenario.timeZone };
  await play(scenario, {
    ...options,
    system,
    onDecided: (entry) => {
      const text = describeBegun(entry, config.checks);
      if (text !== null) sent.getOrInsertComputed(ACTIONS, () => []).push({ atMs: clock.wallMs(), text });
    },
    config: notifying,
    summary: config.summary,
    deliver: (message, channel) => {
      const name = channels.nameOf(channel);
      const atMs = clock.wallMs();
      const responses = scenario.channels.get(name) ?? [];
      const response = responses.findLast((change) => change.atMs <= atMs)?.response ?? "accept";
      if (response !== "accept") return notDelivered(response);
      sent.getOrInsertComputed(name, () => []).push({ atMs, text: describeMessage(message.items) });
      for (const { notification: { cause } } of message.items) {
        if (cause !== undefined) causes.add(cause.text);
      }
      return { delivered: true, note: null };
    },
    ...scripted(scenario, await attributesIn(notifying, system)),
  });
  const names = new Set([...scenario.expected.keys(), ...sent.keys()]);
  const compared = [...names].map((name) =>
    compare(name, { expected: scenario.expected.get(name) ?? [], sent: sent.get(name) ?? [] }, scenario)
  );
  return {
    scenario,
    channels: compared,
    causes: [...causes],
    untestedLimits: all.running.flatMap((check, index) =>
      resultsOf(check, scenario).length === 0 ? [] : Object.keys(check.metrics ?? {})
        .filter((name) => notifying.running[index]?.metrics?.[name] === undefined)
        .map((name) => `${name} of ${check.name}`)
    ),
    isAsExpected: compared.every(({ isAsExpected }) => isAsExpected),
  };
}

/** What a rehearsal and a replay have in the place of the name of a channel, for actions. */
export const ACTIONS = "actions";

/** Returns the action that a decision begins, such as `restart nginx (web)`; `null`: none. */
export function describeBegun(
  { action, record: { name } }: Decided,
  checks: readonly Check[],
): string | null {
  const settings = checks.find((check) => check.name === name)?.action;
  return action === null || settings === undefined ? null : `${actionTitle(settings)} (${name})`;
}

function notDelivered(response: "fail" | "reject"): Delivery {
  return {
    delivered: false,
    retryable: response === "fail",
    mayHaveArrived: false,
    reason: response === "fail" ? "it fails in the scenario" : "it rejects in the scenario",
    retryAfterMs: null,
  };
}

/** By name of a check, what its runs depend on, as far as the config shows it. */
type ConfiguredOf = ReadonlyMap<string, ConfiguredAttributes>;

async function attributesIn(
  { running, commonCauses }: NotifyingConfig,
  system: System,
): Promise<ConfiguredOf> {
  // What is inverted or runs at locations, and what others report, has none of its own.
  const checks = running.filter(({ invert, locations, agent }) =>
    commonCauses && !invert && locations === undefined && agent === undefined
  );
  const entryOf = await entriesOf(checks);
  const elsewhere = { ...system, dns: { ...system.dns, machineServers: () => Promise.resolve([]) } };
  const known = checks.map(async (check): Promise<readonly [string, ConfiguredAttributes]> => {
    const entry = entryOf(check);
    const host = entry.reachedBy?.(check);
    // Others than those of the network would look for commands on this machine.
    const { net = [] } = entry.limit === "network" ? await entry.requiredPermissions(check, elsewhere) : {};
    return [check.name, {
      servers: host === undefined
        ? net.filter((server) => server !== NET_ALL && !server.endsWith(":0"))
        : [hostAndPort(host, 0)],
      shared: entry.sharedBy?.(check) ?? null,
      unit: check.unit ?? null,
    }];
  });
  return new Map(await Promise.all(known));
}

function scripted(
  scenario: Scenario,
  configured: ConfiguredOf,
): Pick<RehearsedServiceOptions, "resultOf" | "nextChangeMs"> {
  const byCheck = new Map<Check, readonly ScriptedResult[]>();
  const changesOf = (check: Check): readonly ScriptedResult[] =>
    byCheck.getOrInsertComputed(check, () => resultsOf(check, scenario));
  return {
    resultOf: (check, atMs) => {
      const changes = changesOf(check).filter((change) => change.atMs <= atMs);
      const { condition, output, durationMs } = changes.at(-1) ?? PLAIN_OK;
      const { performanceData } = changes.findLast((change) => change.performanceData !== "") ?? PLAIN_OK;
      const known = configured.get(check.name);
      const attributes = known && assumedAttributes(known, { condition, output });
      const result = { ...checkResult(condition, output), performanceData, durationMs };
      return { ...result, ...attributes !== undefined && { attributes } };
    },
    nextChangeMs: (check, afterMs) => changesOf(check).find(({ atMs }) => atMs > afterMs)?.atMs ?? Infinity,
  };
}

const PLAIN_OK = { condition: "ok", output: "ok", performanceData: "", durationMs: 0 } as const;

/** Returns a check without the limits of values that none of its results in the scenario has: it would be unknown. */
function asMeasured(check: Check, scenario: Scenario): Check {
  const { metrics = {}, ...others } = check;
  const measured = new Set(
    resultsOf(check, scenario).flatMap((
      { performanceData },
    ) => [...valuesOf({ metrics: {}, performanceData }).keys()]),
  );
  const kept = Object.entries(metrics).filter(([name]) => measured.has(name));
  return { ...others, ...kept.length > 0 && { metrics: Object.fromEntries(kept) } };
}

type PlayOptions = Omit<RehearsedServiceOptions, "store"> & Pick<RehearseOptions, "act" | "onEnd">;

async function play({ actions, endMs, source }: Scenario, options: PlayOptions): Promise<void> {
  const { clock } = options.system;
  const store = createRehearsalStore();
  const start = (ranUntilMs: number | null): Promise<RehearsedService> =>
    RehearsedService.start({ ...options, store }, ranUntilMs);
  let service: RehearsedService | null = await start(null);
  let stoppedMs = clock.wallMs();
  for (const { atMs, text, path } of actions) {
    await service?.advance(atMs);
    clock.moveTo(atMs);
    const steps = text === "restart" ? ["stop", "start"] : [text];
    for (const step of steps) {
      if (step === (service === null ? "stop" : "start")) {
        const message = `the service ${service === null ? "does not run" : "runs"} at this time`;
        rejectScenario(source, [{ path, message }]);
      }
      if (step === "stop") {
        await service?.stop();
        [service, stoppedMs] = [null, atMs];
      } else if (step === "start") service = await start(stoppedMs);
      else {
        await service?.persist();
        await options.act({ atMs, text, path }, { system: options.system, store });
        await service?.acted();
      }
    }
  }
  await service?.advance(endMs);
  await service?.stop();
  options.onEnd?.(await store.records());
}

function compare(
  name: string,
  { expected, sent }: {
    readonly expected: readonly ExpectedMessage[];
    readonly sent: readonly SentMessage[];
  },
  { startMs, timeZone }: Scenario,
): RehearsedChannel {
  let beforeMs = startMs;
  const lines = sent.map(({ atMs, text }) => {
    const line = `${clockText(atMs, beforeMs, timeZone)} ${text}`;
    beforeMs = atMs;
    return line;
  });
  const found = differences(expected.map(({ line }) => line), lines, (left, right) => {
    const [one, message] = [expected[left], sent[right]];
    return one !== undefined && message !== undefined && one.rest.trim() === message.text &&
      message.atMs >= one.atMs && message.atMs < one.untilMs;
  });
  return { name, sent, lines, differences: found, isAsExpected: found.every(({ sign }) => sign === " ") };
}

/** A line of two lists: `-` only of the first, `+` only of the second, or of both, as the second has it. */
interface Difference {
  readonly sign: "-" | "+" | " ";
  readonly text: string;
  /** Its index in the first list, or where it would be. */
  readonly expected: number;
  /** Its index in the second list, or where it would be. */
  readonly actual: number;
}

/** Returns the lines of both lists in order (longest common subsequence). */
export function differences(
  expected: readonly string[],
  actual: readonly string[],
  isSame: (expected: number, actual: number) => boolean,
): readonly Difference[] {
  const lengths = Array.from(
    { length: expected.length + 1 },
    () => new Array<number>(actual.length + 1).fill(0),
  );
  const at = (one: number, other: number): number => lengths[one]?.[other] ?? 0;
  for (let one = expected.length - 1; one >= 0; one--) {
    for (let other = actual.length - 1; other >= 0; other--) {
      const row = lengths[one];
      if (row === undefined) continue;
      row[other] = isSame(one, other)
        ? at(one + 1, other + 1) + 1
        : Math.max(at(one + 1, other), at(one, other + 1));
    }
  }
  const lines: Difference[] = [];
  let [one, other] = [0, 0];
  while (one < expected.length || other < actual.length) {
    const place = { expected: one, actual: other };
    if (one < expected.length && other < actual.length && isSame(one, other)) {
      lines.push({ sign: " ", text: actual[other] ?? "", ...place });
      one++;
      other++;
    } else if (other >= actual.length || one < expected.length && at(one + 1, other) >= at(one, other + 1)) {
      lines.push({ sign: "-", text: expected[one++] ?? "", ...place });
    } else lines.push({ sign: "+", text: actual[other++] ?? "", ...place });
  }
  return lines;
}

/** Returns the text of a scenario with the messages that came as those to come. */
export async function expectedText({ scenario, channels }: Rehearsal): Promise<string> {
  const { addEntries, replaceList } = await import("../config/add_entries.ts");
  const { source, expected } = scenario;
  const changed = channels.filter(({ isAsExpected }) => !isAsExpected);
  const text = changed.filter(({ name }) => expected.has(name)).reduce(
    (before, channel) => replaceList(before, ["expect", channel.name], elementsOf(channel, scenario)),
    source.text,
  );
  const added = changed.filter(({ name }) => !expected.has(name));
  return added.length === 0
    ? text
    : addEntries(text, added.map(({ name, lines }) => [name, lines]), "expect");
}

/** Returns the lines to come: one takes the place of a line before it that is missing. */
function elementsOf(
  { name, differences, sent }: RehearsedChannel,
  { expected, startMs, timeZone: zone }: Scenario,
): readonly ListElement[] {
  const elements: ListElement[] = [];
  let missing: number[] = [];
  let afterMs = Math.floor(startMs / MINUTE_MS) * MINUTE_MS;
  for (const { sign, text, ...index } of differences) {
    if (sign === "-") missing.push(index.expected);
    else {
      const atMs = sent[index.actual]?.atMs ?? afterMs;
      // As it was written, unless that means another day after another line.
      const written = sign === " " ? expected.get(name)?.[index.expected]?.line : undefined;
      const timed = written === undefined ? null : splitTime(written, { afterMs, zone });
      const isSame = timed !== null && timed.atMs <= atMs && atMs < timed.untilMs;
      elements.push({
        value: isSame && written !== undefined ? written : text,
        at: sign === " " ? index.expected : missing.shift() ?? null,
      });
      if (sign === " ") missing = [];
      afterMs = Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
    }
  }
  return elements;
}
