/**
 * What a run of a check exchanged with the world, in memory: it is recorded while the check runs, and played to it
 * again, as it was or changed. What is played sends nothing.
 */
import type { ObserveContext } from "../domain/check_kind.ts";
import type { Clock } from "../domain/clock.ts";
import type {
  Connection,
  ConnectionFailure,
  Connections,
  IncomingResponse,
  RequestFailure,
  Requests,
} from "../domain/connections.ts";
import { endsWithin, sleep, unlessAborted } from "../shared/deadline.ts";
import { joinBytes } from "../shared/text.ts";

type World = Pick<ObserveContext, "system" | "jobs">;

/** How a call ended: with a value, with an error, or not before the check gave up. */
export type Outcome<T> =
  & { readonly tookMs: number }
  & ({ readonly value: T } | { readonly error: unknown } | { readonly hangs: true });

/** A call; the key has its name and what it was about. */
export interface Taped<T> {
  readonly key: string;
  readonly outcome: Outcome<T>;
}

export interface TapedResponse {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly peer?: string;
  /** Decompressed, as far as it was read. */
  readonly body: Uint8Array;
}

/** What a server sent over a connection, in pieces; `null`: it ended it. */
type TapedConnection = readonly Outcome<Uint8Array | null>[];

/** All that a run exchanged, in the order of the calls. */
export interface Tape {
  readonly responses: readonly Taped<TapedResponse>[];
  readonly connections: readonly Taped<TapedConnection>[];
  /** Certificates, names, commands, files, facts of the machine, and jobs. */
  readonly calls: readonly Taped<unknown>[];
}

export class TapedFailure extends Error {
  override readonly name = "TapedFailure";
  readonly phase: RequestFailure["phase"] | ConnectionFailure["phase"];

  constructor(phase: TapedFailure["phase"], reason: string) {
    super(reason);
    this.phase = phase;
  }
}

/** How much of a body is read for the tape that the check does not read, and how long. */
const UNREAD_BYTES_MAX = 64 * 1024;
const UNREAD_MS = 1_000;

/** How a world exchanges something: with a real one, and records it, or by playing a tape. */
interface Exchange {
  call<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** A call that returns at once. */
  fact<T>(key: string, read: () => T): T;
  send(key: string, ...given: Parameters<Requests["send"]>): Promise<IncomingResponse>;
  connect(key: string, ...given: Parameters<Connections["connect"]>): Promise<Connection>;
}

function worldBy({ system, jobs }: World, { call, fact, send, connect }: Exchange): World {
  const { requests, connections, dns, processes, files, host } = system;
  return {
    jobs: jobs && { recall: (name, nowMs) => call(`job ${name}`, () => jobs.recall(name, nowMs)) },
    system: {
      ...system,
      randomId: () => fact("random id", () => system.randomId()),
      requests: {
        explain: (error, target) =>
          error instanceof TapedFailure
            ? { phase: error.phase as RequestFailure["phase"], reason: error.message }
            : requests.explain(error, target),
        send: (request, signal) => send(`${request.method} ${request.target}`, request, signal),
      },
      connections: {
        ...connections,
        explain: (error, target, phase) =>
          error instanceof TapedFailure
            ? { phase: error.phase as ConnectionFailure["phase"], reason: error.message }
            : connections.explain(error, target, phase),
        connect: (target, options) => connect(`connect ${target.host}:${target.port}`, target, options),
        resolve: (target, signal) =>
          call(`resolve ${target.host}`, () => connections.resolve(target, signal), signal),
        readTime: (target, signal) =>
          call(`time ${target.host}:${target.port}`, () => connections.readTime(target, signal), signal),
        readCertificate: (target, options) =>
          call(
            `certificate ${target.host}:${target.port}`,
            () => connections.readCertificate(target, options),
            options.signal,
          ),
      },
      dns: {
        lookUp: (question, signal) =>
          call(`lookup ${question.type} ${question.name}`, () => dns.lookUp(question, signal), signal),
        machineServers: () => call("name servers", () => dns.machineServers()),
      },
      processes: {
        run: (command, signal) => call(`run ${command.path}`, () => processes.run(command, signal), signal),
      },
      files: {
        ...files,
        stat: (path, options) => call(`stat ${path}`, () => files.stat(path, options)),
        read: (path, options) => call(`read ${path}`, () => files.read(path, options)),
        readPart: (path, range) =>
          call(`readPart ${path} ${range.fromByte}`, () => files.readPart(path, range)),
        list: (path) => call(`list ${path}`, () => files.list(path)),
        realPath: (path) => call(`realPath ${path}`, () => files.realPath(path)),
        readLink: (path) => call(`readLink ${path}`, () => files.readLink(path)),
      },
      host: {
        processors: host.processors,
        processId: host.processId,
        fileSystem: (path) => call(`fileSystem ${path}`, () => host.fileSystem(path)),
        memory: () => fact("memory", () => host.memory()),
        loadAverages: () => fact("loadAverages", () => host.loadAverages()),
      },
    },
  };
}

/** Returns a world that records everything that a check exchanges with a real one. */
export function recordWorld(world: World): World & { readonly tape: Tape } {
  const { clock, requests, connections } = world.system;
  const tape = {
    responses: [] as Taped<TapedResponse>[],
    connections: [] as Taped<TapedConnection>[],
    calls: [] as Taped<unknown>[],
  };
  const recorded = worldBy(world, {
    call: async (key, work) => {
      const outcome = await outcomeOf(work, clock);
      tape.calls.push({ key, outcome });
      return valueOf(outcome);
    },
    fact: (key, read) => {
      const value = read();
      tape.calls.push({ key, outcome: { value, tookMs: 0 } });
      return value;
    },
    send: async (key, request, signal) => {
      const outcome = await outcomeOf(() => requests.send(request, signal), clock);
      if (!("value" in outcome)) tape.responses.push({ key, outcome });
      return recordResponse(valueOf(outcome), {
        clock,
        push: (value) => tape.responses.push({ key, outcome: { value, tookMs: outcome.tookMs } }),
      });
    },
    connect: async (key, target, options) => {
      const outcome = await outcomeOf(() => connections.connect(target, options), clock);
      const reads: Outcome<Uint8Array | null>[] = [];
      const { tookMs } = outcome;
      tape.connections.push({ key, outcome: "value" in outcome ? { value: reads, tookMs } : outcome });
      return recordConnection(valueOf(outcome), { clock, push: (read) => reads.push(read) });
    },
  });
  return { ...recorded, tape };
}

async function outcomeOf<T>(work: () => Promise<T>, clock: Clock): Promise<Outcome<T>> {
  const startMs = clock.monotonicMs();
  try {
    const value = await work();
    return { value, tookMs: clock.monotonicMs() - startMs };
  } catch (error) {
    return { error, tookMs: clock.monotonicMs() - startMs };
  }
}

function valueOf<T>(outcome: Outcome<T>): T {
  if ("value" in outcome) return outcome.value;
  throw "error" in outcome ? outcome.error : new Error("It hangs");
}

function recordResponse(
  response: IncomingResponse,
  { clock, push }: { readonly clock: Clock; push(taped: TapedResponse): void },
): IncomingResponse {
  const { status, peer } = response;
  const parts: Uint8Array[] = [];
  let bytes = 0;
  const read = async (): Promise<Uint8Array | null> => {
    const part = await response.read();
    if (part !== null) {
      bytes += part.length;
      parts.push(part.slice());
    }
    return part;
  };
  const readStart = async (): Promise<void> => {
    while (bytes < UNREAD_BYTES_MAX && await read() !== null);
  };
  return {
    status,
    ...peer !== undefined && { peer },
    read,
    headers: () => response.headers(),
    header: (name) => response.header(name),
    close: async () => {
      if (bytes === 0) await endsWithin(clock, UNREAD_MS, readStart()).catch(() => {});
      push({
        status,
        headers: [...response.headers()],
        body: joinBytes(parts),
        ...peer !== undefined && { peer },
      });
      await response.close();
    },
  };
}

function recordConnection(
  connection: Connection,
  { clock, push }: { readonly clock: Clock; push(read: Outcome<Uint8Array | null>): void },
): Connection {
  return {
    ...connection,
    write: (bytes) => connection.write(bytes),
    close: () => connection.close(),
    read: async () => {
      const outcome = await outcomeOf(async () => (await connection.read())?.slice() ?? null, clock);
      push(outcome);
      return valueOf(outcome);
    },
  };
}

/** Returns a world that plays a tape; `system` explains the errors on it, and has the clock. */
export function playTape(
  tape: Tape,
  { system, jobs, signal }: World & { readonly signal: AbortSignal },
): World {
  const { clock } = system;
  const next = createReader();
  return worldBy({ system, jobs }, {
    call: async <T>(key: string, _work: () => Promise<T>, given = signal) =>
      await play(next(tape.calls, key) as Outcome<T>, { clock, signal: given }),
    fact: <T>(key: string) => valueOf(next(tape.calls, key) as Outcome<T>),
    send: async (key, _request, given) =>
      playResponse(await play(next(tape.responses, key), { clock, signal: given })),
    connect: async (key, _target, options) => {
      const reads = await play(next(tape.connections, key), { clock, signal: options.signal });
      options.onPhase?.("reading");
      return playConnection(reads, { clock, signal: options.signal });
    },
  });
}

/** Returns a function for the outcomes of a key, one after another; the last one stays. */
function createReader(): <T>(calls: readonly Taped<T>[], key: string) => Outcome<T> {
  const places = new Map<string, number>();
  return (calls, key) => {
    const outcomes = calls.filter((taped) => taped.key === key);
    const place = places.get(key) ?? 0;
    places.set(key, place + 1);
    return outcomes[Math.min(place, outcomes.length - 1)]?.outcome ??
      { error: new TapedFailure("connecting", `nothing is known of "${key}"`), tookMs: 0 };
  };
}

async function play<T>(
  outcome: Outcome<T>,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<T> {
  if ("hangs" in outcome) return await unlessAborted(new Promise<never>(() => {}), signal);
  if (outcome.tookMs > 0) await sleep(clock, outcome.tookMs, signal);
  return valueOf(outcome);
}

function playResponse({ status, headers, peer, body }: TapedResponse): IncomingResponse {
  const all = new Headers(headers.map(([name, value]) => [name, value]));
  let isRead = false;
  return {
    status,
    headers: () => all,
    header: (name) => all.get(name),
    ...peer !== undefined && { peer },
    read: () => {
      const part = isRead || body.length === 0 ? null : body;
      isRead = true;
      return Promise.resolve(part);
    },
    close: () => Promise.resolve(),
  };
}

function playConnection(
  reads: TapedConnection,
  options: { readonly clock: Clock; readonly signal: AbortSignal },
): Connection {
  let place = 0;
  return {
    write: () => Promise.resolve(),
    startTls: () => Promise.resolve(),
    close: () => {},
    // A server that has sent all waits for more.
    read: () => play(reads[place++] ?? { hangs: true, tookMs: 0 }, options),
  };
}
