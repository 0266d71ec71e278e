import { type Notification, PLAIN_NOTIFICATION } from "../../domain/outbox.ts";
import { type Command, EXIT, OPTION, option, UsageError } from "../command_definition.ts";
import type { Channel } from "../../domain/channel.ts";
import type { Check } from "../../domain/check.ts";
import type { Delivery, Message } from "../../domain/delivery.ts";
import type { System } from "../../domain/system.ts";
import { regularRunAfter } from "../../engine/check_status.ts";
import {
  type CommandContext,
  isEverything,
  type OpenConfig,
  openConfig,
  readSelection,
  selectChecks,
  unknownName,
} from "../open_config.ts";
import { dropOtherPermissions, permissionsOfConfig } from "../config_permissions.ts";
import { requiredPermissionsOf } from "../../permissions/required_permissions.ts";
import { notDelivered } from "../../channels/clean_text.ts";
import { channelEntryOf } from "../../channels/registry.ts";
import { toNotifyingConfig, withFacts } from "../../engine/configured_channels.ts";
import { startDeadline } from "../../shared/deadline.ts";
import { printable } from "../../shared/text.ts";
import { redactProcesses } from "../../shared/redact.ts";

export const notifyCommand: Command = {
  name: "notify",
  group: "set_up",
  summary: "send a test notification through every channel",
  operands: "[NAME…]",
  description:
    "Sends a notification that is marked as a test through each channel of the config, or of the named or tagged " +
    "checks. A name that no check has may be that of a channel. It prints each step of the delivery.",
  page: "guides/notifications.md",
  options: [
    OPTION.config,
    OPTION.tag,
    option("--channel NAME", "only this channel (repeatable)", { names: "channels", repeatable: true }),
    option("--to URL", "URL of a provider, or KIND:URL such as slack:https://…; needs no config"),
  ],
  examples: [
    ["monitor notify", "test every channel once"],
    ["monitor notify web", "test the channels of one check"],
    ["monitor notify pager", "test one channel by its name"],
    ["monitor notify --to https://ntfy.sh/my-alerts", "send a test without a config"],
  ],
  endings: ["done", "name", "undelivered", "permission", "config"],
  run: async (invocation, system) => {
    const url = invocation.text("to");
    if (url !== undefined) return await notifyTo(url, { invocation, system });
    const config = await openConfig(invocation, system);
    const selection = readSelection(invocation);
    const isCheck = (name: string): boolean => config.checks.some((check) => check.name === name);
    const isChannel = (name: string): boolean => config.channels.has(name) && !isCheck(name);
    const lost = selection.names.find((name) => !isCheck(name) && !config.channels.has(name));
    if (lost !== undefined && config.channels.size > 0) {
      const known = [...config.channels.keys(), ...config.checks.map(({ name }) => name)];
      throw unknownName("check or channel", lost, { known, otherwise: "list them with: monitor explain" });
    }
    const chosen = { ...selection, names: selection.names.filter((name) => !isChannel(name)) };
    const checks = selectChecks(config.checks, chosen)
      .filter(({ active }) => active || chosen.names.length > 0);
    const channelNames = [...invocation.texts("channel"), ...selection.names.filter(isChannel)];
    const trials = selectTrials(config, checks, { channelNames, isAnyCheck: isEverything(chosen) });
    const channels = trials.filter(({ check }) => check === null).map(({ channel }) => channel);
    const options = { invocation, system, checks, channels, listens: false };
    dropOtherPermissions(await permissionsOfConfig(config, options), { system, config });
    if (trials.length === 0) system.stdout.write("no channel to test\n");
    return await sendAll(trials, { system, config });
  },
};

async function sendAll(trials: readonly Trial[], options: SendOptions): Promise<number> {
  const { system } = options;
  return await sendEach(trials.map(({ channel, check }) => [channel, testMessage(check, system)]), options);
}

async function notifyTo(url: string, { invocation, system }: CommandContext): Promise<number> {
  const other = ["config", "tag", "channel"].find((name) => invocation.has(name));
  if (other !== undefined || invocation.operands.length > 0) {
    throw new UsageError(`--to cannot be used with ${other === undefined ? "names" : `--${other}`}`);
  }
  const { openTypedChannel } = await import("../typed_channel.ts");
  const config = await openTypedChannel(url, { invocation, system });
  const channels = [...config.channels.values()];
  const parts = { checks: [], heartbeat: null, notifies: true, channels };
  dropOtherPermissions(await requiredPermissionsOf(parts, system), { system, config });
  return await sendAll(channels.map((channel) => ({ channel, check: null })), { system, config });
}

interface Trial {
  readonly channel: Channel;
  /** The first check that uses it; `null`: none of those that were chosen. */
  readonly check: Check | null;
}

/** Each channel once. A named one needs no check, if it was chosen by its name or nothing was chosen. */
function selectTrials(
  config: OpenConfig,
  checks: readonly Check[],
  { channelNames: names, isAnyCheck }: {
    readonly channelNames: readonly string[];
    /** Whether neither checks nor tags were chosen. */
    readonly isAnyCheck: boolean;
  },
): readonly Trial[] {
  const trials = new Map<string, Trial>();
  for (const check of checks) {
    for (const channel of check.notifications) {
      const isChosen = names.length === 0 || channel.name !== undefined && names.includes(channel.name);
      if (isChosen && !trials.has(channel.key)) trials.set(channel.key, { channel, check });
    }
  }
  for (const name of names.length === 0 && isAnyCheck ? config.channels.keys() : names) {
    const channel = config.channels.get(name);
    if (channel === undefined) {
      const known = [...config.channels.keys()];
      const listed = known.join(", ");
      const otherwise = listed === "" ? 'name channels in "channels"' : `choose one of: ${listed}`;
      throw unknownName("channel", name, { known, otherwise });
    }
    if (trials.has(channel.key)) continue;
    if (!isAnyCheck) throw new UsageError(`no selected check uses the channel "${name}"`);
    trials.set(channel.key, { channel, check: null });
  }
  return [...trials.values()];
}

function testMessage(check: Check | null, system: System): Message {
  const nowMs = system.clock.wallMs();
  return messageOf({
    ...PLAIN_NOTIFICATION,
    id: system.randomId(),
    check: check?.name ?? "test",
    title: check?.title ?? null,
    event: "problem",
    condition: "warning",
    output: "this is a test of the channel; nothing is wrong",
    problemBeganAtMs: nowMs,
    decidedAtMs: nowMs,
    nextRunAtMs: check === null ? nowMs : regularRunAfter(check, nowMs),
    hostName: system.hostName(),
  }, { isTest: true });
}

const ATTEMPT_MS = 30_000;

interface SendOptions {
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
export async function sendNow(channel: Channel, message: Message, options: SendOptions): Promise<boolean> {
  const { system, config, config: { redact } } = options;
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
