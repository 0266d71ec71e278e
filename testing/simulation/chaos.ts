import { dirname } from "node:path";
import type { Condition } from "../../src/domain/condition.ts";
import { SERVICE } from "./actions.ts";
import { describeFault, type Fault, UP } from "./faults.ts";
import type { Machine } from "./machine.ts";
import { Random } from "./random.ts";
import { type Received, type ReceivedItem, Receivers } from "./receivers.ts";
import { completeConfig } from "./scenario_config.ts";
import { World } from "./world.ts";

export interface ChaosOptions {
  readonly seed: number;
  /** How long everything breaks. */
  readonly hours: number;
  readonly checks: number;
}

/** A change of a check, as the state has it. */
interface Change {
  readonly at: string;
  readonly from: string;
  readonly to: string;
}

const CHANNELS = ["chat", "pager"] as const;
const MINUTE_MS = 60_000;
/** After that, each channel has been tried again, also one that rejected. */
const HEALING_MS = 150 * MINUTE_MS;
const CONDITIONS: readonly Condition[] = ["ok", "ok", "ok", "warning", "critical", "unknown"];
/** What is rejected is soon sent one by one, with new ids. So a world has either rejections or lost replies. */
export const REJECTING: readonly Fault[] = [{ kind: "refuse" }, { kind: "reset" }, {
  kind: "reply",
  code: 404,
}];
export const LOSING: readonly Fault[] = [
  { kind: "refuse" },
  { kind: "reset" },
  { kind: "lose" },
  { kind: "hang" },
  { kind: "slow", ms: 40_000 },
  { kind: "reply", code: 503 },
];
/** A server is tried again within its repair: what fails for an hour is sent one by one, too. */
const BROKEN_MS_MAX = 5 * MINUTE_MS;
/** The share of faults after which comes another one. */
const MORE_FAULTS = 0.5;
const REPAIRED_MS_MIN = 20 * MINUTE_MS;

/** What can break of a machine. */
export type Trouble = (machine: Machine, random: Random) => void;

/** Kills lose what is not stored, so a world has either these troubles or those of the disk. */
export const OF_PROCESSES_IN_ORDER: readonly Trouble[] = [
  (machine, random) => killAtStep(machine, random.between(1, 40)),
  (machine) => machine.service?.signal("SIGTERM"),
  (machine) => machine.service?.signal("SIGHUP"),
  pause,
  (machine, random) => machine.suspend(random.between(5, 900) * 1000),
];
const OF_PROCESSES: readonly Trouble[] = [
  ...OF_PROCESSES_IN_ORDER,
  (machine, random) => machine.stepClock(random.between(-90, 90) * MINUTE_MS),
];
const OF_THE_DISK: readonly Trouble[] = [
  (machine) => void (machine.files.isFull = !machine.files.isFull),
  (machine) => void (machine.files.isReadOnly = !machine.files.isReadOnly),
  lockDatabase,
  (machine) => machine.service?.signal("SIGHUP"),
  pause,
];

export function pause(machine: Machine, random: Random): void {
  const { service } = machine;
  service?.signal("SIGSTOP");
  machine.world.timeline.after(random.between(1, 300) * 1000, () => service?.signal("SIGCONT"));
}

export function killAtStep(machine: Machine, steps: number): void {
  const { service, world } = machine;
  if (service === null) return;
  const last = service.steps + steps;
  world.killsAt = (program) => program === service && program.steps >= last;
}

const STATE = "/var/lib/monitor/state.sqlite";

function lockDatabase({ files, lockedDatabases, world }: Machine, random: Random): void {
  if (!files.has(STATE)) return;
  lockedDatabases.add(files.node(STATE));
  // The service asks again every few milliseconds.
  world.timeline.after(random.between(1, 15) * 1000, () => lockedDatabases.clear());
}

/**
 * A service in a world in which everything breaks at moments from the seed, and is repaired in the end. Returns what is
 * wrong with what the channels got; `null`: nothing is. Each change that is stored must have arrived in order and under
 * one id, nothing else may have, and the last notification of each check is what it is in the end.
 */
export async function playChaos(
  { seed, hours, checks: count }: ChaosOptions,
): Promise<{ readonly world: World; readonly failure: string | null }> {
  const world = await World.create({ seed, start: "2026-03-02 21:55" });
  const receivers = new Receivers(world);
  const random = new Random(seed, "chaos");
  const names = Array.from({ length: count }, (_, index) => `check ${index + 1}`);
  const machine = world.machine();
  machine.files.makeDirectory(dirname(STATE), 0o700);
  machine.files.put(
    "/etc/monitor/monitor.jsonc",
    JSON.stringify(completeConfig({
      state: STATE,
      // Each change is compared, however many there are.
      defaults: { threshold: 1, flapping: "all" },
      channels: Object.fromEntries(CHANNELS.map((name) => [name, {}])),
      checks: Object.fromEntries(names.map((name) => [name, {}])),
    })),
  );
  const outputs = new Set<string>();
  const endMs = world.nowMs + hours * 60 * MINUTE_MS;
  const troubles = random.chance(0.7) ? OF_PROCESSES : OF_THE_DISK;
  const keepRunning = (): void => {
    const { service } = machine;
    if (service === null) machine.start(...SERVICE.split(" "));
    if (world.nowMs < endMs) world.timeline.after(random.between(1, 90) * 1000, keepRunning);
  };
  keepRunning();
  const faults = random.chance(0.7) ? LOSING : REJECTING;
  for (const channel of CHANNELS) breakServer(channel, { world, random, faults, endMs });
  while (world.nowMs < endMs) {
    await world.advance(random.between(1, 240) * 1000);
    const name = random.pick(names);
    const condition = random.pick(CONDITIONS);
    const output = `${name} is ${condition} for the ${outputs.size + 1}. time`;
    outputs.add(output);
    world.outcomes.set(name, {
      condition,
      output,
      durationMs: random.chance(0.1) ? random.between(1, 20_000) : null,
    });
    if (random.chance(0.3)) random.pick(troubles)(machine, random);
  }
  await heal(machine);
  const failure = compareWithState(machine, { names, messages: receivers.messages, outputs }).join("\n");
  world.end();
  return { world, failure: failure === "" ? null : failure };
}

/** Breaks a server for a while, now and again. */
export function breakServer(
  name: string,
  { world, random, faults, endMs }: {
    readonly world: World;
    readonly random: Random;
    readonly faults: readonly Fault[];
    readonly endMs: number;
  },
): void {
  const host = world.network.host(`${name}.example`);
  const turn = (fault: Fault, ms: number): void => {
    if (host === null || world.nowMs >= endMs) return;
    host.fault = fault;
    world.trace.add("", "server", `${name}: ${describeFault(fault)}`);
    world.timeline.after(ms, () => {
      const breaks = fault === UP ? 1 : MORE_FAULTS;
      if (random.chance(breaks)) turn(random.pick(faults), random.between(1000, BROKEN_MS_MAX));
      else turn(UP, random.between(REPAIRED_MS_MIN, 2 * REPAIRED_MS_MIN));
    });
  };
  turn(random.pick(faults), random.between(1000, BROKEN_MS_MAX));
}

async function heal(machine: Machine): Promise<void> {
  const { world, files } = machine;
  for (const channel of CHANNELS) {
    const host = world.network.host(`${channel}.example`);
    if (host !== null) host.fault = UP;
  }
  world.killsAt = () => false;
  files.isFull = files.isReadOnly = false;
  machine.lockedDatabases.clear();
  await world.advance(20 * MINUTE_MS);
  if (machine.service === null) machine.start(...SERVICE.split(" "));
  await world.advance(HEALING_MS);
}

/** The stored changes of a check, in order. */
function changesOf({ files }: Machine, name: string): readonly Change[] {
  const rows = files.node(STATE).database?.prepare(
    "SELECT at_ms, from_condition, to_condition FROM changes JOIN checks ON checks.id = changes.check_id " +
      "WHERE name = ? ORDER BY changes.id",
  ).all(name) ?? [];
  return rows.map((row) => ({
    at: new Date(Math.floor(Number(row["at_ms"]))).toISOString(),
    from: String(row["from_condition"]),
    to: String(row["to_condition"]),
  }));
}

function compareWithState(
  machine: Machine,
  { names, messages, outputs }: {
    readonly names: readonly string[];
    readonly messages: readonly Received[];
    readonly outputs: ReadonlySet<string>;
  },
): readonly string[] {
  const failures = [...differentDuplicates(messages), ...compareWithLog(machine, messages)];
  for (const name of names) {
    const changes = changesOf(machine, name);
    for (const channel of CHANNELS) {
      const items = firstArrivals(messages, channel).filter(({ check }) => check === name);
      const wrong = compareWithChanges(items, changes) ?? inventedOutput(items, outputs);
      if (wrong === null) continue;
      const shown = items.map(({ decided_at: at, event, previous, condition }) =>
        `  ${at} ${event}: ${previous} to ${condition}`
      );
      const stored = changes.map(({ at, from, to }) => `  ${at} ${from} to ${to}`);
      failures.push(
        [`${name} to ${channel}: ${wrong}`, "received:", ...shown, "stored:", ...stored].join("\n"),
      );
    }
  }
  return failures;
}

/** Each message that arrived is logged as accepted, and nothing else is: with its notifications, once. */
function compareWithLog({ files }: Machine, messages: readonly Received[]): readonly string[] {
  const rows = files.node(STATE).database?.prepare(
    "SELECT channel_name, message_id, key FROM deliveries WHERE outcome = 'accepted'",
  ).all() ?? [];
  const logged = rows.map((row) => `${row["channel_name"]} ${row["message_id"]} ${row["key"]}`);
  const arrived = messages.filter(({ isAgain }) => !isAgain).flatMap(({ channel, id, items }) =>
    items.map((item) => [`${channel} ${id} `, item.id] as const)
  );
  return [
    ...logged.length === arrived.length ? [] : [`${arrived.length} arrived, ${logged.length} are logged`],
    ...arrived.flatMap(([message, id]) =>
      logged.some((one) => one.startsWith(message) && one.includes(id))
        ? []
        : [`${message}${id}: it is not logged`]
    ),
  ];
}

/** A duplicate is the same message, and a notification is never in two messages. */
function differentDuplicates(messages: readonly Received[]): string[] {
  const failures: string[] = [];
  const first = new Map<string, string>();
  const messageOf = new Map<string, string>();
  for (const { channel, id, items } of messages) {
    const text = JSON.stringify(items);
    const key = `${channel} ${id}`;
    if ((first.get(key) ?? text) !== text) failures.push(`${key}: a duplicate differs`);
    first.set(key, text);
    for (const item of items.flatMap(expanded)) {
      const place = `${channel} ${item.id}`;
      if ((messageOf.get(place) ?? id) !== id) failures.push(`${place}: it is in two messages`);
      messageOf.set(place, id);
    }
  }
  return failures;
}

/** The notifications of a channel, each once; before a recovery the problem that was not sent before it. */
function firstArrivals(messages: readonly Received[], channel: string): readonly ReceivedItem[] {
  return messages.filter((message) => message.channel === channel && !message.isAgain)
    .flatMap(({ items }) => items.flatMap(expanded));
}

function expanded(item: ReceivedItem): readonly ReceivedItem[] {
  return item.missed_problem === null ? [item] : [item.missed_problem, item];
}

/** Each stored change arrives in order; one that was decided while its problem was pending counts for that, too. */
function compareWithChanges(items: readonly ReceivedItem[], changes: readonly Change[]): string | null {
  const left = [...changes];
  for (const { event, decided_at: at, previous, condition } of items) {
    const place = left.findIndex((change) => change.at === at && change.to === condition);
    const merged = left.splice(0, place + 1);
    const own = merged.pop();
    if (own === undefined) return `invented, out of order, or sent twice: ${at} ${event} ${condition}`;
    if (merged.some(({ to }) => to === "ok")) return `a recovery before ${at} was not sent`;
    const first = merged[0]?.from;
    const isMerged = event === "problem" && (first === "ok" || first === "pending");
    if (previous !== (isMerged ? first : own.from)) return `${at} ${event} does not follow the one before`;
  }
  const [missing] = left;
  return missing === undefined ? null : `not sent: ${missing.at} ${missing.from} to ${missing.to}`;
}

function inventedOutput(items: readonly ReceivedItem[], outputs: ReadonlySet<string>): string | null {
  const invented = items.find(({ output, condition, check }) =>
    condition !== "ok" && !(outputs.has(output) && output.startsWith(`${check} is ${condition}`))
  );
  return invented === undefined ? null : `no check has printed "${invented.output}"`;
}
