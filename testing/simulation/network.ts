import type { MailEnd, OutgoingMail } from "../../src/domain/system.ts";
import type { IncomingResponse, OutgoingRequest } from "../../src/domain/connections.ts";
import { describeFault, type Fault, UP } from "./faults.ts";
import type { Machine } from "./machine.ts";
import type { Program } from "./program.ts";

/** A request as a server reads it. */
export interface ReceivedRequest extends OutgoingRequest {
  readonly url: URL;
  /** The name of the machine it comes from. */
  readonly machine: string;
}

/** What a server answers. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A server somewhere. */
export interface Host {
  fault: Fault;
  /** The machine whose service responds; absent: `respond` does. */
  readonly machine?: Machine;
  /** Called with each request that arrives. */
  respond(request: ReceivedRequest): Answer;
  /** Called with each email that arrives. */
  accept(mail: OutgoingMail, machine: string): void;
}

/** How long an SMTP server may take for a reply. */
const MAIL_TIMEOUT_MS = 60_000;

/** Everything outside of the machines: servers by name, and the ways to them. */
export class Network {
  readonly #hosts = new Map<string, Host>();
  /** Called with a name that is not known yet; returns its server, or `null`: the name doesn't resolve. */
  onUnknown: (name: string) => Partial<Host> | null = () => null;

  add(name: string, host: Partial<Host> = {}): Host {
    const made: Host = { fault: UP, respond: () => ({ status: 200 }), accept: () => {}, ...host };
    this.#hosts.set(name, made);
    return made;
  }

  /** The server of a name; `null`: it doesn't resolve. */
  host(name: string): Host | null {
    const known = this.#hosts.get(name);
    if (known !== undefined) return known;
    const unknown = this.onUnknown(name);
    return unknown === null ? null : this.add(name, unknown);
  }

  async send(program: Program, request: OutgoingRequest, signal: AbortSignal): Promise<IncomingResponse> {
    const { target } = request;
    const url = new URL(target);
    const { machine } = program;
    signal.throwIfAborted();
    const fail = (words: string): TypeError =>
      new TypeError(`error sending request for url (${target}): client error ${words}`);
    const host = this.reach(machine, url.hostname);
    return await this.#exchange<IncomingResponse>(program, {
      name: `${request.method} ${url.host}`,
      isMessage: request.method === "POST",
      host,
      signal,
      refused: () =>
        fail(
          host === null
            ? "(Connect): dns error: failed to lookup address information: Name or service not known"
            : "(Connect): tcp connect error: Connection refused (os error 111)",
        ),
      broken: () => fail("(SendRequest): connection closed before message completed"),
      replied: (code) => toResponse({ status: code }),
      arrive: (done) => {
        if (host?.machine !== undefined) return serve(host.machine, { request, url, done });
        const answer = host?.respond({ ...request, url, machine: machine.name }) ?? { status: 200 };
        done(() => toResponse(answer));
      },
    });
  }

  async sendMail(program: Program, mail: OutgoingMail, signal: AbortSignal): Promise<MailEnd> {
    const { machine } = program;
    signal.throwIfAborted();
    const host = this.reach(machine, mail.host);
    const failed = (phase: string, reason: string, mayHaveArrived = false) =>
      Object.assign(new MailError(), {
        end: { sent: false, phase, code: null, retryable: true, mayHaveArrived, reason } as const,
      });
    const hanging = Promise.withResolvers<never>();
    const cancel = machine.world.timeline.after(
      MAIL_TIMEOUT_MS,
      () => hanging.reject(failed("data", `no response within ${MAIL_TIMEOUT_MS / 1000} s`, true)),
      program,
    );
    try {
      return await Promise.race([
        hanging.promise,
        this.#exchange<MailEnd>(program, {
          name: `mail to ${mail.host}`,
          isMessage: true,
          host,
          signal,
          refused: () =>
            host === null
              ? failed("resolving", "name does not resolve")
              : failed("connecting", "connection refused"),
          broken: (hasArrived) =>
            failed(hasArrived ? "data" : "greeting", "connection closed by the server", hasArrived),
          replied: (code) => ({
            sent: false,
            phase: "data",
            code,
            retryable: code < 500,
            mayHaveArrived: false,
            reason: `server replied ${code}`,
          }),
          arrive: (done) => {
            host?.accept(mail, machine.name);
            done(() => ({ sent: true, refused: [] }));
          },
        }),
      ]);
    } catch (error) {
      if (error instanceof MailError) return error.end;
      throw error;
    } finally {
      cancel();
    }
  }

  /** A name that the machine is cut off from refuses its connections. */
  reach(machine: Machine, name: string): Host | null {
    const host = this.host(name);
    if (host === null) return null;
    const isDown = machine.isCutOff(name) || host.machine?.listeners.size === 0;
    return isDown ? { ...host, fault: { kind: "refuse" } } : host;
  }

  /** One exchange with a server: connect, send, and wait for the reply; the fault decides how far it comes. */
  #exchange<Reply>(program: Program, { name, isMessage, host, signal, refused, broken, replied, arrive }: {
    readonly name: string;
    /** Whether it is worth a line of the trace. */
    readonly isMessage: boolean;
    readonly host: Host | null;
    readonly signal: AbortSignal;
    refused(): Error;
    broken(hasArrived: boolean): Error;
    replied(code: number): Reply;
    /** Calls back with how to make the reply; `null`: the server died. */
    arrive(done: (reply: (() => Reply) | null) => void): void;
  }): Promise<Reply> {
    const { world } = program.machine;
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const back = (delayMs: number, act: () => void): void => {
      world.timeline.after(delayMs, () => {
        signal.removeEventListener("abort", onAbort);
        program.quietly(() => {
          program.step(`reply to ${name}`);
          act();
        });
      }, program);
    };
    program.quietly(() => {
      program.step(`before ${name}`);
      const fault = host?.fault ?? { kind: "refuse" };
      if (isMessage) world.trace.add(program.machine.name, "attempt", `${name}: ${describeFault(fault)}`);
      if (fault.kind === "refuse") return back(world.latency("network"), () => reject(refused()));
      if (fault.kind === "reset") return back(world.latency("network"), () => reject(broken(false)));
      // From here on it is on its way, whatever becomes of the process.
      world.timeline.after(world.latency("network"), () => {
        if (fault.kind === "reply") {
          return back(world.latency("network"), () => resolve(replied(fault.code)));
        }
        arrive((reply) => {
          if (fault.kind === "hang") return;
          const isLost = fault.kind === "lose" || reply === null;
          if (isLost) return back(world.latency("network"), () => reject(broken(true)));
          back(fault.kind === "slow" ? fault.ms : world.latency("network"), () => resolve(reply()));
        });
      });
    });
    return promise;
  }
}

/** Lets the service of a machine respond. */
function serve(machine: Machine, { request, url, done }: {
  readonly request: OutgoingRequest;
  readonly url: URL;
  done(reply: (() => IncomingResponse) | null): void;
}): void {
  const { method, headers, body = "" } = request;
  const length = new TextEncoder().encode(body).length;
  machine.receive(url.pathname + url.search, {
    ...url.port !== "" && { port: Number(url.port) },
    ...{ method, body, address: "192.0.2.9" },
    headers: { ...headers, host: url.host, ...length > 0 && { "content-length": String(length) } },
  }, (answer) => done(answer === null ? null : () => toResponse(answer)));
}

class MailError extends Error {
  declare end: MailEnd;
}

function toResponse({ status, headers: named = {}, body = "" }: Answer): IncomingResponse {
  const headers = new Headers(named);
  let rest: Uint8Array | null = body === "" ? null : new TextEncoder().encode(body);
  return {
    status,
    headers: () => headers,
    header: (name) => headers.get(name),
    read: () => {
      const bytes = rest;
      rest = null;
      return Promise.resolve(bytes);
    },
    close: () => Promise.resolve(),
  };
}
