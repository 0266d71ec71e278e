import { entryOf } from "../../src/checks/registry.ts";
import type {
  CheckOf,
  DnsLookupParameters,
  TcpConnectParameters,
  TlsCertificateParameters,
} from "../../src/domain/check.ts";
import type { ObserveContext } from "../../src/domain/check_kind.ts";
import type { CheckResult } from "../../src/domain/result.ts";
import type { Clock } from "../../src/domain/clock.ts";
import { runArguments } from "../../testing/source.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { runChild } from "../../testing/tools.ts";
import { DAY_MS } from "../../src/shared/time_units.ts";

/** Kinds of checks that use the network. */
export type ConnectionCheck = CheckOf<"tcp_connect" | "tls_certificate" | "http_request" | "dns_lookup">;

const SETTINGS = {
  name: "port",
  active: true,
  threshold: 1,
  recoveryThreshold: 1,
  annoy: false,
  schedule: { regularIntervalMs: 60_000, attentiveIntervalMs: 60_000 },
  notifications: [],
  dependsOn: [],
  tags: [],
  maintenanceWindows: [],
} as const;

/** Longer than any test here. */
const TIMEOUT_MS = 120_000;

/** A `tcp_connect` check of a port on loopback. */
export function tcpCheck(
  parameters: Partial<TcpConnectParameters>,
  timeoutMs = TIMEOUT_MS,
): CheckOf<"tcp_connect"> {
  return {
    ...SETTINGS,
    timeoutMs,
    kind: "tcp_connect",
    parameters: {
      ...parameters.socket === undefined && { host: "127.0.0.1" },
      everyAddress: false,
      tls: false,
      asWarning: false,
      ...parameters,
    },
  };
}

/** A `tls_certificate` check of a port on loopback: warning from 14 days on, critical from 3 days on. */
export function certificateCheck(
  parameters: Partial<TlsCertificateParameters> & { readonly port: number },
  timeoutMs = TIMEOUT_MS,
): CheckOf<"tls_certificate"> {
  return {
    ...SETTINGS,
    timeoutMs,
    kind: "tls_certificate",
    parameters: {
      host: "localhost",
      everyAddress: false,
      warningBeforeExpiryMs: 14 * DAY_MS,
      criticalBeforeExpiryMs: 3 * DAY_MS,
      ...parameters,
    },
  };
}

/** Returns a `dns_lookup` check of the IP addresses of a name. */
export function dnsCheck(
  parameters: Partial<DnsLookupParameters>,
  timeoutMs = TIMEOUT_MS,
): CheckOf<"dns_lookup"> {
  return {
    ...SETTINGS,
    timeoutMs,
    kind: "dns_lookup",
    parameters: { name: "www.example.test", type: "A", asWarning: false, ...parameters },
  };
}

/** The optional settings of a run. */
export interface ConnectionRun {
  /** How much later it is than it is. */
  readonly aheadMs?: number;
  readonly signal?: AbortSignal;
}

/** Observes a target on the real machine. */
export async function observeConnection(
  check: ConnectionCheck,
  { aheadMs = 0, signal = new AbortController().signal }: ConnectionRun = {},
): Promise<CheckResult> {
  const system = createMemorySystem();
  const clock: Clock = { ...system.clock, wallMs: () => system.clock.wallMs() + aheadMs };
  const context: ObserveContext = { system: { ...system, clock }, jobs: null, directory: "/", signal };
  return await (await entryOf(check)).observe(check, context);
}

/** The options of a separate process that observes a target. */
export interface ConnectionProcess {
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly times?: number;
  readonly countsDescriptors?: boolean;
}

export interface ConnectionFindings {
  readonly results: readonly CheckResult[];
  /** How many more file descriptors were open at the end than at the beginning; 0 if they were not counted. */
  readonly descriptorGrowth: number;
}

/** Observes a target in a separate process, with its own permissions and environment. */
export async function observeInOwnProcess(
  check: ConnectionCheck,
  { flags = ["--allow-all"], environment = {}, times = 1, countsDescriptors = false }: ConnectionProcess = {},
): Promise<ConnectionFindings> {
  const program = new URL("../fixtures/observe_connection.ts", import.meta.url).pathname;
  const { success, stdout, stderr } = await runChild(
    Deno.execPath(),
    [...runArguments(flags), program, JSON.stringify({ check, times, countsDescriptors })],
    { env: { NO_COLOR: "1", ...environment } },
  );
  if (!success) throw new Error(`The process failed: ${stderr}`);
  return JSON.parse(stdout);
}
