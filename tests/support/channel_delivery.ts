import type { Channel } from "../../src/domain/channel.ts";
import type {
  ChannelKindEntry,
  DeliverContext,
  Delivery,
  Message,
  MessageItem,
} from "../../src/domain/delivery.ts";
import type { Notification } from "../../src/domain/outbox.ts";
import type { Mail } from "../../src/domain/system.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { createFiles } from "../../src/system/files.ts";
import { createProcesses } from "../../src/system/process/processes.ts";
import { createRequests } from "../../src/system/http/requests.ts";

/** A notification of a problem, with whatever a test sets. */
export function makeNotification(notification: Partial<Notification> = {}): Notification {
  return {
    id: "report-1",
    check: "web",
    title: "Website",
    event: "problem",
    condition: "critical",
    previous: "ok",
    output: "status is 500, expected 200",
    detail: "",
    problemBeganAtMs: Date.UTC(2026, 0, 31, 9, 58),
    decidedAtMs: Date.UTC(2026, 0, 31, 10, 0),
    occurrences: 3,
    nextRunAtMs: Date.UTC(2026, 0, 31, 10, 1),
    hostName: "web1",
    acknowledged: null,
    flapping: false,
    dependents: 0,
    ...notification,
  };
}

/** Returns an item with a notification and nothing before it. */
export function makeItem(
  notification: Partial<Notification> = {},
  missedProblem: Notification | null = null,
): MessageItem {
  return { notification: makeNotification(notification), missedProblem, summarized: 0, threadId: null };
}

/** A message of these items, by default of one problem. */
export function makeMessage(items: readonly MessageItem[] = [makeItem()], { isTest = false } = {}): Message {
  return { id: "message-1", items, isTest, decidedAtMs: Date.UTC(2026, 0, 31, 10, 0) };
}

export interface DeliverySettings {
  readonly message?: Message;
  readonly signal?: AbortSignal;
  readonly environment?: Readonly<Record<string, string>>;
  readonly directory?: string;
  readonly system?: Partial<DeliverContext["system"]>;
}

export interface DeliveryFindings {
  readonly delivery: Delivery;
  readonly lines: readonly string[];
  readonly steps: readonly string[];
}

/** Delivers a message over a channel on the real machine, with a short grace after SIGTERM. */
export async function deliverOver<C extends Channel>(
  entry: ChannelKindEntry<C["kind"]>,
  channel: C,
  settings: DeliverySettings = {},
): Promise<DeliveryFindings> {
  const { message = makeMessage(), signal = new AbortController().signal, directory = "/" } = settings;
  const environment = settings.environment ?? { PATH: "/usr/bin:/bin" };
  const clock = createRealClock();
  const lines: string[] = [];
  const steps: string[] = [];
  const delivery = await entry.deliver(message, channel as never, {
    system: {
      clock,
      files: createFiles(clock),
      // Each that is made is kept until this process ends.
      processes: {
        run: (command, end) =>
          createProcesses(clock, { terminationGraceMs: 200, killWaitMs: 120_000 }).run(command, end),
      },
      requests: createRequests({ clock: createRealClock() }),
      mail: NO_MAIL,
      environment: (name) => environment[name],
      platform: "linux",
      ...settings.system,
    },
    directory,
    writeLine: (line) => lines.push(line),
    onStep: (step) => steps.push(step),
    signal,
  });
  return { delivery, lines, steps };
}

/** A permanent failure, unless given otherwise. */
export function failure(
  reason: string,
  facts: Partial<Extract<Delivery, { delivered: false }>> = {},
): Delivery {
  return { delivered: false, retryable: false, mayHaveArrived: false, reason, retryAfterMs: null, ...facts };
}

const NO_MAIL: Mail = { send: () => Promise.reject(new Error("This channel sends no mail")) };
