import type { Channel, ChannelKind } from "../domain/channel.ts";
import type { ChannelKindEntry, DeliverContext } from "../domain/delivery.ts";
import { commandKind } from "./command.ts";
import { consoleKind } from "./console.ts";
import { desktopNotificationKind } from "./desktop_notification.ts";
import { emailKind } from "./email.ts";
import { fileTouchKind } from "./file_touch.ts";
import { webhookKind } from "./webhook.ts";

/** Every channel kind, each in its own file. A kind that is missing here does not compile. */
export const CHANNEL_KINDS: { readonly [K in ChannelKind]: ChannelKindEntry<K> } = {
  console: consoleKind,
  file_touch: fileTouchKind,
  email: emailKind,
  desktop_notification: desktopNotificationKind,
  webhook: webhookKind,
  command: commandKind,
};

/** Returns the entry of a channel's own kind; it accepts any channel, and is for this one. */
export function channelEntryOf(channel: Channel): ChannelKindEntry<ChannelKind> {
  return CHANNEL_KINDS[channel.kind] as ChannelKindEntry<ChannelKind>;
}

/** Describes missing requirements of this machine for kinds of channels; kinds without one are omitted. */
export async function findLacks(
  kinds: ReadonlySet<string>,
  system: DeliverContext["system"],
): Promise<ReadonlyMap<string, string>> {
  const lacks = new Map<string, string>();
  for (
    const [kind, entry] of Object.entries<Pick<ChannelKindEntry<ChannelKind>, "findLack">>(CHANNEL_KINDS)
  ) {
    const lack = kinds.has(kind) ? await entry.findLack?.(system) ?? null : null;
    if (lack !== null) lacks.set(kind, lack);
  }
  return lacks;
}
