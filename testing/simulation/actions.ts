import { ScenarioError } from "./expectations.ts";
import { parseDuration } from "./faults.ts";
import type { Machine } from "./machine.ts";
import type { World } from "./world.ts";

/** A change of the config's file, or code for what has no words. */
export type Action =
  | string
  | { readonly config: Readonly<Record<string, unknown>> | string; readonly machine?: string }
  | ((world: World) => void | Promise<void>);

/** What a machine does by itself; every other word is a command of the program. */
const WORDS: Readonly<Record<string, (machine: Machine, operand: string) => void | Promise<void>>> = {
  start: (machine, args) => void machine.start(...split(args === "" ? SERVICE : args)),
  kill: (machine) => serviceOf(machine).signal("SIGKILL"),
  stop: async (machine) => {
    const service = serviceOf(machine);
    service.signal("SIGTERM");
    await machine.world.until(() => service.hasEnded, "the service to stop");
    if (service.code !== 0) throw new Error(`the service stopped with code ${service.code}`);
  },
  reload: (machine) => serviceOf(machine).signal("SIGHUP"),
  pause: (machine) => serviceOf(machine).signal("SIGSTOP"),
  continue: (machine) => serviceOf(machine).signal("SIGCONT"),
  suspend: (machine, time) => machine.suspend(durationOf(time)),
  clock: (machine, step) => {
    const [, sign = "", time = ""] = /^([+-])(.*)$/.exec(step) ?? [];
    if (sign === "") throw new ScenarioError(`clock "${step}" is no step, expected +1h or -5min`);
    machine.stepClock(durationOf(time) * (sign === "-" ? -1 : 1));
  },
  disk: ({ files }, state) => {
    if (!["full", "free", "read-only", "writable"].includes(state)) {
      throw new ScenarioError(`disk "${state}" is unknown, expected full, free, read-only or writable`);
    }
    files.isFull = state === "full" || files.isFull && state !== "free";
    files.isReadOnly = state === "read-only" || files.isReadOnly && state !== "writable";
  },
  cut: (machine, host) => machine.cutOff(host),
  reconnect: (machine, host) => machine.reconnect(host),
};

/** How a service is started: with events on stdout, for the trace. */
export const SERVICE = "check --format ndjson";

/**
 * Does what an action of a scenario says: `kill`, `b kill` on a machine of its name, or a command of the program. A command
 * must succeed, which most do by exit code 0; another one is expected by `=> CODE`.
 *
 * @throws {ScenarioError} If it can't be understood.
 */
export async function act(
  action: Exclude<Action, { readonly config: unknown }>,
  world: World,
  names: readonly string[],
): Promise<void> {
  if (typeof action === "function") return await action(world);
  const [, first = "", others = ""] = /^(\S+) ?(.*)$/s.exec(action.trim()) ?? [];
  const isNamed = names.includes(first);
  const machine = world.machine(isNamed ? first : names[0]);
  const text = isNamed ? others : action.trim();
  world.trace.add(machine.name, "action", text);
  const [, word = "", operand = ""] = /^(\S+) ?(.*)$/s.exec(text) ?? [];
  const own = WORDS[word];
  if (own !== undefined) return await own(machine, operand);
  const [, command = "", expected] = /^(.*?)(?: => (\d+))?$/s.exec(text) ?? [];
  const { code, stdout, stderr } = await machine.run(...split(command));
  if (code === Number(expected ?? 0)) return;
  throw new Error(`"${command}" exited with ${code}, expected ${expected ?? 0}\n${stdout}${stderr}`);
}

function serviceOf(machine: Machine): NonNullable<Machine["service"]> {
  const { service } = machine;
  if (service === null) throw new ScenarioError(`no service runs on machine "${machine.name}"`);
  return service;
}

function durationOf(text: string): number {
  const ms = parseDuration(text);
  if (ms === null) throw new ScenarioError(`"${text}" is no duration, expected 30s, 5min, 2h or 3d`);
  return ms;
}

/** The arguments of a command line; quotes hold words together. */
function split(text: string): readonly string[] {
  return [...text.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain = ""]) => quoted ?? plain);
}
