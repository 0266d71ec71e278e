/** A small world of hosts, names, certificates, file systems and systemd units with faults, in which checks run. */
import { type Check, type Result } from "../../src/domain/check.ts";
import type { ObserveContext } from "../../src/domain/check_kind.ts";
import type {
  CertificateFacts,
  Connection,
  ConnectionTarget,
  TlsExpectations,
} from "../../src/domain/connections.ts";
import type { CheckRecord } from "../../src/domain/store.ts";
import { initialState } from "../../src/condition/condition_state.ts";
import { type CausesOptions, othersToRun } from "../../src/engine/causes.ts";
import { AttributeObserver } from "../../src/scheduler/attributes.ts";
import { AttributeIndex, newRecord } from "../../src/state/record_cache.ts";
import { explainConnectionError } from "../../src/system/network_failure.ts";
import { checkOf } from "../../testing/builders.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import type { Random } from "../../testing/random.ts";

/** What a check of the world uses. */
export type Probe =
  | {
    readonly page: "common" | "own";
    readonly host: string;
    /** The name by which the check reaches the host; `null`: by its address. */
    readonly name: string | null;
    readonly port: number;
    readonly certificate: string | null;
    /** The systemd unit that listens; `null`: none. */
    readonly unit: string | null;
    readonly namesUnit: boolean;
  }
  | { readonly path: string; readonly device: number }
  | { readonly processOf: string };

export type Fault =
  | { readonly kind: "host" | "network" | "name" | "certificate" | "unit"; readonly of: string }
  | { readonly kind: "resolver" }
  | { readonly kind: "service"; readonly of: string; readonly how: "refused" | "wrong" }
  | { readonly kind: "disk"; readonly of: string }
  /** Some checks of a service find what they don't expect. */
  | { readonly kind: "pages"; readonly of: string };

export interface Topology {
  readonly probes: ReadonlyMap<string, Probe>;
  readonly faults: readonly Fault[];
}

/** A whole number, with both ends. */
export function int(random: Random, from: number, to: number): number {
  return from + Math.floor(random.below(to - from + 1));
}

/** One of some values, at least one. */
export function pick<T>(random: Random, values: readonly T[]): T {
  const [first, ...others] = values;
  if (first === undefined) throw new RangeError("There is nothing to pick");
  return random.pick([first, ...others]);
}

export function randomTopology(random: Random): Topology {
  const networks = Array.from({ length: int(random, 1, 2) }, (_, index) => `10.0.${index}`);
  const hosts = Array.from({ length: int(random, 2, 5) }, (_, index) => ({
    address: `${pick(random, networks)}.${index + 1}`,
    names: Array.from({ length: int(random, 1, 3) }, (_, name) => `n${name}.h${index}.test`),
    ports: [22, 80, 443].slice(0, int(random, 1, 3)),
  }));
  const certificates = ["a", "b", "c"].slice(0, int(random, 1, 3));
  const devices = [1, 2, 3].slice(0, int(random, 1, 3));
  const units = ["a.service", "b.service", "c.service"].slice(0, int(random, 1, 3));
  const probes = new Map<string, Probe>();
  const servers = new Map<string, { readonly certificate: string; readonly unit: string | null }>();
  for (let index = int(random, 6, 40); index > 0; index--) {
    const { address, names, ports } = pick(random, hosts);
    const port = pick(random, ports);
    const name = random.next() < 0.6 ? pick(random, names) : null;
    const key = `${address}:${port}`;
    const server = servers.get(key) ??
      { certificate: pick(random, certificates), unit: random.next() < 0.5 ? pick(random, units) : null };
    servers.set(key, server);
    const device = pick(random, devices);
    const page = random.next() < 0.5 ? "common" : "own";
    const certificate = port === 443 ? server.certificate : null;
    const kind = random.next();
    probes.set(
      `check ${index}`,
      kind < 0.1
        ? { processOf: pick(random, units) }
        : kind < 0.3
        ? { path: `/mnt/${device}/file ${index}`, device }
        : { page, host: address, name, port, certificate, unit: server.unit, namesUnit: random.next() < 0.8 },
    );
  }
  const faults: readonly Fault[] = [
    ...networks.map((of): Fault => ({ kind: "network", of: `${of}.0/24` })),
    ...hosts.map(({ address }): Fault => ({ kind: "host", of: address })),
    ...hosts.flatMap(({ address, ports }) =>
      ports.map((port): Fault => ({
        kind: "service",
        of: `${address}:${port}`,
        how: random.next() < 0.5 ? "refused" : "wrong",
      }))
    ),
    ...hosts.flatMap(({ address, ports }) =>
      ports.map((port): Fault => ({ kind: "pages", of: `${address}:${port}` }))
    ),
    ...hosts.flatMap(({ names }) => names.map((of): Fault => ({ kind: "name", of }))),
    ...certificates.map((of): Fault => ({ kind: "certificate", of })),
    { kind: "resolver" },
    ...devices.map((of): Fault => ({ kind: "disk", of: String(of) })),
    ...units.map((of): Fault => ({ kind: "unit", of })),
  ];
  return { probes, faults };
}

/** Returns whether a check fails with a fault alone. */
export function isAffected(probe: Probe, fault: Fault): boolean {
  if ("path" in probe) return fault.kind === "disk" && fault.of === String(probe.device);
  if ("processOf" in probe) return fault.kind === "unit" && fault.of === probe.processOf;
  const { host, name, port, certificate, page, unit } = probe;
  switch (fault.kind) {
    case "host":
      return host === fault.of;
    case "network":
      return host.replace(/\d+$/, "0/24") === fault.of;
    case "service":
      return `${host}:${port}` === fault.of;
    case "pages":
      return `${host}:${port}` === fault.of && page === "common";
    case "name":
      return name === fault.of;
    case "resolver":
      return name !== null;
    case "certificate":
      return certificate === fault.of;
    case "unit":
      return unit === fault.of;
    case "disk":
      return false;
  }
}

interface Faults {
  readonly probes: Topology["probes"];
  /** All faults at that time. */
  readonly faults: readonly Fault[];
}

/** Returns whether a cause names a fault, or what it took with it. */
export function isCausedBy(attribute: string, fault: Fault, { probes, faults }: Faults): boolean {
  switch (fault.kind) {
    case "host":
      return attribute === `address ${fault.of}` || attribute.startsWith(`port ${fault.of}:`);
    case "network": {
      const start = fault.of.replace("0/24", "");
      return [`network ${start}`, `address ${start}`, `port ${start}`].some((word) =>
        attribute.startsWith(word)
      );
    }
    case "service":
      return attribute === `port ${fault.of}`;
    case "pages":
      // Not if another page of the service is as expected.
      return attribute === `port ${fault.of}` &&
        [...probes.values()].every((probe) =>
          !("host" in probe) || `${probe.host}:${probe.port}` !== fault.of ||
          faults.some((one) => isAffected(probe, one))
        );
    case "name":
      return attribute === `host ${fault.of}`;
    case "resolver":
      return attribute.startsWith("resolver ") || attribute.startsWith("host ");
    case "certificate":
      return attribute === `certificate ${fingerprintOf(fault.of).slice(0, 16)}` ||
        attribute.startsWith("port ");
    case "disk":
      return attribute === `file system ${fault.of}`;
    case "unit":
      return attribute === `unit ${fault.of}` || attribute.startsWith("port ");
  }
}

function fingerprintOf(certificate: string): string {
  return certificate.repeat(64);
}

/** Checks that run in a world whose faults a test sets. */
export class World {
  faults: readonly Fault[] = [];
  nowMs = Date.UTC(2026, 0, 1);
  readonly #topology: Topology;
  readonly #observer = new AttributeObserver();
  readonly #system: ObserveContext["system"];
  readonly #records = new Map<string, CheckRecord>();
  readonly #index = new AttributeIndex();
  readonly running: ReadonlyMap<string, Check>;

  constructor(topology: Topology) {
    this.#topology = topology;
    this.#system = this.#createSystem();
    this.running = new Map(
      [...topology.probes].map(([name, probe]) => [
        name,
        "processOf" in probe
          ? checkOf("process", {} as never, { name })
          : "path" in probe
          ? checkOf("file", { path: probe.path, asWarning: false, conditionOnMissing: "critical" } as never, {
            name,
            target: probe.path,
          })
          : checkOf("tcp_connect", { host: probe.host, port: probe.port } as never, { name }),
      ]),
    );
  }

  get options(): CausesOptions {
    return {
      running: this.running,
      recordOf: (name) => this.recordOf(name),
      isHeld: () => false,
      checksWith: (attribute) => this.#index.checksWith(attribute),
      suspectingWith: (attribute) => this.#index.suspectingWith(attribute),
      suspecting: this.#index.suspecting,
    };
  }

  recordOf(name: string): CheckRecord {
    return this.#records.get(name) ?? newRecord(name, this.nowMs);
  }

  /** Runs a check, and at once those that may have the same cause. A problem is confirmed at the first failure. */
  async run(name: string): Promise<void> {
    const isFailing = (): boolean => (this.recordOf(name).last?.attributes?.suspected.length ?? 0) > 0;
    const wasFailing = isFailing();
    await this.#run(name);
    if (wasFailing || !isFailing()) return;
    for (const other of othersToRun(name, this.options)) {
      this.nowMs += 20;
      await this.run(other);
    }
  }

  async #run(name: string): Promise<void> {
    const probe = this.#topology.probes.get(name);
    if (probe === undefined) throw new Error(`No check ${name}`);
    const before = this.recordOf(name);
    const observed = this.#observer.start(this.#system, this.#system);
    const condition = await this.#probe(probe, observed.system) ? "ok" : "critical";
    const ended = {
      ...{ condition, host: null, shared: null, last: before.last?.attributes } as const,
      unit: "host" in probe && probe.namesUnit ? probe.unit : null,
      units: "processOf" in probe && condition === "ok" ? [probe.processOf] : [],
    };
    const attributes = await observed.finish(ended, new AbortController().signal);
    const result: Pick<Result, "attributes"> = attributes === undefined ? {} : { attributes };
    const record: CheckRecord = {
      ...before,
      condition: {
        ...initialState(),
        ...{ confirmed: condition, observed: condition, observedAtMs: this.nowMs },
        problemBeganAtMs: condition === "ok" ? null : before.condition.problemBeganAtMs ?? this.nowMs,
      },
      last: {
        ...{ condition, output: "", detail: "", performanceData: "", metrics: {}, lateMs: null },
        startedAtMs: this.nowMs - 10,
        durationMs: 10,
        ...result,
      },
    };
    this.#index.replace(name, before.last?.attributes, attributes);
    this.#records.set(name, record);
  }

  async #probe(probe: Probe, { connections, files, processes }: ObserveContext["system"]): Promise<boolean> {
    const { signal } = new AbortController();
    try {
      if ("processOf" in probe) {
        await processes.run({} as never, signal);
        return !this.#has((fault) => isAffected(probe, fault));
      }
      if ("path" in probe) {
        await files.stat(probe.path);
        return !this.#has((fault) => isAffected(probe, fault));
      }
      const { host, name, port, certificate } = probe;
      const tls = certificate === null ? null : { serverName: name ?? host, authorities: [] };
      const connection = await connections.connect({ host: name ?? host, port, ...tls !== null && { tls } }, {
        signal,
      });
      connection.close();
      return !this.#has((fault) =>
        (fault.kind === "service" || fault.kind === "pages") && isAffected(probe, fault)
      );
    } catch {
      return false;
    }
  }

  #has(isMeant: (fault: Fault) => boolean): boolean {
    return this.faults.some(isMeant);
  }

  #createSystem(): ObserveContext["system"] {
    const memory = createMemorySystem();
    const probeOf = ({ host, port }: ConnectionTarget) => {
      const found = [...this.#topology.probes.values()].find((probe) =>
        "host" in probe && probe.port === port && (probe.name ?? probe.host) === host
      );
      if (found === undefined || !("host" in found)) throw new Error(`No server ${host}:${port}`);
      return found;
    };
    const reach = (target: ConnectionTarget, tls: TlsExpectations | undefined): void => {
      const probe = probeOf(target);
      this.#resolve(target.host);
      for (const fault of this.faults) {
        if ((fault.kind === "host" || fault.kind === "network") && isAffected(probe, fault)) {
          throw new Error("Connection timed out (os error 110)");
        }
        const isRefused = fault.kind === "unit" || fault.kind === "service" && fault.how === "refused";
        if (isRefused && isAffected(probe, fault)) {
          throw new Error("Connection refused (os error 111)");
        }
      }
      if (
        tls !== undefined && this.#has((fault) => fault.kind === "certificate" && isAffected(probe, fault))
      ) {
        throw new Error("invalid peer certificate: Expired");
      }
    };
    return {
      ...memory,
      connections: {
        ...memory.connections,
        connect: (target, { onPhase }) => {
          const { tls } = target;
          try {
            reach(target, undefined);
            onPhase?.("TLS");
            reach(target, tls);
          } catch (error) {
            return Promise.reject(error);
          }
          return Promise.resolve({ close: () => {} } as Connection);
        },
        resolve: ({ host }) => {
          try {
            return Promise.resolve([{ address: this.#resolve(host), family: 4, token: null }]);
          } catch (error) {
            return Promise.reject(error);
          }
        },
        readCertificate: (target) => {
          const fingerprint = fingerprintOf(probeOf(target).certificate ?? "");
          return Promise.resolve({ problem: null, facts: { fingerprint } as CertificateFacts });
        },
        explain: explainConnectionError,
      },
      processes: { run: () => Promise.resolve({} as never) },
      files: {
        ...memory.files,
        stat: (path) => {
          const device = Number(path.split("/")[2]);
          return Promise.resolve({
            ...{ kind: "file", sizeBytes: 1, modifiedAtMs: 0, mode: null, ownerId: null } as const,
            device,
          });
        },
      },
    };
  }

  /** Returns the address of a host, which may be one already. */
  #resolve(host: string): string {
    if (/^[\d.]+$/.test(host)) return host;
    if (this.#has(({ kind }) => kind === "resolver")) {
      throw new Error("Temporary failure in name resolution");
    }
    if (this.#has((fault) => fault.kind === "name" && fault.of === host)) {
      throw new Error("failed to lookup address information: Name or service not known");
    }
    const found = [...this.#topology.probes.values()].find((probe) => "name" in probe && probe.name === host);
    return found !== undefined && "host" in found ? found.host : host;
  }
}
