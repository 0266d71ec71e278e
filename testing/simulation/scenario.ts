import { act, type Action, SERVICE } from "./actions.ts";
import { compareMessages, ScenarioError, splitTime } from "./expectations.ts";
import { parseFault, parseOutcome } from "./faults.ts";
import { type Received, Receivers } from "./receivers.ts";
import { channelCommandsOf, completeConfig, type ScenarioConfig } from "./scenario_config.ts";
import { World } from "./world.ts";

/**
 * A story and what must come of it. Times are those of the zone: `22:10` is the next such time after the one before it in
 * its list, `Tue 22:10` or `2026-03-03 22:10` names the day.
 */
export interface Scenario {
  /** When it begins, such as `2026-03-02 21:55`. */
  readonly start: string;
  /** @default UTC */
  readonly zone?: string;
  /** The config, or its text; {@linkcode completeConfig} adds what is missing. */
  readonly config: ScenarioConfig | string;
  /** The path of the config. @default /etc/monitor/monitor.jsonc */
  readonly path?: string;
  /** Names of machines with this config. @default one, a */
  readonly machines?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * - `service`: a service is started on each machine at the beginning, with these arguments.
   * - `cron`: every minute, `check --once --due` is run on each machine.
   * - `manual`: nothing is.
   *
   * @default service
   */
  readonly mode?: "service" | "cron" | "manual";
  /** Arguments of services and cron runs, after the others. */
  readonly args?: string;
  /**
   * What each check finds, by its name or that of its host: `21:55 ok, 22:10 critical (no space), 06:20 ok slow 3s`; `hang`
   * never answers. A condition without a time is that of the beginning; ok by default.
   */
  readonly results?: Readonly<Record<string, string>>;
  /** How servers behave, by host, or the first label of one in `.example`: `22:00 refuse, 22:30 up`; see {@linkcode Fault}. */
  readonly servers?: Readonly<Record<string, string>>;
  /** What happens at a time, see {@linkcode act}. */
  readonly actions?: Readonly<Record<string, Action | readonly Action[]>>;
  /** When it ends. @default 20 minutes after the last time in it, longer than any backoff */
  readonly until?: string;
  /**
   * All messages of each channel, see {@linkcode Received.channel}; a channel that is not here gets none. `any`: `finally`
   * looks at them.
   */
  readonly expect?: Readonly<Record<string, readonly string[] | "any">>;
  /** What a message says, for `expect`. @default its text */
  readonly words?: (message: Received) => string;
  /** Texts that one line of the log each must contain, a warning or an error. Other lines are not compared. */
  readonly log?: readonly (string | RegExp)[];
  /** What else must be true in the end. */
  readonly finally?: (world: World, receivers: Receivers) => void | Promise<void>;
}

export interface ScenarioResult {
  readonly world: World;
  readonly receivers: Receivers;
  /** What is not as expected; `null`: everything is. */
  readonly failure: string | null;
}

interface Moment {
  readonly atMs: number;
  readonly do: () => void | Promise<void>;
}

const MINUTE_MS = 60_000;
const CONFIG_PATH = "/etc/monitor/monitor.jsonc";

/**
 * Plays a scenario, and compares what came of it. `prepare` is called before anything happens.
 *
 * @throws {ScenarioError} If the scenario itself is wrong.
 */
export async function play(
  scenario: Scenario,
  { seed, prepare }: { readonly seed: number; prepare?(world: World): void },
): Promise<ScenarioResult> {
  const { start, zone = "UTC", machines = ["a"] } = scenario;
  const world = await World.create({ seed, start, zone });
  const receivers = new Receivers(world);
  for (const name of machines) {
    const machine = world.machine(name);
    machine.environment = { ...machine.environment, ...scenario.environment };
    configure(scenario.config, { world, receivers, names: [name], path: scenario.path ?? CONFIG_PATH });
  }
  prepare?.(world);
  const changedMs = planChanges(scenario, world);
  const moments = actionsOf(scenario, { world, receivers });
  const lastMs = Math.max(changedMs, moments.at(-1)?.atMs ?? world.startMs);
  const endMs = scenario.until === undefined
    ? lastMs + 10 * MINUTE_MS
    : splitTime(scenario.until, { afterMs: lastMs, zone }).atMs;
  const problems: string[] = [];
  try {
    beginWork(scenario, { world, endMs });
    for (const moment of moments) {
      await world.to(moment.atMs);
      await moment.do();
    }
    await world.to(endMs);
    await scenario.finally?.(world, receivers);
  } catch (error) {
    if (error instanceof ScenarioError) throw error;
    problems.push(`at ${world.describeTime()}: ${error instanceof Error ? error.stack : error}`);
  }
  world.end();
  const compared = compare(scenario, receivers, { world, machines });
  const failure = [...problems, ...compared].join("\n");
  return { world, receivers, failure: failure === "" ? null : failure };
}

interface Place {
  readonly world: World;
  readonly receivers: Receivers;
}

function configure(
  config: ScenarioConfig | string,
  { world, receivers, names, path }: Place & { readonly names: readonly string[]; readonly path: string },
): void {
  const complete = typeof config === "string" ? null : completeConfig(config);
  const text = typeof config === "string" ? config : JSON.stringify(complete, null, 2);
  for (const name of names) world.machine(name).files.put(path, text);
  for (const command of complete === null ? [] : channelCommandsOf(complete)) receivers.addCommand(command);
}

function beginWork(
  { mode = "service", args = "", machines = ["a"] }: Scenario,
  { world, endMs }: { readonly world: World; readonly endMs: number },
): void {
  const words = args === "" ? [] : args.split(" ");
  for (const name of machines) {
    const machine = world.machine(name);
    if (mode === "service") machine.start(...SERVICE.split(" "), ...words);
    if (mode !== "cron") continue;
    const next = (): void => {
      machine.start("check", "--once", "--due", ...words);
      if (world.nowMs + MINUTE_MS < endMs) world.timeline.after(MINUTE_MS, next);
    };
    world.timeline.after(MINUTE_MS - world.nowMs % MINUTE_MS, next);
  }
}

/** Plans what checks find and how servers behave. Returns the time of the last change. */
function planChanges({ results = {}, servers = {} }: Scenario, world: World): number {
  let lastMs = world.startMs;
  const plan = (atMs: number, change: () => void): void => {
    lastMs = Math.max(lastMs, atMs);
    if (atMs === world.startMs) change();
    else world.timeline.after(atMs - world.startMs, change);
  };
  for (const [name, text] of Object.entries(results)) {
    for (const { atMs, words } of scheduleOf(text, world)) {
      const outcome = parseOutcome(words);
      if (outcome === null) throw new ScenarioError(`results of ${name}: "${words}" is no outcome`);
      plan(atMs, () => world.outcomes.set(name, outcome));
    }
  }
  for (const [name, text] of Object.entries(servers)) {
    const host = world.network.host(name.includes(".") ? name : `${name}.example`);
    for (const { atMs, words } of scheduleOf(text, world)) {
      const fault = parseFault(words);
      if (fault === null || host === null) {
        throw new ScenarioError(`servers of ${name}: "${words}" is no fault`);
      }
      plan(atMs, () => {
        world.trace.add("", "server", `${name}: ${words}`);
        host.fault = fault;
      });
    }
  }
  return lastMs;
}

function actionsOf(
  { actions = {}, machines = ["a"], path = CONFIG_PATH }: Scenario,
  { world, receivers }: Place,
): readonly Moment[] {
  let afterMs = world.startMs;
  return Object.entries(actions).flatMap(([time, some]) => {
    const { atMs } = splitTime(time, { afterMs, zone: world.zone });
    afterMs = atMs;
    const all = Array.isArray(some) ? some as readonly Action[] : [some as Action];
    return all.map((action) => ({
      atMs,
      do: async () => {
        if (typeof action !== "object") return await act(action, world, machines);
        const names = action.machine === undefined ? machines : [action.machine];
        world.trace.add(names.join(", "), "action", "another config");
        configure(action.config, { world, receivers, names, path });
      },
    }));
  });
}

/** Parses `ok, 22:10 critical, 06:20 ok`: what is at each time, and at the beginning. */
function scheduleOf(
  text: string,
  { startMs, zone }: World,
): readonly { readonly atMs: number; readonly words: string }[] {
  let afterMs = startMs;
  return text.split(/,\s+(?![^(]*\))/).map((part, index) => {
    if (index === 0 && !/\d\d:\d\d/.test(part)) return { atMs: startMs, words: part };
    const { atMs, rest } = splitTime(part, { afterMs, zone });
    afterMs = atMs;
    return { atMs, words: rest };
  });
}

function compare(
  { expect = {}, log = [], words = ({ text }) => text }: Scenario,
  receivers: Receivers,
  { world, machines }: { readonly world: World; readonly machines: readonly string[] },
): readonly string[] {
  const channels = new Set([...Object.keys(expect), ...receivers.messages.map(({ channel }) => channel)]);
  const messages = [...channels].flatMap((channel) => {
    const lines = expect[channel] ?? [];
    if (lines === "any") return [];
    const received = receivers.messages.filter((message) => message.channel === channel)
      .map((message) => ({ ...message, text: words(message) }));
    const difference = compareMessages(lines, received, world);
    return difference === null ? [] : [`${channel} (- expected, + received):\n${difference}`];
  });
  const lines = world.trace.events.filter(({ what, machine }) => what === "log" && machines.includes(machine))
    .map(({ text }) => text);
  const missing = log.filter((text) =>
    lines.filter((line) => typeof text === "string" ? line.includes(text) : text.test(line)).length !== 1
  );
  const bugs = lines.filter((line) => line.includes("error: bug in monitor"));
  return [...bugs, ...messages, ...missing.map((text) => `the log has not one line with ${text}`)];
}
