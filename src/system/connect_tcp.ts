/**
 * Connections over TCP in clear text.
 *
 * All addresses of a name are tried, as RFC 8305 has it. Deno 2.9 does so by itself; before, `Deno.connect` knows the
 * first address alone, and nobody listens on it where `localhost` is `::1` first and a server has only `127.0.0.1`.
 * The others are reached by `node:net` there, which alone may connect to the addresses of a name that is granted.
 */
import { connect, isIP, type Socket } from "node:net";
import { onAbort } from "../domain/on_abort.ts";
import type { ConnectionTarget } from "../domain/system.ts";
import { createHangingLimit } from "./hanging_limit.ts";
import { lookUpName } from "./look_up_name.ts";
import { closeQuietly, withoutBrackets } from "./tcp_stream.ts";

/**
 * Connects. When the signal aborts, it rejects with its reason, and no descriptor is left behind but those of attempts
 * at other addresses before Deno 2.9, see {@linkcode connectToOthers}.
 */
export async function connectTcp(
  { host, port }: ConnectionTarget,
  signal: AbortSignal,
): Promise<Deno.TcpConn> {
  signal.throwIfAborted();
  const target = { host: withoutBrackets(host), port };
  let connection: Deno.TcpConn;
  try {
    connection = TRIES_ALL_ADDRESSES || isIP(target.host) !== 0
      ? await connectDirectly(target, signal)
      : await connectToAny(target, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  if (!signal.aborted) return connection;
  closeQuietly(connection);
  throw signal.reason;
}

const [MAJOR = 0, MINOR = 0] = Deno.version.deno.split(".").map(Number);
const TRIES_ALL_ADDRESSES = MAJOR > 2 || MINOR >= 9;

/**
 * The runtime asks its signal once more when it has connected, and where that has aborted meanwhile it throws and
 * forgets the connection, which nobody can close any more. So its signal ends an attempt and answers nothing.
 */
async function connectDirectly(
  { host, port }: ConnectionTarget,
  signal: AbortSignal,
): Promise<Deno.TcpConn> {
  const end = new AbortController();
  Object.defineProperty(end.signal, "throwIfAborted", { value: () => {} });
  const stopListening = onAbort(signal, () => end.abort());
  try {
    return await Deno.connect({ hostname: host, port, signal: end.signal });
  } finally {
    stopListening();
  }
}

/** Where none can be reached, the error is that of the first address. */
async function connectToAny(target: ConnectionTarget, signal: AbortSignal): Promise<Deno.TcpConn> {
  const end = new AbortController();
  const stopListening = onAbort(signal, () => end.abort(signal.reason));
  try {
    const first = connectDirectly(target, end.signal);
    if (!await wantsOthers(first) || signal.aborted) return await first;
    if (!await hasOthers(target, { first, signal })) return await first;
    const others = connectToOthers(target, end.signal);
    const winner = await Promise.any([first, others]).catch(() => first);
    for (const attempt of [first, others]) {
      attempt.then((connection) => connection !== winner && closeQuietly(connection), () => {});
    }
    return winner;
  } finally {
    stopListening();
    end.abort();
  }
}

/** So long the first address has before the others are tried beside it (RFC 8305, section 5). */
const FIRST_ALONE_MS = 250;

/** Whether an attempt has failed in a way that is the address's, or takes long. */
async function wantsOthers(first: Promise<unknown>): Promise<boolean> {
  const { promise: isLate, resolve } = Promise.withResolvers<true>();
  const timer = setTimeout(() => resolve(true), FIRST_ALONE_MS);
  try {
    return await Promise.race([isLate, first.then(() => false, isOfAddress)]);
  } finally {
    clearTimeout(timer);
  }
}

/** What the system says of an address has a code; that a name has none, or a permission is missing, has not. */
function isOfAddress(error: unknown): boolean {
  return error instanceof Error && "code" in error && !NOT_OF_ADDRESS.has(error.code);
}

const NOT_OF_ADDRESS: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "EPERM"]);

async function hasOthers(
  target: ConnectionTarget,
  { first, signal }: { readonly first: Promise<unknown>; readonly signal: AbortSignal },
): Promise<boolean> {
  if (hanging.isReached(target)) return false;
  const { promise: isThere, resolve } = Promise.withResolvers<readonly string[]>();
  first.then(() => resolve([]), () => {});
  const known = lookUpName(target, signal).catch(() => []);
  return (await Promise.race([isThere, known])).length > 1;
}

/**
 * `node:net` cannot end an attempt to which there is no answer, whatever it tries next: the system gives it up after
 * about two minutes. So there are never more than some for a server.
 */
const hanging = createHangingLimit(() => performance.now(), 32);
const GIVEN_UP_MS = 130_000;

/** What comes of an address after that is lost, so it is long. The first address has had a head start. */
const EACH_ALONE_MS = 2_500;

/** When the signal aborts, an attempt is left to itself, and ended as soon as it has succeeded. */
function connectToOthers(target: ConnectionTarget, signal: AbortSignal): Promise<Deno.TcpConn> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const giveUpMs = performance.now() + EACH_ALONE_MS;
    const socket = connect({
      ...target,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: EACH_ALONE_MS,
    });
    // It must not read: that is for whoever takes the connection over.
    socket.pause();
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const stopListening = onAbort(signal, () => {
      hanging.add(target, over);
      reject(signal.reason);
    });
    const finish = (): void => {
      stopListening();
      if (performance.now() >= giveUpMs) hanging.addFor(target, GIVEN_UP_MS);
      end();
    };
    // The listener stays, so that an error that comes late is nobody's crash.
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

/** What lies under a socket before Deno 2.9. */
function connectionOf(socket: Socket): Deno.TcpConn | null {
  const handle: object | null = Reflect.get(socket, "_handle");
  if (handle === null) return null;
  for (const key of Object.getOwnPropertySymbols(handle)) {
    const value: unknown = Reflect.get(handle, key);
    if (typeof value === "object" && value !== null && "closeWrite" in value) return value as Deno.TcpConn;
  }
  return null;
}
