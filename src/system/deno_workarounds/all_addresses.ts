/**
 * Workaround: `Deno.connect` tries only the first address of a name, and no server listens on it if `localhost` is
 * `::1` first and a server has only `127.0.0.1`. The others are reached by `node:net`, which alone may connect to the
 * addresses of a name that is granted.
 *
 * Upstream: https://github.com/denoland/deno/issues/25661 (in 2.7.11)
 */
import { connect, type LookupFunction, type Socket } from "node:net";
import { onAbort } from "../../shared/deadline.ts";
import type { Clock } from "../../domain/clock.ts";
import type { ConnectionTarget, HostAddress } from "../../domain/connections.ts";
import { closeQuietly, lookUpName } from "../tcp/tcp_stream.ts";
import { connectDirectly } from "./connect_directly.ts";
import { HangingLimit } from "./hanging_limit.ts";

/** Connects to the IP address of a name that responds first (RFC 8305). An error is that of the first one. */
export async function connectToAny(
  target: ConnectionTarget,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Deno.TcpConn> {
  const end = new AbortController();
  const stopListening = onAbort(signal, () => end.abort(signal.reason));
  const first = connectDirectly(target, end.signal);
  const attempts = [first];
  try {
    if (!await wantsAnother(attempts, clock)) return await first;
    const addresses = await lookUpInParallel(first, { target, signal: end.signal });
    for (const address of addresses.length > 1 ? addresses : []) {
      if (signal.aborted) break;
      // An IP address that repeatedly did not respond is skipped for a while; one that responds is never skipped.
      if (hanging.isReached({ host: address.address, port: target.port })) continue;
      attempts.push(connectToAddress({ ...target, address }, end.signal));
      if (!await wantsAnother(attempts, clock)) break;
    }
    const winner = await Promise.any(attempts).catch(() => first);
    for (const attempt of attempts) {
      attempt.then((connection) => connection !== winner && closeQuietly(connection), () => {});
    }
    return winner;
  } finally {
    stopListening();
    end.abort();
  }
}

/** The delay before the next IP address is tried in parallel (RFC 8305, section 5). */
const ALONE_MS = 250;

/** Returns whether none has succeeded when the last one has failed because of the IP address, or is slow. */
async function wantsAnother(attempts: readonly Promise<unknown>[], clock: Clock): Promise<boolean> {
  const { promise: isDecided, resolve } = Promise.withResolvers<boolean>();
  const cancel = clock.after(ALONE_MS, () => resolve(true));
  attempts.at(-1)?.catch((error: unknown) => resolve(isOfAddress(error)));
  for (const attempt of attempts) attempt.then(() => resolve(false), () => {});
  try {
    return await isDecided;
  } finally {
    cancel();
  }
}

/** An error of an IP address has a code; a name without any, or a missing permission, has none. */
function isOfAddress(error: unknown): boolean {
  return error instanceof Error && "code" in error && !NOT_OF_ADDRESS.has(error.code);
}

const NOT_OF_ADDRESS: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "EPERM"]);

/** Returns the IP addresses of a name; none if an attempt has succeeded before they are resolved. */
async function lookUpInParallel(
  first: Promise<unknown>,
  { target, signal }: { readonly target: ConnectionTarget; readonly signal: AbortSignal },
): Promise<readonly HostAddress[]> {
  const { promise: isThere, resolve } = Promise.withResolvers<readonly HostAddress[]>();
  first.then(() => resolve([]), () => {});
  return await Promise.race([isThere, lookUpName(target, signal).catch(() => [])]);
}

/**
 * `node:net` cannot abort an attempt without a response: the system times out after about two minutes. So there are
 * only some at a time to an IP address that does not respond.
 */
const hanging = new HangingLimit(() => performance.now());

/** Connects to one IP address of a name. Rejects with the signal's reason. */
export async function connectToOne(target: AddressTarget, signal: AbortSignal): Promise<Deno.TcpConn> {
  if (hanging.isReached({ host: target.address.address, port: target.port })) {
    throw new Error("ETIMEDOUT: earlier attempts still hang");
  }
  return await connectToAddress(target, signal);
}

/** Resolves the look-up of a socket to a known IP address. The types of the callback lack its token. */
export function answerLookup({ address, family, token }: HostAddress): LookupFunction {
  return (_name, _options, callback) => {
    const resolve: (error: null, address: string, family: number, token: unknown) => void = callback;
    queueMicrotask(() => resolve(null, address, family, token));
  };
}

type AddressTarget = ConnectionTarget & { readonly address: HostAddress };

/** When the signal aborts, an attempt is left to itself, and ended as soon as it has succeeded. */
function connectToAddress(
  { host, port, address }: AddressTarget,
  signal: AbortSignal,
): Promise<Deno.TcpConn> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = connect({ host, port, autoSelectFamily: false, lookup: answerLookup(address) });
    // It must not read: the new owner of the connection does.
    socket.pause();
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const stopListening = onAbort(signal, () => {
      hanging.add({ host: address.address, port }, over);
      reject(signal.reason);
    });
    const finish = (): void => {
      stopListening();
      end();
    };
    // The listener stays, so that a late error does not crash the process.
    socket.on("error", (error) => {
      finish();
      reject(error);
    });
    socket.once("connect", () => {
      finish();
      const connection = signal.aborted ? null : connectionOf(socket);
      if (connection !== null) return resolve(connection);
      socket.destroy();
      reject(new Error("the connection cannot be taken over"));
    });
  });
}

function connectionOf(socket: Socket): Deno.TcpConn | null {
  const handle: object | null = Reflect.get(socket, "_handle");
  if (handle === null) return null;
  for (const key of Object.getOwnPropertySymbols(handle)) {
    const value: unknown = Reflect.get(handle, key);
    if (typeof value === "object" && value !== null && "closeWrite" in value) return value as Deno.TcpConn;
  }
  return null;
}
