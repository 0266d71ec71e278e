/**
 * The CA certificates that TLS trusts. The runtime loads them when the first client is created, for `http:` too, and
 * keeps them. An environment variable chooses them, which may be set from inside until then.
 */
import { messageOf } from "../../shared/describe_error.ts";
import { TRUST_VARIABLE } from "../../domain/runtime_permissions.ts";

/** The machine's certificates and the list that is built into the runtime; on a machine without any, the list alone. */
const MACHINE_AND_BUILT_IN = "system,mozilla";

/**
 * Makes TLS trust the machine's CA certificates, unless the user has set the variable, and loads them. Call it before the
 * first client: later no file descriptor may be left, and the executable keeps the first failure.
 */
export function trustMachine(): void {
  const { state } = Deno.permissions.querySync({ name: "env", variable: TRUST_VARIABLE });
  // An empty variable is one that is not set.
  if (state === "granted" && (Deno.env.get(TRUST_VARIABLE) ?? "") === "") {
    Deno.env.set(TRUST_VARIABLE, MACHINE_AND_BUILT_IN);
  }
  try {
    requireTrust();
  } catch {
    // The code that requires it reports the error.
  }
}

let isLoaded = false;

/**
 * Loads the trusted certificates once, before `node:tls`, which never completes a handshake without them.
 * @throws If they can't be loaded; {@linkcode explainTrustError} describes the error.
 */
export function requireTrust(): void {
  if (isLoaded) return;
  Deno.createHttpClient({}).close();
  isLoaded = true;
}

const MACHINE_FAILURE = /^Failed to load platform certificates: (.*?)(?: \(os error \d+\))?$/;
const UNKNOWN_STORE = /^Unknown certificate store ("[^"]*") specified/;
const FILE_FAILURE = /^Failed opening CA file: (.*?)(?: \(os error \d+\))?$/;

/** Returns why the trusted certificates cannot be loaded; `null` where an error is about something else. */
export function explainTrustError(error: unknown): string | null {
  const text = messageOf(error);
  // That passes, and is about more than certificates.
  if (text.includes("Too many open files")) return null;
  const store = UNKNOWN_STORE.exec(text)?.[1];
  if (store !== undefined) {
    return `${TRUST_VARIABLE} has the unknown value ${store}, expected system or mozilla`;
  }
  const machine = MACHINE_FAILURE.exec(text)?.[1];
  if (machine !== undefined) {
    return `cannot load the certificates of this machine: ${machine} (without them: ${TRUST_VARIABLE}=mozilla)`;
  }
  const file = FILE_FAILURE.exec(text)?.[1];
  return file === undefined ? null : `cannot load the certificates in DENO_CERT: ${file}`;
}
