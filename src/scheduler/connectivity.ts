/** Whether this machine has a network: servers of which one must respond. */
import { entryOf } from "../checks/registry.ts";
import { hostPortIn } from "../checks/targets.ts";
import { type Check, type CheckResult, unknownResult } from "../domain/check.ts";
import type { ObserveContext } from "../domain/check_kind.ts";
import { startDeadline, unlessAborted } from "../shared/deadline.ts";
import type { Trouble } from "../shared/describe_error.ts";

type ProbeSystem = Pick<ObserveContext["system"], "clock" | "connections">;

/** A probe is used for all failures within this time after it began. */
const FRESH_MS = 1_000;
const TIMEOUT_MS = 5_000;

type NetworkTrouble = Pick<Trouble<readonly string[]>, "set">;

/** The servers of a config. Checks that fail at the same time share a probe. */
export class Connectivity {
  readonly #servers: readonly string[];
  readonly #trouble: NetworkTrouble | null;
  #last: { readonly beganAtMs: number; readonly isOnline: Promise<boolean> } | null = null;

  /** Each as `HOST:PORT`, at least one. The trouble is that none of them responds. */
  constructor(servers: readonly string[], trouble: NetworkTrouble | null = null) {
    this.#servers = servers;
    this.#trouble = trouble;
  }

  /** Returns a result as it is, or one that does not count if it failed while no server responds. */
  async excuse(
    check: Check,
    result: CheckResult,
    { system, signal }: { readonly system: ProbeSystem; readonly signal: AbortSignal },
  ): Promise<CheckResult> {
    if (result.condition === "ok" || check.connectivity !== true) return result;
    if ((await entryOf(check)).hasResponded?.(result) === true) return result;
    const isOnline = await unlessAborted(this.#isOnline(system), signal);
    this.#trouble?.set(isOnline ? null : this.#servers);
    if (isOnline) return result;
    const names = this.#servers.join(", ");
    const reason = `this machine has no network: no response from ${names}`;
    return { ...unknownResult(`${reason}; ${result.output}`), detail: result.detail, awaits: "checks" };
  }

  #isOnline(system: ProbeSystem): Promise<boolean> {
    const nowMs = system.clock.monotonicMs();
    if (this.#last === null || nowMs - this.#last.beganAtMs >= FRESH_MS) {
      const probes = this.#servers.map((server) => probe(server, system));
      const isOnline = Promise.any(probes).then(() => true, () => false);
      this.#last = { beganAtMs: nowMs, isOnline };
    }
    return this.#last.isOnline;
  }
}

/** Returns what a config names; `null`: nothing, so that every failure counts. */
export function connectivityOf(
  { connectivity }: { readonly connectivity: readonly string[] | null },
  trouble: NetworkTrouble | null = null,
): Connectivity | null {
  return connectivity === null ? null : new Connectivity(connectivity, trouble);
}

async function probe(server: string, { clock, connections }: ProbeSystem): Promise<void> {
  const target = hostPortIn(server);
  if (target === null) throw new Error(`Cannot connect to ${server}`);
  using deadline = startDeadline(clock, TIMEOUT_MS);
  const connection = await connections.connect(target, { signal: deadline.signal });
  connection.close();
}
