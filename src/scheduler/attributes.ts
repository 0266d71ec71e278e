/**
 * What a run depends on: which resolver, host, address, network, port, certificate, file system, container host or systemd
 * unit it used, and how far it came, by the notes of `noted_system.ts`. `src/engine/causes.ts` compares them.
 *
 * Whatever responded is no suspect: a refused connection leaves the port, a wrong response the port and its certificate.
 */
import type { Attribute, AttributeKind, Check, LocationVote, RunAttributes } from "../domain/check.ts";
import type { Condition } from "../domain/condition.ts";
import type { ConnectionPhase, ConnectionTarget } from "../domain/connections.ts";
import { hostAndPort } from "../domain/runtime_permissions.ts";
import { type CheckRecord, isEdited } from "../domain/store.ts";
import { startDeadline, unlessAborted } from "../shared/deadline.ts";
import { isOwnFailure } from "../shared/failure_words.ts";
import { canonicalAddress, isLoopback, isPrivate } from "../shared/ip_address.ts";
import { MINUTE_MS } from "../shared/time_units.ts";
import {
  bare,
  type Contact,
  fingerprintOf,
  NotedSystem,
  noteFailure,
  type RunSystem,
} from "./noted_system.ts";

/** How long the IP addresses of a name are reused, unless a run fails. */
const FRESH_MS = 5 * MINUTE_MS;
/** Maximum time of look-ups and connections for the attributes alone. */
const LATER_TIMEOUT_MS = 3_000;
const ADDRESSES_MAX = 4;

interface ObservedRun {
  readonly system: RunSystem;
  /** Returns the attributes of the run; reads what is missing, also if the signal aborts. */
  finish(ended: EndedRun, signal: AbortSignal): Promise<RunAttributes | undefined>;
}

interface EndedRun {
  readonly condition: Condition;
  /** The host that a command reached; `null`: none. */
  readonly host: string | null;
  /** Another attribute, which the kind of the check knows; `null`: none. */
  readonly shared: Attribute | null;
  /** The systemd unit that the config names; `null`: none. */
  readonly unit: string | null;
  /** Those that the run found. */
  readonly units: readonly string[];
  /** Those of the last run, for a failure before anything was observed. */
  readonly last: RunAttributes | undefined;
}

/** Whether a run found no failure, and all that it depended on is what it contacted. */
function isPlain({ condition, host, shared, unit, units }: EndedRun): boolean {
  return condition === "ok" && host === null && shared === null && unit === null && units.length === 0;
}

/** Notes the attributes of runs; keeps the addresses of names for a while. */
export class AttributeObserver {
  readonly #addresses = new Map<
    string,
    { readonly addresses: readonly string[]; readonly untilMs: number }
  >();
  readonly #machine: string | null;
  readonly #location: string | null;
  /**
   * By the attributes of a run that contacted one server without a failure, and used nothing else, what they are made of:
   * the next such run has the same. Not by those that a look-up found, since the next one may find something else.
   */
  readonly #madeOf = new WeakMap<RunAttributes, { readonly contact: string; readonly untilMs: number }>();
  #resolver: { readonly name: string; readonly untilMs: number } | null = null;

  /** Members compare their attributes: those that are local have the name of the machine, or of its location. */
  constructor(machine: string | null = null, location: string | null = null) {
    [this.#machine, this.#location] = [machine, location];
  }

  /** Wraps the parts of the machine that a run uses; `own` is for what only the attributes need. */
  start(system: RunSystem, own: RunSystem): ObservedRun {
    const noted = new NotedSystem(system, own.files);
    return { system: noted, finish: (ended, signal) => this.#finish(noted, own, ended, signal) };
  }

  async #finish(
    noted: NotedSystem,
    own: RunSystem,
    ended: EndedRun,
    signal: AbortSignal,
  ): Promise<RunAttributes | undefined> {
    const contact = isPlain(ended) ? noted.onlyContact : null;
    if (contact === null) return await this.#attributesOf(noted, own, ended, signal);
    const nowMs = own.clock.monotonicMs();
    const { last } = ended;
    const madeOf = last === undefined ? undefined : this.#madeOf.get(last);
    if (madeOf !== undefined && madeOf.contact === contact.key && madeOf.untilMs > nowMs) return last;
    const attributes = await this.#attributesOf(noted, own, ended, signal);
    if (attributes !== undefined && contact.address !== null) {
      const untilMs = isName(contact.place.target) ? this.#resolver?.untilMs ?? nowMs : Infinity;
      this.#madeOf.set(attributes, { contact: contact.key, untilMs });
    }
    return attributes;
  }

  async #attributesOf(
    noted: NotedSystem,
    own: RunSystem,
    { condition, host, shared, unit, units, last }: EndedRun,
    signal: AbortSignal,
  ): Promise<RunAttributes | undefined> {
    const { contacts, questions, devices, hasProcess, isProxied } = noted;
    const isOk = condition === "ok";
    const words = new Words();
    // A failure of a proxy, or of this machine itself, is none of the unit, and neither is a wrong response.
    const isAnswered = !isOk &&
      contacts.some(({ reached, failedAt }) => reached === "answer" && failedAt !== "connecting");
    if (!isProxied && !isAnswered && !contacts.some(({ isOwn }) => isOwn)) {
      const found = (unit === null ? units : [unit]).map((one) => this.#here(one));
      const known = new Set(isOk || unit !== null ? found : [...found, ...this.#lastOf(UNIT, last)]);
      for (const one of known.size > UNITS_MAX ? [] : known) words.add(UNIT, one, !isOk);
    }
    if (hasProcess && host === null && contacts.length + questions.length === 0) return words.attributes;
    using deadline = startDeadline(own.clock, LATER_TIMEOUT_MS, signal);
    const reading: Reading = { system: own, isOk, signal: deadline.signal };
    if (host !== null) {
      const contact = noted.note({ target: { host, port: 0 }, tls: null });
      contact.reached = isOk ? "answer" : null;
      contact.hasFailed = !isOk;
    }
    if (shared !== null) words.add(shared.kind, this.#ofHost(shared.value, shared.host), !isOk);
    const isSuspect = suspects(contacts, isOk);
    for (const contact of contacts.filter(({ isOwn }) => !isOwn)) {
      await this.#addContact(contact, isSuspect(contact), { ...reading, words });
    }
    for (const { server, name, reason } of questions) {
      const resolver = server === null ? await this.#resolverOf(reading) : this.#ofHost(server, server);
      const isSilent = reason !== null && NO_ANSWER.test(reason);
      words.add("resolver", resolver, isSilent && !isOk);
      if (!isSilent) words.add("host", name, !isOk);
    }
    // Other files are those of a request or a command.
    if (contacts.length + questions.length === 0 && !hasProcess) {
      const [device] = devices;
      const fileSystems = device === undefined
        ? this.#lastOf(FILE_SYSTEM, last)
        : [this.#here(String(device))];
      for (const one of fileSystems) words.add(FILE_SYSTEM, one, !isOk);
    }
    return words.attributes;
  }

  #here(value: string): string {
    return this.#machine === null ? value : `${value} on ${this.#machine}`;
  }

  /** Another site may have the same private address; `null`: of this machine. */
  #ofHost(value: string, host: string | null): string {
    if (host === null || isLoopback(host)) return this.#here(value);
    return this.#location !== null && isPrivate(bare(host)) ? `${value} at ${this.#location}` : value;
  }

  /** Returns the values of a kind in the last run, if it was on this machine: what is gone now was there. */
  #lastOf(kind: AttributeKind, last: RunAttributes | undefined): readonly string[] {
    return [...last?.suspected ?? [], ...last?.worked ?? []]
      .filter((word) => word.startsWith(`${kind} `)).map((word) => word.slice(kind.length + 1))
      .filter((value) => value === this.#here(value.replace(/ .*/s, "")));
  }

  async #addContact(
    contact: Contact,
    isSuspect: boolean,
    { words, ...reading }: Reading & { readonly words: Words },
  ): Promise<void> {
    const { place: { target }, address } = contact;
    const { port, socket } = target;
    if (socket !== undefined) return words.add("port", this.#here(socket), isSuspect);
    const name = nameIn(target);
    const addresses = contact.reached === "nothing" || contact.reached === "resolver"
      ? null
      : address !== null
      ? [address]
      : await this.#addressesOf(target, isSuspect, reading);
    if (isName(target)) {
      const isUnresolved = addresses === null;
      const resolver = await this.#resolverOf(reading);
      words.add("resolver", resolver, isSuspect && isUnresolved && contact.reached !== "resolver");
      words.add("host", name, isSuspect && isUnresolved);
    }
    if (addresses === null || addresses.length === 0) return;
    if (isSuspect) await reachFurther(contact, reading);
    for (const one of addresses) {
      const isUnreached = isSuspect && contact.reached !== "answer";
      words.add("address", this.#ofHost(one, one), isUnreached);
      if (!isLoopback(one)) words.add("network", this.#ofHost(networkOf(one), one), isUnreached);
      if (port !== 0) words.add("port", this.#ofHost(hostAndPort(one, port), one), isSuspect);
    }
    if (contact.fingerprint !== null) words.add("certificate", contact.fingerprint, isSuspect);
  }

  /** Returns the IP addresses of a name, in a fixed order; `null`: it does not resolve. */
  async #addressesOf(
    target: ConnectionTarget,
    isSuspect: boolean,
    { system: { clock, connections }, signal }: Reading,
  ): Promise<readonly string[] | null> {
    const nowMs = clock.monotonicMs();
    const known = this.#addresses.get(target.host);
    if (!isSuspect && known !== undefined && known.untilMs > nowMs) return known.addresses;
    try {
      const found = await unlessAborted(connections.resolve(target, signal), signal);
      const addresses = found.map(({ address }) => address).sort().slice(0, ADDRESSES_MAX);
      this.#addresses.set(target.host, { addresses, untilMs: nowMs + FRESH_MS });
      return addresses;
    } catch (error) {
      return !signal.aborted && isOwnFailure(connections.explain(error, target, "connecting")) ? [] : null;
    }
  }

  /** Returns the name servers of this machine, in few words. */
  async #resolverOf({ system: { clock, dns } }: Reading): Promise<string> {
    const nowMs = clock.monotonicMs();
    if (this.#resolver === null || this.#resolver.untilMs <= nowMs) {
      const servers = await dns.machineServers();
      const hosts = servers.map(({ host }) => host);
      const host = hosts.find(isLoopback) ?? hosts.find((one) => isPrivate(bare(one))) ?? hosts[0] ?? null;
      const name = this.#ofHost(hosts.join(", ") || "of this machine", host);
      this.#resolver = { name, untilMs: nowMs + FRESH_MS };
    }
    return this.#resolver.name;
  }
}

/** Connects once more if it is not known whether the server responded, or which certificate was not accepted. */
async function reachFurther(contact: Contact, { system: { connections }, signal }: Reading): Promise<void> {
  const { place: { target, tls }, reached, failedAt } = contact;
  if (reached === null && (failedAt === "connecting" || target.port === 0)) return;
  const lacksCertificate = tls !== null && failedAt === "TLS" && contact.fingerprint === null;
  if (reached !== null && !lacksCertificate) return;
  const onPhase = (phase: ConnectionPhase): void => {
    if (phase !== "connecting") contact.reached = "answer";
  };
  try {
    if (tls === null) (await connections.connect(target, { onPhase, signal })).close();
    else {
      const { facts } = await connections.readCertificate({ ...target, tls }, { onPhase, signal });
      contact.fingerprint = fingerprintOf(facts);
    }
    contact.reached = "answer";
  } catch (error) {
    if (contact.reached === null && !signal.aborted) {
      noteFailure(contact, connections.explain(error, target, "connecting"));
    }
  }
}

/** Returns the attributes of the last run of a check, unless it was edited since. */
export function lastAttributes(check: Check, record: Pick<CheckRecord, "last">): RunAttributes | undefined {
  return isEdited(check, record) ? undefined : record.last?.attributes;
}

/** Returns the locations that a check depended on. One of them is a suspect only if the check is ok at another. */
export function locationAttributes(
  votes: readonly LocationVote[],
  condition: Condition,
): RunAttributes | undefined {
  const well = votes.filter((vote) => vote.condition === "ok");
  if (well.length === 0) return undefined;
  const words = new Words();
  for (const { location } of well) words.add("location", location, false);
  if (condition === "ok") return words.attributes;
  const failing = votes.filter((vote) => vote.condition === "critical" || vote.condition === "warning");
  for (const { location } of failing) words.add("location", location, true);
  return words.attributes;
}

/** What the config shows of the attributes of a check. */
export interface ConfiguredAttributes extends Pick<EndedRun, "shared" | "unit"> {
  /** Its servers, as permissions name them. */
  readonly servers: readonly string[];
}

/**
 * Returns the attributes of a result that no run has, as a rehearsal assumes them: each name of a host is its one IP
 * address, and a failure is that of all servers of the check. They did not respond, unless the output shows a response.
 */
export function assumedAttributes(
  { servers, shared, unit }: ConfiguredAttributes,
  { condition, output }: { readonly condition: Condition; readonly output: string },
): RunAttributes | undefined {
  const isSuspect = condition !== "ok";
  const isRefused = REFUSED.test(output);
  const hasResponded = isRefused || RESPONDED.test(output);
  const words = new Words();
  if (shared !== null) words.add(shared.kind, shared.value, isSuspect);
  if (unit !== null && (!isSuspect || isRefused || !hasResponded)) words.add(UNIT, unit, isSuspect);
  for (const server of servers) {
    const host = bare(server.replace(/:\d+$/, ""));
    words.add("address", host, isSuspect && !hasResponded);
    if (canonicalAddress(host) !== null && !isLoopback(host)) {
      words.add("network", networkOf(host), isSuspect && !hasResponded);
    }
    if (!server.endsWith(":0")) words.add("port", server, isSuspect);
  }
  return words.attributes;
}

const REFUSED = /connection (?:refused|reset)/;
const RESPONDED = /\bstatus (?:is )?\d/;

interface Reading {
  readonly system: RunSystem;
  readonly isOk: boolean;
  readonly signal: AbortSignal;
}

/** What a run depended on; what did not work is suspected, even if it worked for another part of the run. */
class Words {
  readonly #suspected = new Set<string>();
  readonly #worked = new Set<string>();

  add(kind: AttributeKind, value: string, isSuspect: boolean): void {
    (isSuspect ? this.#suspected : this.#worked).add(`${kind} ${value}`);
  }

  get attributes(): RunAttributes | undefined {
    if (this.#suspected.size + this.#worked.size === 0) return undefined;
    return { suspected: [...this.#suspected], worked: [...this.#worked.difference(this.#suspected)] };
  }
}

const FILE_SYSTEM = "file system";
const UNIT = "unit";
/** What is in more units is of none. */
const UNITS_MAX = 4;

/** Without a failed contact, the last one returned what was not expected. */
function suspects(contacts: readonly Contact[], isOk: boolean): (contact: Contact) => boolean {
  const failed = contacts.filter(({ hasFailed }) => hasFailed);
  return (contact) => !isOk && (failed.length > 0 ? contact.hasFailed : contact === contacts.at(-1));
}

/** The words of a name server that did not respond. */
const NO_ANSWER = /^no (?:complete )?response|connection|network is unreachable|no route|timed out/;

/** Returns the usual size of a network of one site: /24 of IPv4, /64 of IPv6. */
function networkOf(address: string): string {
  if (!address.includes(":")) return `${address.replace(/\.\d+$/, "")}.0/24`;
  const [head = "", tail] = address.split("::");
  const groups = head.split(":");
  const missing = tail === undefined ? 0 : 8 - groups.length - tail.split(":").length;
  const all = [...groups, ...Array.from({ length: Math.max(0, missing) }, () => "0")];
  return `${all.slice(0, 4).join(":")}::/64`;
}

function nameIn({ host }: ConnectionTarget): string {
  return bare(host).toLowerCase().replace(/\.$/, "");
}

/** Whether a name server is asked for the address. */
function isName(target: ConnectionTarget): boolean {
  const name = nameIn(target);
  return canonicalAddress(name) === null && !isLoopback(name);
}
