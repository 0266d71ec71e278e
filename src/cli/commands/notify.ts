import { startDeadline } from "../../shared/deadline.ts";
import { channelEntryOf, deliverTo } from "../../channels/registry.ts";
import type { Channel } from "../../domain/channel.ts";
import type { Check } from "../../domain/check.ts";
import type { Delivery, Message } from "../../domain/delivery.ts";
import type { System } from "../../domain/system.ts";
import { regularRunAfter } from "../../alerting/overdue.ts";
import { redactProcesses } from "../../shared/redact.ts";
import { type Command, CONFIG_OPTION, type Invocation } from "../command_definition.ts";
import { type OpenConfig, openConfig, readSelection, selectChecks, TAG_OPTION } from "../open_config.ts";
import { keepToNeeds, needsOfConfig } from "../config_permissions.ts";
import { EXIT } from "../exit_code.ts";
import { printable } from "../../shared/printable.ts";

/** `monitor notify`: tries the channels. */
export const notifyCommand: Command = {
  name: "notify",
  summary: "send a test notification through the channels",
  operands: "[NAME…]",
  operandsMax: Infinity,
  operandKind: "check",
  description:
    "Sends a notification that is clearly marked as a test through each channel of the named checks, or of all active " +
    "ones, and says for each what happened, step by step. It exits 69 when a channel did not take it.",
  options: [CONFIG_OPTION, TAG_OPTION],
  examples: [
    ["monitor notify", "every channel of the config, once each"],
    ["monitor notify web", "the channels of one check"],
  ],
  endings: ["done", "name", "undelivered", "permission", "config"],
  run: runNotify,
};

const ATTEMPT_MS = 30_000;

async function runNotify(invocation: Invocation, system: System): Promise<number> {
  const config = await openConfig(invocation, system);
  const checks = selectChecks(config.checks, readSelection(invocation))
    .filter((check) => check.active || invocation.operands.length > 0);
  const channels = new Map<string, { readonly channel: Channel; readonly check: Check }>();
  for (const check of checks) {
    for (const channel of check.notifications) {
      if (!channels.has(channel.key)) channels.set(channel.key, { channel, check });
    }
  }
  keepToNeeds(await needsOfConfig(config, { invocation, system, checks }), { system, config });
  let failures = 0;
  for (const { channel, check } of channels.values()) {
    const delivered = await tryChannel(channel, check, { system, config });
    if (!delivered) failures++;
  }
  if (channels.size === 0) system.stdout.write("no channel to try\n");
  return failures === 0 ? EXIT.ok : EXIT.undelivered;
}

interface TrialContext {
  readonly system: System;
  readonly config: OpenConfig;
}

async function tryChannel(
  channel: Channel,
  check: Check,
  { system, config }: TrialContext,
): Promise<boolean> {
  const { redact } = config;
  const say = (text: string): void => system.stdout.write(`${printable(redact(text))}\n`);
  say(channelEntryOf(channel).describe(channel as never));
  using deadline = startDeadline(system.clock, ATTEMPT_MS);
  let delivery: Delivery;
  try {
    delivery = await deliverTo(channel, testMessage(check, system), {
      system: { ...system, processes: redactProcesses(system.processes, redact) },
      folder: config.source.folder,
      writeLine: say,
      onStep: (step) => say(`  ${step}`),
      signal: deadline.signal,
    });
  } catch (error) {
    if (!deadline.signal.aborted) throw error;
    const reason = `no answer within ${ATTEMPT_MS / 1000} s`;
    delivery = { delivered: false, retryable: true, mayHaveArrived: true, reason, retryAfterMs: null };
  }
  if (delivery.delivered) say(delivery.note === null ? "  delivered" : `  delivered, but ${delivery.note}`);
  else say(`  not delivered: ${delivery.reason}`);
  return delivery.delivered;
}

function testMessage(check: Check, system: System): Message {
  const nowMs = system.clock.wallMs();
  const id = system.randomId();
  const notification = {
    id,
    check: check.name,
    title: check.title ?? null,
    event: "problem",
    condition: "warning",
    previous: "ok",
    output: "this is a test of the channel; nothing is wrong",
    detail: "",
    problemBeganAtMs: nowMs,
    decidedAtMs: nowMs,
    occurrences: 1,
    nextRunAtMs: regularRunAfter(check, nowMs),
    hostName: system.hostName(),
  } as const;
  return {
    id,
    items: [{ notification, missedProblem: null, summarized: 0, threadId: null }],
    isTest: true,
    decidedAtMs: nowMs,
  };
}
