import { notDelivered } from "../channels/clean_text.ts";
import { channelEntryOf } from "../channels/registry.ts";
import type { Channel } from "../domain/channel.ts";
import type { Delivery, Message } from "../domain/delivery.ts";
import type { Notification } from "../domain/outbox.ts";
import type { System } from "../domain/system.ts";
import { toNotifyingConfig, withFacts } from "../engine/configured_channels.ts";
import { startDeadline } from "../shared/deadline.ts";
import { printable } from "../shared/text.ts";
import { redactProcesses } from "../shared/redact.ts";
import { EXIT } from "./command_definition.ts";
import type { OpenConfig } from "./open_config.ts";

const ATTEMPT_MS = 30_000;

export interface SendOptions {
  readonly system: System;
  readonly config: OpenConfig;
}

/** Returns a message of one notification, decided now. */
export function messageOf(notification: Notification, { isTest }: Pick<Message, "isTest">): Message {
  const { id, decidedAtMs } = notification;
  const items = [{ notification, missedProblem: null, summarized: 0, threadId: null }];
  return { id, items, isTest, decidedAtMs };
}

/** Sends each message to its channel; returns the exit code. */
export async function sendEach(
  messages: Iterable<readonly [Channel, Message]>,
  options: SendOptions,
): Promise<number> {
  let code: number = EXIT.ok;
  for (const [channel, message] of messages) {
    if (!await sendNow(channel, message, options)) code = EXIT.undelivered;
  }
  return code;
}

/** Sends a message to a channel past its queue, and prints each step. Returns whether it was delivered. */
export async function sendNow(
  channel: Channel,
  message: Message,
  { system, config }: SendOptions,
): Promise<boolean> {
  const { redact } = config;
  const say = (text: string): void => system.stdout.write(`${printable(redact(text))}\n`);
  const entry = channelEntryOf(channel);
  const receiver = entry.describe(channel);
  say(channel.name === undefined ? receiver : `${channel.name} (${receiver})`);
  using deadline = startDeadline(system.clock, ATTEMPT_MS);
  let delivery: Delivery;
  try {
    delivery = channel.lack !== undefined
      ? notDelivered(channel.lack, { retryable: true })
      : await entry.deliver(withFacts(message, toNotifyingConfig(config)), channel, {
        system: { ...system, processes: redactProcesses(system.processes, redact) },
        directory: config.source.directory,
        writeLine: say,
        onStep: (step) => say(`  ${step}`),
        signal: deadline.signal,
      });
  } catch (error) {
    if (!deadline.signal.aborted) throw error;
    const reason = `no response within ${ATTEMPT_MS / 1000} s`;
    delivery = { delivered: false, retryable: true, mayHaveArrived: true, reason, retryAfterMs: null };
  }
  if (delivery.delivered) say(delivery.note === null ? "  delivered" : `  delivered, but ${delivery.note}`);
  else say(`  not delivered: ${delivery.reason}`);
  return delivery.delivered;
}
