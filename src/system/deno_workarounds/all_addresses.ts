/**
 * Workaround: `Deno.connect` tries the first address of a name alone, and nobody listens on it where `localhost` is `::1`
 * first and a server has only `127.0.0.1`. The others are reached by `node:net`, which alone may connect to the addresses
 * of a name that is granted.
 *
 * Upstream: https://github.com/denoland/deno/issues/25661 (in 2.7.11)
 */
import { connect, type LookupFunction, type Socket } from "node:net";
import { onAbort } from "../../shared/on_abort.ts";
import type { Clock } from "../../domain/clock.ts";
import type { ConnectionTarget, HostAddress } from "../../domain/connections.ts";
import { type KnownAddresses, lookUpName } from "../tcp/look_up_name.ts";
import { closeQuietly } from "../tcp/tcp_stream.ts";
import { connectDirectly } from "./connect_directly.ts";
import { createHangingLimit } from "./hanging_limit.ts";

/**
 * Connects to whichever address of a name answers first, as RFC 8305 has it. Where none can be reached, the error is that
 * of the first address.
 */
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
    const { addresses, token } = await lookUpInParallel(first, { target, signal: end.signal });
    for (const address of addresses.length > 1 ? addresses : []) {
      if (signal.aborted) break;
      // What has not answered again and again is left out for a while; an address that does answer is never among it.
      if (hanging.isReached({ host: address.address, port: target.port })) continue;
      attempts.push(connectToAddress({ ...target, ...address, token }, end.signal));
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

/** How long an address has before the next one is tried in parallel (RFC 8305, section 5). */
const ALONE_MS = 250;

/** Whether none has succeeded when the last one has failed in a way that is the address's, or takes long. */
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

/** An error of an address has a code; a name without addresses, or a missing permission, has none. */
function isOfAddress(error: unknown): boolean {
  return error instanceof Error && "code" in error && !NOT_OF_ADDRESS.has(error.code);
}

const NOT_OF_ADDRESS: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "EPERM"]);

const NO_ADDRESSES: KnownAddresses = { addresses: [], token: undefined };

/** The addresses of a name; none when an attempt has succeeded before they are known. */
async function lookUpInParallel(
  first: Promise<unknown>,
  { target, signal }: { readonly target: ConnectionTarget; readonly signal: AbortSignal },
): Promise<KnownAddresses> {
  const { promise: isThere, resolve } = Promise.withResolvers<KnownAddresses>();
  first.then(() => resolve(NO_ADDRESSES), () => {});
  return await Promise.race([isThere, lookUpName(target, signal).catch(() => NO_ADDRESSES)]);
}

/**
 * `node:net` cannot end an attempt to which there is no answer: the system gives it up after about two minutes. So there
 * are only some at a time to an address that does not answer.
 */
const hanging = createHangingLimit(() => performance.now());

/** Connects to one address of a name. Rejects with the signal's reason. */
export async function connectToOne(
  { host, port, address }: ConnectionTarget & { readonly address: HostAddress },
  signal: AbortSignal,
): Promise<Deno.TcpConn> {
  if (hanging.isReached({ host: address.address, port })) {
    throw new Error("ETIMEDOUT: earlier attempts still hang");
  }
  return await connectToAddress({ host, port, ...address }, signal);
}

/** Answers the look-up of a socket with an address that is known. The types of the callback lack its token. */
export function answerLookup({ address, family, token }: HostAddress): LookupFunction {
  return (_name, _options, callback) => {
    const resolve: (error: null, address: string, family: number, token: unknown) => void = callback;
    queueMicrotask(() => resolve(null, address, family, token));
  };
}

/** One address of a name, with what lets the runtime know that it is one. */
interface AddressTarget extends HostAddress, Pick<ConnectionTarget, "host" | "port"> {}

/** When the signal aborts, an attempt is left to itself, and ended as soon as it has succeeded. */
function connectToAddress(
  { host, port, address, family, token }: AddressTarget,
  signal: AbortSignal,
): Promise<Deno.TcpConn> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const lookup = answerLookup({ address, family, token });
    const socket = connect({ host, port, autoSelectFamily: false, lookup });
    // It must not read: the new owner of the connection does.
    socket.pause();
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const stopListening = onAbort(signal, () => {
      hanging.add({ host: address, port }, over);
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

/** What lies under a socket. */
function connectionOf(socket: Socket): Deno.TcpConn | null {
  const handle: object | null = Reflect.get(socket, "_handle");
  if (handle === null) return null;
  for (const key of Object.getOwnPropertySymbols(handle)) {
    const value: unknown = Reflect.get(handle, key);
    if (typeof value === "object" && value !== null && "closeWrite" in value) return value as Deno.TcpConn;
  }
  return null;
}
