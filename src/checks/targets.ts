/** Parses the words that name a target on the command line. Each kind's own file turns them into parameters. */
import type { CheckKind } from "../domain/check.ts";
import type { CheckTarget } from "../domain/check_kind.ts";
import { isLoopback } from "../shared/ip_address.ts";

/** Of a kind without a main parameter. */
export function withoutTarget<K extends CheckKind>(name: string): CheckTarget<K> {
  return { form: null, parametersOf: () => null, nameOf: () => name, subjectsOf: () => [] };
}

/** The same of a kind that is about this machine, which has one of its subject. */
export function targetOfMachine<K extends CheckKind>(name: string): CheckTarget<K> {
  return { ...withoutTarget(name), subjectsOf: () => [name] };
}

const PORT = String.raw`\d{1,5}`;
const HOST = String.raw`\[[\da-fA-F:.]+\]|[^\s:/[\]@]+`;

/** `HOST:PORT`, a port of this machine (`8080`, `:8080`). */
const PLAIN = new RegExp(`^(?:(${HOST})?:)?(${PORT})$`);

/** A published port of a container, as `docker run -p` reads it: `8080:80`, `127.0.0.1:8080:80`. */
const PUBLISHED = new RegExp(String.raw`^(?:(${HOST}):)?(${PORT}):${PORT}(?:/tcp)?$`);

/** The same as `docker ps` prints it: `0.0.0.0:8080->80/tcp`. */
const LISTED = new RegExp(String.raw`^(?:(${HOST}):)?(${PORT})->${PORT}/tcp(?:,.*)?$`);

/** Finds the host and the port in a word; `null`: it has another form. A port alone is one of this machine. */
export function hostPortIn(text: string): { readonly host: string; readonly port: number } | null {
  // A host of digits alone is a port.
  const isPublished = /^\d+:\d+/.test(text) || !PLAIN.test(text);
  const match = isPublished ? PUBLISHED.exec(text) ?? LISTED.exec(text) : PLAIN.exec(text);
  if (match === null) return null;
  const port = Number(match[2]);
  if (port < 1 || port > 65_535) return null;
  const host = (match[1] ?? "127.0.0.1").replace(/^\[(.*)\]$/, "$1");
  return { host: EVERY_ADDRESS[host] ?? host, port };
}

/** A server that listens at every IP address is reached at the loopback one. */
const EVERY_ADDRESS: Readonly<Record<string, string>> = {
  "0.0.0.0": "127.0.0.1",
  "::": "::1",
  "*": "127.0.0.1",
};

/** A word as the name of a check: letters, digits, `.`, `_` and `-`. */
export function nameFor(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}._-]+/gu, "_").replaceAll(/^[_.-]+|[_.-]+$/g, "") || "check";
}

export function nameForPath(path: string): string {
  return nameFor(path.replace(/\/+$/, "").split("/").at(-1) ?? "");
}

/** A port of a host, however this machine is named. */
export function portSubject(host: string, port: number): string {
  const plain = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return `port ${isLoopback(plain) ? "localhost" : plain}:${port}`;
}
