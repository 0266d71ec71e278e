import { type CheckResult, checkResult, unknownResult } from "../domain/check.ts";
import type { ObserveContext } from "../domain/check_kind.ts";
import { startDeadline, unlessAborted } from "../shared/deadline.ts";
import type { Connections, ConnectionTarget, TlsMaterial } from "../domain/connections.ts";
import { highestSeverity } from "../domain/condition.ts";
import { firstItems } from "../shared/text.ts";
import { describeFileError } from "../shared/describe_error.ts";
import type { HttpMessageTls } from "../domain/generated/config.ts";
import { readText } from "../shared/regular_file.ts";
import type { Files } from "../domain/system.ts";

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

interface ConnectingCheck {
  readonly parameters: { readonly caFile?: string; readonly everyAddress?: boolean };
  readonly timeoutMs: number;
}

type AuthoritiesRun = { readonly authorities: readonly string[]; readonly signal: AbortSignal };

/** Reads the `ca_file` of a check, then checks the target or its IP addresses. The timeout covers everything. */
export async function observeWithAuthorities(
  { parameters: { caFile, everyAddress = false }, timeoutMs }: ConnectingCheck,
  target: ConnectionTarget,
  { context: { system: { clock, connections, files }, signal }, observe }: {
    readonly context: ObserveContext;
    observe(target: ConnectionTarget, run: AuthoritiesRun): Promise<CheckResult>;
  },
): Promise<CheckResult> {
  signal.throwIfAborted();
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

type TlsFiles = { readonly tls: TlsMaterial } | { readonly problem: string };

/** Far larger than any list of CAs. */
const TLS_FILE_BYTES_MAX = 4 * 1024 * 1024;

interface ReadTlsOptions {
  readonly files: Files;
  /** That of the check: on a busy machine, a file may be slow to open. */
  readonly timeoutMs: number;
}

export async function readTlsFiles(tls: HttpMessageTls, options: ReadTlsOptions): Promise<TlsFiles> {
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
