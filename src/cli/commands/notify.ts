import { PLAIN_NOTIFICATION } from "../../domain/outbox.ts";
import { type Command, OPTION, option, UsageError } from "../command_definition.ts";
import type { Channel } from "../../domain/channel.ts";
import type { Check } from "../../domain/check.ts";
import type { Message } from "../../domain/delivery.ts";
import type { System } from "../../domain/system.ts";
import { regularRunAfter } from "../../engine/overdue.ts";
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
import { messageOf, sendEach, type SendOptions } from "../send_now.ts";

export const notifyCommand: Command = {
  name: "notify",
  group: "set_up",
  summary: "send a test notification through every channel",
  operands: "[NAME…]",
  operandKind: "check",
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
  const messages = trials.values()
    .map(({ channel, check }) => [channel, testMessage(check, options.system)] as const);
  return await sendEach(messages, options);
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
      const listed = known.length === 0
        ? 'name channels in "channels"'
        : `choose one of: ${known.join(", ")}`;
      throw unknownName("channel", name, { known, otherwise: listed });
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
