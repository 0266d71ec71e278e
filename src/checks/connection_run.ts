/** A run of a check over one connection, or over one to each IP address of its target. */
import { type CheckResult, checkResult, unknownResult } from "../domain/check.ts";
import type { ObserveContext } from "../domain/check_kind.ts";
import type {
  Connection,
  ConnectionPhase,
  Connections,
  ConnectionTarget,
  TlsExpectations,
  TlsMaterial,
} from "../domain/connections.ts";
import { roundedMs } from "../shared/json_values.ts";
import { type ConnectionVerdict, failureVerdict, refusalBy, timeoutText } from "./certificate_verdict.ts";
import { firstItems, joinBytes } from "../shared/text.ts";
import { startDeadline, unlessAborted } from "../shared/deadline.ts";
import { highestSeverity } from "../domain/condition.ts";
import { describeFileError } from "../shared/describe_error.ts";
import type { HttpMessageTls, TcpConnectParameters } from "../domain/generated/config.ts";
import { readText } from "../shared/regular_file.ts";
import type { Files } from "../domain/system.ts";

interface ConnectingCheck {
  readonly parameters: Pick<
    Partial<TcpConnectParameters>,
    "caFile" | "verify" | "everyAddress" | "asWarning"
  >;
  readonly timeoutMs: number;
}

interface RunOptions {
  readonly target: ConnectionTarget;
  /** `null`: clear text. By default the name is that of the host. */
  readonly tls: Partial<Pick<TlsExpectations, "serverName" | "protocols">> | null;
  /** Whether TLS starts with the connection; else `exchange` starts it. @default true */
  readonly tlsFirst?: boolean;
  /** Whether `connect_ms` is the time without TLS. @default false */
  readonly connectsBeforeTls?: boolean;
  readonly context: ObserveContext;
}

export interface ConnectionRun {
  /** `null`: clear text. */
  readonly tls: TlsExpectations | null;
  readonly signal: AbortSignal;
  enter(phase: ConnectionPhase): void;
  phase(): ConnectionPhase;
  describe(error: unknown): ConnectionVerdict;
}

export function hasConnected({ metrics }: CheckResult): boolean {
  return metrics["connect_ms"] !== undefined;
}

/** The output, and whether the exchange is as expected. `unknown`: that could not be found out. */
export interface ConnectionEnd {
  readonly ends: "ok" | "violated" | "unknown";
  readonly text: string;
  readonly metrics?: CheckResult["metrics"];
}

/** Connects, and exchanges messages. A failed connection is a violation; the output names the phase. */
export async function observeConnection(
  check: ConnectingCheck,
  { target, tls: wish, tlsFirst = true, connectsBeforeTls = false, context }: RunOptions,
  exchange: (connection: Connection, run: ConnectionRun) => Promise<ConnectionEnd>,
): Promise<CheckResult> {
  const { clock, connections } = context.system;
  const bad = check.parameters.asWarning ? "warning" : "critical";
  return await observeWithAuthorities(check, target, {
    context,
    observe: async (target, { authorities, signal }) => {
      const startMs = clock.monotonicMs();
      const refuses = refusalBy(check.parameters);
      const tls = wish === null
        ? null
        : { serverName: target.host, authorities, ...refuses !== undefined && { refuses }, ...wish };
      let phase: ConnectionPhase = "connecting";
      let connection: Connection | null = null;
      let connected: Readonly<Record<string, number>> | null = null;
      const sinceStart = (): number => roundedMs(clock.monotonicMs() - startMs);
      const enter = (next: ConnectionPhase): void => {
        if (connectsBeforeTls && next !== "connecting") connected ??= { connect_ms: sinceStart() };
        phase = next;
      };
      const describe = (error: unknown): ConnectionVerdict =>
        signal.aborted
          ? { isObstacle: false, text: timeoutText(check.timeoutMs, phase, target) }
          : failureVerdict(connections.explain(error, target, phase), target);
      const end = (condition: CheckResult["condition"], text: string, metrics = {}): CheckResult =>
        checkResult(condition, text, { ...connected, total_ms: sinceStart(), ...metrics });
      try {
        connection = await connections.connect(
          { ...target, ...tlsFirst && tls !== null && { tls } },
          { onPhase: enter, signal },
        );
        connected ??= { connect_ms: sinceStart() };
        const run = { tls, signal, enter, phase: () => phase, describe };
        const { ends, text, metrics } = await exchange(connection, run);
        return end(ends === "violated" ? bad : ends, text, metrics);
      } catch (error) {
        const { isObstacle, text } = describe(error);
        return end(isObstacle ? "unknown" : bad, text);
      } finally {
        connection?.close();
      }
    },
  });
}

/** Bytes; `null`: the connection ended before them; `too_long`: they are more than are read. */
export type TakenBytes = Uint8Array | "too_long" | null;

/** Reads a connection in the pieces of a protocol. Many small chunks cost no more than few large ones. */
export class ConnectionReader {
  readonly #connection: Connection;
  #unread: Uint8Array = new Uint8Array();
  #leftBytes: number;

  /** `bytesMax`: of all that is read. */
  constructor(connection: Connection, bytesMax: number) {
    this.#connection = connection;
    this.#leftBytes = bytesMax;
  }

  /** What chunks had more than was taken. */
  get unread(): Uint8Array {
    return this.#unread;
  }

  get takenMax(): number {
    return this.#leftBytes + this.#unread.length;
  }

  async take(count: number): Promise<TakenBytes> {
    if (count > this.takenMax) return "too_long";
    const parts = [this.#unread];
    let missing = count - this.#unread.length;
    while (missing > 0) {
      const chunk = await this.#read();
      if (chunk === null) return null;
      parts.push(chunk);
      missing -= chunk.length;
    }
    const all = parts.length === 1 ? this.#unread : joinBytes(parts);
    this.#unread = all.subarray(count);
    return all.subarray(0, count);
  }

  /** Takes the bytes in front of `end`, at most `bytesMax`, and leaves `end` out. */
  async takeUntil(end: Uint8Array, bytesMax: number): Promise<TakenBytes> {
    for (let from = 0;;) {
      const at = indexOf(this.#unread, end, from);
      if (at > bytesMax || at < 0 && this.#unread.length > bytesMax + end.length) return "too_long";
      if (at >= 0) {
        const taken = this.#unread.subarray(0, at);
        this.#unread = this.#unread.subarray(at + end.length);
        return taken;
      }
      from = Math.max(0, this.#unread.length - end.length + 1);
      const chunk = await this.#read();
      if (chunk === null) return null;
      if (this.#leftBytes < 0) return "too_long";
      this.#append(chunk);
    }
  }

  /** Copies a chunk behind the unread bytes; memory that is too small is at least doubled. */
  #append(chunk: Uint8Array): void {
    const { length, byteOffset } = this.#unread;
    const wholeLength = length + chunk.length;
    if (byteOffset + wholeLength > this.#unread.buffer.byteLength) {
      this.#unread = joinBytes([this.#unread, new Uint8Array(wholeLength)]).subarray(0, length);
    }
    this.#unread = new Uint8Array(this.#unread.buffer, this.#unread.byteOffset, wholeLength);
    this.#unread.set(chunk, length);
  }

  async #read(): Promise<Uint8Array | null> {
    const chunk = await this.#connection.read();
    this.#leftBytes -= chunk?.length ?? 0;
    return chunk;
  }
}

/** Returns where bytes, at least one, are first in others, from a position on; below 0: nowhere. */
function indexOf(bytes: Uint8Array, wanted: Uint8Array, from: number): number {
  const [first = 0] = wanted;
  for (let at = bytes.indexOf(first, from); at >= 0; at = bytes.indexOf(first, at + 1)) {
    if (wanted.every((byte, index) => bytes[at + index] === byte)) return at;
  }
  return -1;
}

interface AddressesOptions {
  readonly connections: Pick<Connections, "resolve">;
  readonly isEvery: boolean;
  readonly signal: AbortSignal;
}

/** Checks a target, or each IP address of its name at once; the result names the addresses that fail. */
export async function observeAddresses(
  target: ConnectionTarget,
  { connections, isEvery, signal }: AddressesOptions,
  observe: (target: ConnectionTarget) => Promise<CheckResult>,
): Promise<CheckResult> {
  if (!isEvery) return await observe(target);
  const addresses = await connections.resolve(target, signal).catch(() => []);
  if (addresses.length === 0) {
    // Connecting fails in the same way, with the reason.
    const result = await observe(target);
    return result.condition === "ok" ? unknownResult(`no addresses of ${target.host} are known`) : result;
  }
  // Name servers rotate the order, which is no change.
  const ordered = addresses.toSorted((one, other) => one.address < other.address ? -1 : 1);
  const checked = ordered.slice(0, ADDRESSES_MAX);
  const results = await Promise.all(checked.map(async (address): Promise<AddressResult> => ({
    address: address.address,
    result: await observe({ ...target, address }),
  })));
  return join(results, addresses.length - checked.length);
}

/** Reads the `ca_file` of a check, then checks the target or its IP addresses. The timeout covers everything. */
export async function observeWithAuthorities(
  { parameters: { caFile, everyAddress = false }, timeoutMs }: ConnectingCheck,
  target: ConnectionTarget,
  { context: { system: { clock, connections, files }, signal }, observe }: {
    readonly context: ObserveContext;
    observe(
      target: ConnectionTarget,
      run: { readonly authorities: readonly string[]; readonly signal: AbortSignal },
    ): Promise<CheckResult>;
  },
): Promise<CheckResult> {
  using deadline = startDeadline(clock, timeoutMs, signal);
  const authorities = await unlessAborted(readAuthorities(caFile, { files, timeoutMs }), deadline.signal)
    .catch(() => null);
  signal.throwIfAborted();
  if (authorities === null) return unknownResult(`timeout after ${timeoutMs / 1000} s while reading ca_file`);
  if (typeof authorities === "string") return unknownResult(authorities);
  const result = await observeAddresses(
    target,
    { connections, isEvery: everyAddress, signal: deadline.signal },
    (one) => observe(one, { authorities, signal: deadline.signal }),
  );
  signal.throwIfAborted();
  return result;
}

/** The owner of the name decides how many IP addresses it has. */
const ADDRESSES_MAX = 64;

interface AddressResult {
  readonly address: string;
  readonly result: CheckResult;
}

function join(results: readonly AddressResult[], uncheckedCount: number): CheckResult {
  const failing = results.filter(({ result }) => result.condition !== "ok");
  const failures = failing.map(({ address, result }) => `${address}: ${result.output}`);
  const unchecked = uncheckedCount === 0 ? "" : `, ${uncheckedCount} more not checked`;
  const all = results.length === 1 ? "the only address" : `all ${results.length} addresses`;
  const outputs = [...new Set(results.map(({ result }) => result.output))].slice(0, SHOWN_MAX).join("; ");
  const failed = `${failing.length} of ${results.length} addresses failed${unchecked}`;
  return checkResult(
    highestSeverity(results.map(({ result }) => result.condition)),
    failing.length === 0
      ? `${outputs} (${all}${unchecked})`
      : `${failed}: ${firstItems(failures, SHOWN_MAX).join("; ")}`,
    {
      addresses: results.length,
      failed_addresses: failing.length,
      ...worstMetrics(results.map(({ result }) => result.metrics)),
    },
  );
}

const SHOWN_MAX = 5;

/** The longest durations, and the shortest time until expiry. */
function worstMetrics(all: readonly CheckResult["metrics"][]): CheckResult["metrics"] {
  const worst: Record<string, number> = {};
  for (const metrics of all) {
    for (const [name, value] of Object.entries(metrics)) {
      const pick = name.includes("_left_") ? Math.min : Math.max;
      worst[name] = pick(worst[name] ?? value, value);
    }
  }
  return worst;
}

/** Far larger than any list of CAs. */
const TLS_FILE_BYTES_MAX = 4 * 1024 * 1024;

interface ReadTlsOptions {
  readonly files: Files;
  /** That of the check: on a busy machine, a file may be slow to open. */
  readonly timeoutMs: number;
}

export async function readTlsFiles(
  tls: HttpMessageTls,
  options: ReadTlsOptions,
): Promise<{ readonly tls: TlsMaterial } | { readonly problem: string }> {
  const read: { authority?: string; certificate?: string; key?: string } = {};
  for (const file of ["authority", "certificate", "key"] as const) {
    const key = file === "authority" ? "caFile" : file;
    const path = tls[key];
    if (path === undefined) continue;
    try {
      read[file] = await readText(path, { ...options, bytesMax: TLS_FILE_BYTES_MAX });
    } catch (error) {
      const name = key === "caFile" ? "ca_file" : key;
      return { problem: `cannot read tls.${name} "${path}": ${describeFileError(error, { path })}` };
    }
  }
  return { tls: read };
}

/** One certificate in the form of RFC 7468. */
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** Reads the certificates of a `ca_file`, or why there are none; without one there are none. */
async function readAuthorities(path: string | undefined, options: ReadTlsOptions) {
  if (path === undefined) return [];
  let text;
  try {
    text = await readText(path, { ...options, bytesMax: TLS_FILE_BYTES_MAX });
  } catch (error) {
    return `ca_file "${path}" cannot be read: ${describeFileError(error, { path })}`;
  }
  const certificates = text.match(CERTIFICATE) ?? [];
  return certificates.length > 0 ? certificates : `ca_file "${path}" contains no certificate, expected PEM`;
}
