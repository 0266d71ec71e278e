/** Channels with fake receivers on a fake clock: they fail in every way, and record the received notifications. */
import type { ProcessCommand, ProcessEnd } from "../../src/domain/processes.ts";
import type { IncomingResponse, OutgoingRequest } from "../../src/domain/connections.ts";
import type { System } from "../../src/domain/system.ts";
import type { FakeClock } from "../../testing/fake_clock.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";

/** A notification as it arrived. */
export interface ArrivedNotification {
  readonly id: string;
  readonly check: string;
  readonly event: string;
  readonly condition: string;
  readonly previous: string;
  readonly decided_at: string;
  readonly problem_began_at: string;
}

/** An item of a message as it arrived. */
export interface ArrivedItem extends ArrivedNotification {
  readonly missed_problem: ArrivedNotification | null;
}

/** A message as it arrived, duplicates too. */
export interface Arrival {
  /** The host of the webhook, or the command. */
  readonly channel: string;
  readonly messageId: string;
  readonly items: readonly ArrivedItem[];
  readonly atMs: number;
}

/** The reaction of a receiver to one message. */
export interface Mood {
  readonly arrives: boolean;
  /** `hang`: it never responds; `broken`: the connection breaks; a number: the status, or the exit code. */
  readonly answer: "hang" | "broken" | number;
  readonly retryAfterSeconds: number | null;
}

/** The error of a broken connection. */
class Broken extends Error {
  readonly phase: "connecting" | "head";
  constructor(phase: "connecting" | "head") {
    super("connection reset");
    this.phase = phase;
  }
}

export interface FlakyOptions {
  readonly clock: FakeClock;
  /** Of this far end, for the next message. */
  moodOf(channel: string): Mood;
  /** Returns the delay of a response. */
  answerMs(): number;
  onArrival(arrival: Arrival): void;
  randomId(): string;
  random(): number;
}

/** Creates a system with fake webhooks and commands. */
export function createFlakySystem(options: FlakyOptions): System {
  const { clock, moodOf, onArrival, answerMs } = options;
  /** Something that an abort ends. */
  const later = <T>(signal: AbortSignal, run: (settle: PromiseWithResolvers<T>) => void): Promise<T> => {
    if (signal.aborted) return Promise.reject(signal.reason);
    const settle = Promise.withResolvers<T>();
    const cancel = clock.after(answerMs(), () => run(settle));
    signal.addEventListener("abort", () => {
      cancel();
      settle.reject(signal.reason);
    });
    return settle.promise;
  };
  const send = (
    { target, headers, body = "" }: OutgoingRequest,
    signal: AbortSignal,
  ): Promise<IncomingResponse> =>
    later(signal, ({ resolve, reject }) => {
      const channel = new URL(target).host;
      const { arrives, answer, retryAfterSeconds } = moodOf(channel);
      const { notifications } = JSON.parse(body) as { readonly notifications: readonly ArrivedItem[] };
      const messageId = new Headers(headers).get("Idempotency-Key") ?? "";
      if (arrives) onArrival({ channel, messageId, items: notifications, atMs: clock.wallMs() });
      if (answer === "hang") return;
      if (answer === "broken") return reject(new Broken(arrives ? "head" : "connecting"));
      const answerHeaders = new Headers(
        retryAfterSeconds === null ? {} : { "Retry-After": String(retryAfterSeconds) },
      );
      resolve({
        status: answer,
        headers: answerHeaders,
        header: (name) => answerHeaders.get(name),
        read: () => Promise.resolve(null),
        close: () => Promise.resolve(),
      });
    });
  const run = (
    { path, environment, input = "", timeoutMs }: ProcessCommand,
    signal: AbortSignal,
  ): Promise<ProcessEnd> =>
    later(signal, ({ resolve }) => {
      const { arrives, answer } = moodOf(path);
      const messageId = environment["MONITOR_MESSAGE_ID"] ?? "";
      const items = [JSON.parse(input) as ArrivedItem];
      if (arrives) onArrival({ channel: path, messageId, items, atMs: clock.wallMs() });
      const output = { stdout: { text: "", truncated: false }, stderr: { text: "", truncated: false } };
      if (answer === "hang") {
        clock.after(timeoutMs, () => resolve({ ended: "timed_out", ...output } as ProcessEnd));
      } else if (answer === "broken") resolve({ ended: "signalled", signal: "SIGSEGV", ...output });
      else resolve({ ended: "exited", code: answer, leftovers: false, ...output });
    });
  return {
    ...createMemorySystem(),
    clock,
    random: options.random,
    randomId: options.randomId,
    requests: {
      send,
      explain: (error) => ({
        phase: error instanceof Broken ? error.phase : "connecting",
        reason: String(error),
      }),
    },
    processes: { run },
  };
}
