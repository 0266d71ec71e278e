/** A whole service on a fake clock: the real config, scheduler and channels; targets and receivers are fake. */
import type { Condition } from "../../src/domain/condition.ts";
import type { Silence } from "../../src/domain/outbox.ts";
import type { Store } from "../../src/domain/store.ts";
import type { ProcessEnd } from "../../src/domain/processes.ts";
import type { IncomingResponse } from "../../src/domain/requests.ts";
import type { System } from "../../src/domain/system.ts";
import type { Invocation } from "../../src/cli/command_definition.ts";
import { parseInvocation } from "../../src/cli/arguments.ts";
import { createLog } from "../../src/cli/create_log.ts";
import { toScheduled } from "../../src/cli/check/reload.ts";
import { startParts } from "../../src/cli/check/service_parts.ts";
import { readCheckSettings } from "../../src/cli/check/settings.ts";
import { checkCommand } from "../../src/cli/commands/check.ts";
import { openConfig, readSelection } from "../../src/cli/open_config.ts";
import { openInMemoryStore } from "../../src/state/sqlite/in_memory_store.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";

/** A message as its receiver gets it. */
export interface Message {
  /** The host of a webhook or a mail server. */
  readonly receiver: string;
  readonly atMs: number;
  /** The body of a request, or the subject and the text of an email. */
  readonly text: string;
  /** The HTML part of an email. */
  readonly html?: string;
}

export interface FakeService extends AsyncDisposable {
  readonly clock: FakeClock;
  /** By the host of a target or webhook, or the path of a script; `ok` if it is not there. */
  readonly conditions: Map<string, Condition>;
  /** All messages so far. */
  readonly messages: readonly Message[];
  /** The log so far. */
  readonly log: string;
  /** Adopts the config in another file. */
  reload(config: string): Promise<void>;
  /** Suppresses notifications of a check, or acknowledges its problem, from now on. */
  annotate(
    kind: Silence["kind"],
    check: string,
    options: { readonly forMs: number; readonly note: string },
  ): Promise<void>;
}

interface FakeServiceOptions {
  readonly config: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Wall time. */
  readonly startMs: number;
  /** The state of a service before, which the caller closes. @default an empty one in memory */
  readonly store?: Store;
}

const STATUSES: Readonly<Record<Condition, number>> = { ok: 200, unknown: 500, warning: 500, critical: 500 };
const EXIT_CODES: Readonly<Record<Condition, number>> = { ok: 0, unknown: 3, warning: 1, critical: 2 };
/** How long a target, and a receiver, takes. */
const ANSWER_MS = 100;

/** Starts a service; nothing happens until its clock is moved. */
export async function startFakeService(
  { config: path, environment, startMs, store: given }: FakeServiceOptions,
): Promise<FakeService> {
  const clock = createFakeClock(startMs);
  const conditions = new Map<string, Condition>();
  const messages: Message[] = [];
  const memory = createMemorySystem({ environment });
  const system = createFakeSystem(memory, { clock, conditions, messages });
  const invocationOf = (config: string): Invocation =>
    parseInvocation(checkCommand, ["--config", config, "--state", "none"]);
  const invocation = invocationOf(path);
  const config = await openConfig(invocation, system);
  const store = given ?? await openInMemoryStore();
  const fail = (error: unknown): never => {
    throw error;
  };
  const parts = await startParts({
    invocation,
    system,
    config,
    scheduled: toScheduled(config, readSelection(invocation)),
    settings: readCheckSettings(invocation),
    log: createLog({ sink: system.stderr, clock, level: "warning", format: "text" }),
    state: {
      store,
      path: "in memory",
      shared: null,
      lockPath: null,
      reopen: fail,
      whileLocked: (work) => work,
      close: () => Promise.resolve(),
    },
    writeLine: () => {},
    onEvent: () => {},
    onBug: fail,
  });
  return {
    clock,
    conditions,
    messages,
    get log() {
      return memory.stderr.text();
    },
    reload: async (next) => {
      const config = await openConfig(invocationOf(next), system);
      parts.adopt(config, toScheduled(config, readSelection(invocation)));
    },
    annotate: async (kind, check, { forMs, note }) => {
      const record = (await store.records()).find((one) => one.name === check);
      const problemBeganAtMs = kind === "acknowledgement" ? record?.condition.problemBeganAtMs ?? null : null;
      const fromMs = clock.wallMs();
      await store.addSilences([
        {
          id: `${kind} ${check}`,
          kind,
          check,
          tag: null,
          fromMs,
          untilMs: fromMs + forMs,
          problemBeganAtMs,
          reason: note,
        },
      ]);
    },
    [Symbol.asyncDispose]: async () => {
      const stopped = parts.scheduler.stop(0).then(() => parts.notifying.stop()).then(() =>
        parts.outputs.end()
      );
      await clock.advance(1000);
      await stopped;
      if (given === undefined) await store.close();
    },
  };
}

interface FakeSystemOptions {
  readonly clock: FakeClock;
  readonly conditions: ReadonlyMap<string, Condition>;
  readonly messages: Message[];
}

function createFakeSystem(
  system: System,
  { clock, conditions, messages }: FakeSystemOptions,
): System {
  const later = <T>(make: () => T): Promise<T> =>
    new Promise((resolve) => void clock.after(ANSWER_MS, () => resolve(make())));
  const conditionOf = (name: string): Condition => conditions.get(name) ?? "ok";
  const arrive = (message: Omit<Message, "atMs">): void =>
    void messages.push({ ...message, atMs: clock.wallMs() });
  return {
    ...system,
    clock,
    random: () => 0.5,
    timeZone: () => "UTC",
    requests: {
      ...system.requests,
      send: ({ target, method = "GET", body = "" }) =>
        later((): IncomingResponse => {
          const { host } = new URL(target);
          const status = STATUSES[conditionOf(host)];
          if (method === "POST" && status === 200) arrive({ receiver: host, text: String(body) });
          return {
            status,
            headers: new Headers(),
            header: () => null,
            read: () => Promise.resolve(null),
            close: () => Promise.resolve(),
          };
        }),
    },
    processes: {
      run: ({ path }) =>
        later((): ProcessEnd => {
          const condition = conditionOf(path.replace(/.*\//, ""));
          const none = { text: "", truncated: false };
          const stdout = { ...none, text: `it is ${condition}` };
          return { ended: "exited", code: EXIT_CODES[condition], leftovers: false, stdout, stderr: none };
        }),
    },
    mail: {
      send: ({ host, subject, text, html }) =>
        later(() => {
          arrive({ receiver: host, text: `${subject}\n${text}`, ...html !== undefined && { html } });
          return { sent: true, refused: [] };
        }),
    },
  };
}
