import type { ChannelKind } from "../domain/channel.ts";
import type { ChannelKindEntry } from "../domain/deliver.ts";
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
