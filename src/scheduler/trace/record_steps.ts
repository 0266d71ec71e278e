/**
 * Records the steps of a run for spans: requests, connections, look-ups and commands, with their times. The parts of the
 * machine that a check uses are wrapped. A trace (`trace_run.ts`) has the contents; this has none of them.
 */
import type { Result } from "../../domain/check.ts";
import type { ObserveContext } from "../../domain/check_kind.ts";
import type {
  Connection,
  ConnectionOptions,
  ConnectionPhase,
  Connections,
  ConnectionTarget,
  DatabaseTarget,
  Dns,
  Requests,
} from "../../domain/connections.ts";
import type { Files } from "../../domain/system.ts";
import type { Processes } from "../../domain/processes.ts";
import { hostAndPort } from "../../domain/runtime_permissions.ts";
import { describeFileError, messageOf } from "../../shared/describe_error.ts";

type RecordedSystem = ObserveContext["system"];

export interface RunStep {
  readonly spanId: string;
  /** Such as `GET example.org`; without secrets, as all texts. */
  readonly name: string;
  /** Whether it is a request to another system. */
  readonly isRequest: boolean;
  /** From the begin of the run, milliseconds. */
  readonly startMs: number;
  readonly endMs: number;
  /** By the names of OpenTelemetry's semantic conventions. */
  readonly attributes: Readonly<Record<string, string | number>>;
  /** The reason why it failed; `null`: it did not. */
  readonly failure: string | null;
}

export interface RecordedRun extends Pick<Result, "condition" | "output" | "startedAtMs" | "durationMs"> {
  readonly traceId: string;
  readonly spanId: string;
  readonly check: string;
  readonly kind: string;
  readonly steps: readonly RunStep[];
  /** How many more steps it had. */
  readonly droppedSteps: number;
}

export interface StepReceiver {
  readonly isOn: boolean;
  /** Whether requests have the header `traceparent`, so that the spans of a target join the trace. */
  readonly propagates: boolean;
  receive(run: RecordedRun): void;
}

const STEPS_MAX = 64;

interface Recording {
  readonly system: RecordedSystem;
  /** Returns the run; `clean` removes secrets from a text. */
  end(result: Result, clean: (text: string) => string): RecordedRun;
}

/** Wraps the parts of the machine that checks use; times begin now. */
export function recordSteps(
  system: RecordedSystem,
  { propagates }: Pick<StepReceiver, "propagates">,
): Recording {
  const { requests, connections, processes, files, dns } = system;
  const recorder = new Recorder(system);
  return {
    system: {
      ...system,
      requests: recordRequests(requests, recorder, propagates),
      connections: recordConnections(connections, recorder),
      processes: recordProcesses(processes, recorder),
      files: recordFiles(files, recorder),
      dns: recordDns(dns, recorder),
    },
    end: ({ check: { name: check, kind }, condition, output, startedAtMs, durationMs }, clean) => ({
      ...recorder.ids,
      ...{ check, kind, condition, output, startedAtMs, durationMs },
      steps: recorder.steps.map((step) => ({
        ...step,
        name: clean(step.name),
        attributes: cleaned(step.attributes, clean),
        failure: step.failure === null ? null : clean(step.failure),
      })),
      droppedSteps: recorder.dropped,
    }),
  };
}

function cleaned(attributes: RunStep["attributes"], clean: (text: string) => string): RunStep["attributes"] {
  const values = Object.entries(attributes);
  return Object.fromEntries(values.map(([key, one]) => [key, typeof one === "string" ? clean(one) : one]));
}

type StepStart = Partial<Pick<RunStep, "attributes" | "isRequest">>;

/** A step in progress. Its end counts once. */
interface OpenStep {
  readonly spanId: string;
  end(failure?: string | null, attributes?: RunStep["attributes"]): void;
}

class Recorder {
  readonly ids: Pick<RecordedRun, "traceId" | "spanId">;
  readonly steps: RunStep[] = [];
  dropped = 0;
  readonly #system: RecordedSystem;
  readonly #startedMs: number;

  constructor(system: RecordedSystem) {
    this.#system = system;
    this.#startedMs = system.clock.monotonicMs();
    this.ids = { traceId: system.randomId().replaceAll("-", ""), spanId: this.#newSpanId() };
  }

  start(name: string, { attributes = {}, isRequest = false }: StepStart = {}): OpenStep {
    const startMs = this.#nowMs();
    const spanId = this.#newSpanId();
    let hasEnded = false;
    return {
      spanId,
      end: (failure = null, more = {}) => {
        if (hasEnded) return;
        hasEnded = true;
        if (this.steps.length >= STEPS_MAX) return void this.dropped++;
        this.steps.push({
          ...{ spanId, name, isRequest, startMs, endMs: this.#nowMs(), failure },
          attributes: { ...attributes, ...more },
        });
      },
    };
  }

  /** Records work as one step; `describe` returns what it failed with, or attributes of its end. */
  async record<T>(
    name: string,
    work: () => Promise<T>,
    { describe = () => ({}), explain, ...start }: StepStart & {
      describe?(value: T): { readonly failure?: string; readonly attributes?: RunStep["attributes"] };
      explain(error: unknown): string;
    },
  ): Promise<T> {
    const step = this.start(name, start);
    try {
      const value = await work();
      const { failure, attributes } = describe(value);
      step.end(failure, attributes);
      return value;
    } catch (error) {
      step.end(reasonOf(error, explain));
      throw error;
    }
  }

  #nowMs(): number {
    return this.#system.clock.monotonicMs() - this.#startedMs;
  }

  #newSpanId(): string {
    return this.#system.randomId().replaceAll("-", "").slice(-16);
  }
}

/** A signal aborts with its own reason, which no part of the machine explains. */
export function reasonOf(error: unknown, explain: (error: unknown) => string): string {
  return error instanceof DOMException ? messageOf(error) : explain(error);
}

/** A request has a step until its head, and one for the body. */
function recordRequests(requests: Requests, recorder: Recorder, propagates: boolean): Requests {
  return {
    ...requests,
    async send(request, signal) {
      const url = new URL(request.target);
      const attributes = {
        "http.request.method": request.method,
        "server.address": url.hostname,
        "server.port": Number(url.port) || (url.protocol === "https:" ? 443 : 80),
        "url.scheme": url.protocol.slice(0, -1),
        "url.path": url.pathname,
      };
      const step = recorder.start(`${request.method} ${url.host}`, { attributes, isRequest: true });
      const hasOwn = Object.keys(request.headers).some((name) => name.toLowerCase() === "traceparent");
      const traceparent = `00-${recorder.ids.traceId}-${step.spanId}-01`;
      const sent = propagates && !hasOwn
        ? { ...request, headers: { ...request.headers, traceparent } }
        : request;
      try {
        const response = await requests.send(sent, signal);
        step.end(null, { "http.response.status_code": response.status });
        const body = recorder.start("response body");
        return {
          status: response.status,
          ...response.peer !== undefined && { peer: response.peer },
          headers: () => response.headers(),
          header: (name) => response.header(name),
          read: () => response.read(),
          async close() {
            await response.close();
            body.end();
          },
        };
      } catch (error) {
        step.end(
          signal.aborted ? "timeout" : reasonOf(error, () => requests.explain(error, request.target).reason),
        );
        throw error;
      }
    },
  };
}

function recordConnections(connections: Connections, recorder: Recorder): Connections {
  const withPhases = async <T>(
    target: ConnectionTarget,
    options: ConnectionOptions,
    connect: (options: ConnectionOptions) => Promise<T>,
  ): Promise<T> => {
    const attributes = attributesOf(target);
    let phase: ConnectionPhase = "connecting";
    let step = recorder.start(phase, { attributes, isRequest: true });
    try {
      const value = await connect({
        ...options,
        onPhase: (next) => {
          options.onPhase?.(next);
          if (next === phase) return;
          step.end();
          phase = next;
          step = recorder.start(next, { attributes, isRequest: true });
        },
      });
      step.end();
      return value;
    } catch (error) {
      const explain = (): string => connections.explain(error, target, phase).reason;
      step.end(options.signal.aborted ? "timeout" : reasonOf(error, explain));
      throw error;
    }
  };
  const placeOf = (target: DatabaseTarget): ConnectionTarget =>
    "socketPath" in target ? { host: "localhost", port: 0, socket: target.socketPath } : target;
  const recorded = async (...phases: Parameters<typeof withPhases<Connection>>): Promise<Connection> =>
    recordConnection(await withPhases(...phases), recorder);
  return {
    ...connections,
    connect: (target, options) => recorded(target, options, (given) => connections.connect(target, given)),
    connectDatabase: (target, options) =>
      recorded(placeOf(target), options, (given) => connections.connectDatabase(target, given)),
    readCertificate: (target, options) =>
      withPhases(target, options, (recorded) => connections.readCertificate(target, recorded)),
    resolve: (target, signal) =>
      recorder.record("resolving", () => connections.resolve(target, signal), {
        attributes: { "server.address": target.host },
        explain: (error) => connections.explain(error, target, "connecting").reason,
      }),
    readTime: (target, signal) =>
      recorder.record("reading the time", () => connections.readTime(target, signal), {
        attributes: attributesOf(target),
        isRequest: true,
        explain: (error) => connections.explain(error, target, "reading").reason,
      }),
  };
}

function attributesOf({ host, port, socket }: ConnectionTarget): RunStep["attributes"] {
  return socket === undefined
    ? { "server.address": host, "server.port": port }
    : { "server.address": socket };
}

/** The dialog is one step, from the connection to its end, and TLS within it another. */
function recordConnection(connection: Connection, recorder: Recorder): Connection {
  const dialog = recorder.start("dialog");
  const { startTls } = connection;
  return {
    read: () => connection.read(),
    write: (bytes) => connection.write(bytes),
    ...startTls !== undefined && {
      startTls: (tls) => recorder.record("TLS", () => startTls(tls), { explain: messageOf }),
    },
    close: () => {
      connection.close();
      dialog.end();
    },
  };
}

function recordProcesses(processes: Processes, recorder: Recorder): Processes {
  return {
    ...processes,
    run: (command, signal) => {
      const name = command.path.slice(command.path.lastIndexOf("/") + 1);
      return recorder.record(`run ${name}`, () => processes.run(command, signal), {
        attributes: { "process.executable.path": command.path },
        explain: messageOf,
        describe: (end) =>
          "code" in end
            ? { attributes: { "process.exit.code": end.code } }
            : end.ended === "not_started"
            ? { failure: end.reason }
            : { failure: end.ended === "timed_out" ? "timeout" : "terminated by a signal" },
      });
    },
  };
}

function recordFiles(files: Files, recorder: Recorder): Files {
  const record = <T>(what: string, path: string, work: () => Promise<T>): Promise<T> =>
    recorder.record(what, work, {
      attributes: { "file.path": path },
      explain: (error) => describeFileError(error, { path }),
    });
  return {
    ...files,
    stat: (path, options) => record("stat", path, () => files.stat(path, options)),
    list: (directory) => record("list", directory, () => files.list(directory)),
  };
}

function recordDns(dns: Dns, recorder: Recorder): Dns {
  return {
    ...dns,
    lookUp: (question, signal) =>
      recorder.record(`look up ${question.type}`, () => dns.lookUp(question, signal), {
        isRequest: true,
        attributes: {
          "dns.question.name": question.name,
          ...question.server !== null && {
            "server.address": hostAndPort(question.server.host, question.server.port),
          },
        },
        describe: (answer) => "records" in answer ? {} : { failure: answer.reason },
        explain: messageOf,
      }),
  };
}
