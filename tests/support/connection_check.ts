import { fileURLToPath } from "node:url";
import { entryOf } from "../../src/checks/registry.ts";
import type { CheckOf, CheckResult } from "../../src/domain/check.ts";
import type {
  DnsLookupParameters,
  TcpConnectParameters,
  TlsCertificateParameters,
} from "../../src/domain/generated/config.ts";
import type { Clock } from "../../src/domain/clock.ts";
import { createConnections } from "../../src/system/tcp/connections.ts";
import { checkOf, contextOf } from "../../testing/builders.ts";
import { runArguments } from "../../testing/source.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { runChild } from "../../testing/tools.ts";
import { DAY_MS } from "../../src/shared/time_units.ts";

export type ConnectionCheck = CheckOf<"tcp_connect" | "tls_certificate" | "http_request" | "dns_lookup">;

const TIMEOUT_MS = 120_000;

/** A `tcp_connect` check of a port on loopback. */
export function tcpCheck(
  parameters: Partial<TcpConnectParameters>,
  timeoutMs = TIMEOUT_MS,
): CheckOf<"tcp_connect"> {
  const host = parameters.socket === undefined && { host: "127.0.0.1" };
  const defaults = { everyAddress: false, tls: false, asWarning: false } as const;
  return checkOf("tcp_connect", { ...host, ...defaults, ...parameters }, { name: "port", timeoutMs });
}

/** A `tls_certificate` check of a port on loopback: warning from 14 days on, critical from 3 days on. */
export function certificateCheck(
  parameters: Partial<TlsCertificateParameters> & { readonly port: number },
  timeoutMs = TIMEOUT_MS,
): CheckOf<"tls_certificate"> {
  const limits = { warningBeforeExpiryMs: 14 * DAY_MS, criticalBeforeExpiryMs: 3 * DAY_MS };
  const defaults = { host: "localhost", everyAddress: false, ...limits };
  return checkOf("tls_certificate", { ...defaults, ...parameters }, { name: "port", timeoutMs });
}

/** Returns a `dns_lookup` check of the IP addresses of a name. */
export function dnsCheck(
  parameters: Partial<DnsLookupParameters>,
  timeoutMs = TIMEOUT_MS,
): CheckOf<"dns_lookup"> {
  const defaults = { name: "www.example.test", type: "A", asWarning: false } as const;
  return checkOf("dns_lookup", { ...defaults, ...parameters }, { name: "port", timeoutMs });
}

export interface ConnectionRun {
  /** How much later it is than it is. */
  readonly aheadMs?: number;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  /** Called with the number of reads of a connection that have ended, after each. */
  readonly onRead?: (count: number) => void;
}

export async function observeConnection(
  check: ConnectionCheck,
  { aheadMs = 0, signal = new AbortController().signal, clock: given = createRealClock(), onRead }:
    ConnectionRun = {},
): Promise<CheckResult> {
  const clock: Clock = { ...given, wallMs: () => given.wallMs() + aheadMs };
  const connections = createConnections(createRealClock());
  const connect: typeof connections.connect = async (target, options) => {
    const connection = await connections.connect(target, options);
    let count = 0;
    const read = () => connection.read().finally(() => onRead?.(++count));
    return { ...connection, read };
  };
  const system = { clock, connections: { ...connections, connect } };
  return await (await entryOf(check)).observe(check, contextOf({ system, signal }));
}

export interface OwnProcessOptions {
  /** @default all permissions */
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** Observes a target in a separate process, with its own permissions and environment. */
export async function observeInOwnProcess(
  check: ConnectionCheck,
  options?: OwnProcessOptions,
): Promise<CheckResult> {
  const [result] = await observeAllInOwnProcess([check], options);
  if (result === undefined) throw new Error("The process printed no result");
  return result;
}

/** Observes targets in one separate process. */
export async function observeAllInOwnProcess(
  checks: readonly ConnectionCheck[],
  { flags = ["--allow-all"], environment = {} }: OwnProcessOptions = {},
): Promise<readonly CheckResult[]> {
  const program = fileURLToPath(new URL("../fixtures/observe_connection.ts", import.meta.url));
  const args = [...runArguments(flags), program, ...checks.map((check) => JSON.stringify(check))];
  const { success, stdout, stderr } = await runChild(Deno.execPath(), args, {
    env: { NO_COLOR: "1", ...environment },
  });
  if (!success) throw new Error(`The process failed: ${stderr}`);
  return JSON.parse(stdout);
}
