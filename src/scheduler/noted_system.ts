/** The parts of the machine as a run uses them, with notes of which servers, name servers and file systems those were. */
import type { ObserveContext } from "../domain/check_kind.ts";
import type {
  CertificateFacts,
  ConnectionOptions,
  ConnectionPhase,
  Connections,
  ConnectionTarget,
  Dns,
  HandshakeTarget,
  OutgoingRequest,
  Requests,
  TlsExpectations,
} from "../domain/connections.ts";
import type { Processes } from "../domain/processes.ts";
import type { Files, Host } from "../domain/system.ts";
import { hasAnswered, isOwnFailure, NO_NAME_SERVER } from "../shared/failure_words.ts";
import { canonicalAddress } from "../shared/ip_address.ts";

export type RunSystem = ObserveContext["system"];

const CONTACTS_MAX = 16;
/** Enough to tell certificates apart. */
const FINGERPRINT_DIGITS = 16;

/** How far a run came; `null`: that is not known, as after a timeout. */
type Reached = "nothing" | "resolver" | "name" | "answer" | null;

interface ContactPlace {
  readonly target: ConnectionTarget;
  readonly tls: TlsExpectations | null;
}

/** A server that a run used, or tried to. */
export class Contact {
  reached: Reached = null;
  hasFailed = false;
  /** Whether the time was up, or the failure came, in this phase; `null`: no failure, or an unknown phase. */
  failedAt: ConnectionPhase | "other" | null = null;
  /** Whether the failure is one of this machine, which reveals nothing about the target. */
  isOwn = false;
  fingerprint: string | null = null;
  /** The IP address and port that responded, if the run found it out. */
  peer: string | undefined;
  readonly #to: OutgoingRequest | ContactPlace;
  #place: ContactPlace | null = null;

  constructor(to: OutgoingRequest | ContactPlace) {
    this.#to = to;
  }

  get place(): ContactPlace {
    return this.#place ??= "method" in this.#to ? placeOf(this.#to) : this.#to;
  }

  /** The IP address, if it is known. */
  get address(): string | null {
    const { address, host } = this.place.target;
    return address?.address ?? canonicalAddress(bare(host)) ??
      canonicalAddress(bare(this.peer?.replace(/:\d+$/, "") ?? ""));
  }

  /** All that its attributes depend on in a run without a failure. */
  get key(): string {
    const to = this.#to;
    const [url, target]: readonly [string, Partial<ConnectionTarget>] = "method" in to
      ? [to.target, to.connection ?? {}]
      : ["", to.target];
    const { host, port, socket, address } = target;
    const place = `${url} ${host} ${port} ${socket} ${address?.address} ${this.peer}`;
    return `${place} ${this.reached} ${this.fingerprint}`;
  }
}

function placeOf({ target, tls, connection, refuses }: OutgoingRequest): ContactPlace {
  const { hostname, port, protocol } = new URL(target);
  const isSecure = protocol === "https:";
  const authorities = tls?.authority === undefined ? [] : [tls.authority];
  return {
    target: { host: hostname, port: port === "" ? isSecure ? 443 : 80 : Number(port), ...connection },
    tls: isSecure ? { serverName: hostname, authorities, ...refuses !== undefined && { refuses } } : null,
  };
}

/** Wraps a part of the machine when it is first used. A copy by spread lacks these parts. */
export class NotedSystem implements RunSystem {
  readonly contacts: Contact[] = [];
  readonly questions: Question[] = [];
  readonly devices: number[] = [];
  hasProcess = false;
  isProxied = false;
  readonly clock: RunSystem["clock"];
  readonly hostName: RunSystem["hostName"];
  readonly platform: RunSystem["platform"];
  readonly environment: RunSystem["environment"];
  readonly randomId: RunSystem["randomId"];
  readonly #system: RunSystem;
  readonly #ownFiles: Files;
  #connections: Connections | null = null;
  #requests: Requests | null = null;
  #dns: Dns | null = null;
  #files: Files | null = null;
  #host: Host | null = null;
  #processes: Processes | null = null;

  /** `ownFiles`: those that show only what the attributes need. */
  constructor(system: RunSystem, ownFiles: Files) {
    this.#system = system;
    this.#ownFiles = ownFiles;
    this.clock = system.clock;
    this.hostName = system.hostName;
    this.platform = system.platform;
    this.environment = system.environment;
    this.randomId = system.randomId;
  }

  get connections(): Connections {
    return this.#connections ??= noteConnections(this.#system.connections, (to) => this.note(to));
  }

  get requests(): Requests {
    return this.#requests ??= noteRequests(this.#system.requests, this, hasProxy(this.#system));
  }

  get dns(): Dns {
    return this.#dns ??= noteQuestions(this.#system.dns, this.questions);
  }

  get files(): Files {
    return this.#files ??= noteFiles(this.#system.files, this.devices);
  }

  get host(): Host {
    return this.#host ??= noteHost(this.#system.host, this.#ownFiles, this.devices);
  }

  get processes(): Processes {
    const { processes } = this.#system;
    return this.#processes ??= {
      ...processes,
      run: async (command, signal) => {
        this.hasProcess = true;
        return await processes.run(command, signal);
      },
    };
  }

  note(to: OutgoingRequest | ContactPlace): Contact {
    const contact = new Contact(to);
    if (this.contacts.length < CONTACTS_MAX) this.contacts.push(contact);
    return contact;
  }

  /** The server that the run contacted, if it used nothing else; `null`: there is more, or less. */
  get onlyContact(): Contact | null {
    const [contact] = this.contacts;
    const isOnly = this.contacts.length + this.questions.length === 1 && !this.hasProcess && !this.isProxied;
    return contact !== undefined && isOnly && !contact.isOwn ? contact : null;
  }
}

type Note = (place: ContactPlace) => Contact;

function noteConnections(connections: Connections, note: Note): Connections {
  const noted = async <T>(
    contact: Contact,
    options: ConnectionOptions,
    work: (options: ConnectionOptions) => Promise<T>,
  ): Promise<T> => {
    let phase: ConnectionPhase = "connecting";
    const onPhase = (next: ConnectionPhase): void => {
      phase = next;
      if (phase !== "connecting") contact.reached = "answer";
      options.onPhase?.(next);
    };
    try {
      const value = await work({ ...options, onPhase });
      contact.reached = "answer";
      return value;
    } catch (error) {
      if (options.signal.aborted) [contact.hasFailed, contact.failedAt] = [true, phase];
      else noteFailure(contact, connections.explain(error, contact.place.target, phase));
      throw error;
    }
  };
  return {
    ...connections,
    connect: (target, options) =>
      noted(
        note({ target, tls: target.tls ?? null }),
        options,
        (given) => connections.connect(target, given),
      ),
    connectDatabase: (target, options) => {
      const contact = "socketPath" in target
        ? note({ target: { host: "", port: 0, socket: target.socketPath }, tls: null })
        : note({ target, tls: null });
      return noted(contact, options, (given) => connections.connectDatabase(target, given));
    },
    async readCertificate(target: HandshakeTarget, options) {
      const contact = note({ target, tls: target.tls });
      const reading = await noted(contact, options, (given) => connections.readCertificate(target, given));
      contact.fingerprint = fingerprintOf(reading.facts);
      return reading;
    },
    readTime: (target, signal) =>
      noted(note({ target, tls: null }), { signal }, () => connections.readTime(target, signal)),
  };
}

export function fingerprintOf(facts: CertificateFacts | null): string | null {
  return facts === null ? null : facts.fingerprint.slice(0, FINGERPRINT_DIGITS);
}

/** A proxy resolves the name, and connects. */
function noteRequests(requests: Requests, noted: NotedSystem, hasProxy: boolean): Requests {
  return {
    ...requests,
    async send(request, signal) {
      if (hasProxy && request.connection === undefined) {
        noted.isProxied = true;
        return await requests.send(request, signal);
      }
      const contact = noted.note(request);
      try {
        const response = await requests.send(request, signal);
        contact.reached = "answer";
        contact.peer = response.peer;
        return response;
      } catch (error) {
        if (signal.aborted) contact.hasFailed = true;
        else noteFailure(contact, requests.explain(error, request.target));
        throw error;
      }
    },
  };
}

const PROXY_VARIABLES: readonly string[] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

function hasProxy({ environment }: RunSystem): boolean {
  return PROXY_VARIABLES.some((name) => environment(name) || environment(name.toLowerCase()));
}

export function noteFailure(
  contact: Contact,
  failure: ReturnType<Connections["explain"]> | ReturnType<Requests["explain"]>,
): void {
  contact.hasFailed = true;
  contact.isOwn = isOwnFailure(failure);
  contact.failedAt = failure.phase === "connecting" || failure.phase === "TLS" ? failure.phase : "other";
  contact.reached = failure.phase === "resolving"
    ? failure.reason === NO_NAME_SERVER ? "nothing" : "resolver"
    : hasAnswered(failure)
    ? "answer"
    : "name";
}

/** `server`: `null` is that of the machine; `reason`: `null` if there are records. */
type Question = Readonly<Record<"server" | "reason", string | null>> & { readonly name: string };

function noteQuestions(dns: Dns, questions: Question[]): Dns {
  const add = (question: Question): void => {
    if (questions.length < CONTACTS_MAX) questions.push(question);
  };
  return {
    ...dns,
    async lookUp(question, signal) {
      const server = question.server?.host ?? null;
      const name = question.name.replace(/\.$/, "").toLowerCase();
      try {
        const answer = await dns.lookUp(question, signal);
        const isObstacle = "isObstacle" in answer && answer.isObstacle;
        if (!isObstacle) add({ server, name, reason: "reason" in answer ? answer.reason : null });
        return answer;
      } catch (error) {
        add({ server, name, reason: "no response" });
        throw error;
      }
    },
  };
}

function noteFiles(files: Files, devices: number[]): Files {
  return {
    ...files,
    async stat(path, options) {
      const facts = await files.stat(path, options);
      if (facts.device !== undefined) devices.push(facts.device);
      return facts;
    },
  };
}

function noteHost(host: Host, files: Files, devices: number[]): Host {
  return {
    ...host,
    async fileSystem(path) {
      const facts = await host.fileSystem(path);
      const { device } = await files.stat(path).catch(() => ({ device: undefined }));
      if (device !== undefined) devices.push(device);
      return facts;
    },
  };
}

/** Returns a host without the brackets of an IPv6 address. */
export function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, "$1");
}
