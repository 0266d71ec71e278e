import {
  commandPaths,
  type CommandSystem,
  findCommand,
  type FoundCommand,
  presentVariables,
} from "../shared/find_command.ts";
import type { ChannelOf } from "../domain/channel.ts";
import type { ChannelKindEntry, DeliverContext, Delivery, Message, MessageItem } from "../domain/delivery.ts";
import type { RequiredPermissions } from "../domain/runtime_permissions.ts";
import type { ProcessEnd } from "../domain/processes.ts";
import type { System } from "../domain/system.ts";
import { LINE_TEXT_MAX } from "./console.ts";
import { describeState, headline } from "./describe_item.ts";
import { afterColon, cleanLine, DELIVERED, firstLine, notDelivered } from "./clean_text.ts";

/** An old notification is of no use when a laptop is opened. */
const STALE_AFTER_MS = 5 * 60_000;
const TIMEOUT_MS = 10_000;
const TEXT_LENGTH_MAX = 700;

/** The channel that shows notifications on this machine's desktop, by the system's own notifier. */
export const desktopNotificationKind: ChannelKindEntry<"desktop_notification"> = {
  deliver: deliverDesktopNotification,
  batches: () => false,
  describe: () => "desktop notification",
  findLack: async (system) => {
    const { command } = NOTIFIERS[system.platform];
    const { path, denied } = await findNotifier(command, system);
    return path !== null || denied !== null ? null : missing(command);
  },
  requiredPermissions: (_channel, system) => describePermissions(system),
  staleAfterMs: STALE_AFTER_MS,
  textMax: LINE_TEXT_MAX,
};

async function deliverDesktopNotification(
  message: Message,
  channel: ChannelOf<"desktop_notification">,
  context: DeliverContext,
): Promise<Delivery> {
  const { system } = context;
  const notifier = NOTIFIERS[system.platform];
  const { path, denied } = await findNotifier(notifier.command, system);
  if (path === null) {
    const reason = denied === null
      ? missing(notifier.command)
      : `cannot look up "${notifier.command}": grant --allow-${denied.permission}=${denied.value}`;
    return notDelivered(reason, { retryable: false });
  }
  for (const item of message.items) {
    const end = await system.processes.run({
      path,
      arguments: notifier.arguments(notificationOf(item, message.isTest), channel.parameters.icon),
      environment: presentVariables(system.environment, SESSION_VARIABLES),
      directory: context.directory,
      timeoutMs: TIMEOUT_MS,
      outputBytesMax: 4096,
    }, context.signal);
    const delivery = evaluate(end, path);
    if (!delivery.delivered) return delivery;
    context.onStep("shown");
  }
  return DELIVERED;
}

function missing(command: string): string {
  return `"${command}" is not in PATH; install libnotify-bin or libnotify`;
}

function evaluate(end: ProcessEnd, command: string): Delivery {
  if (end.ended === "not_started") {
    return notDelivered(`cannot start "${command}": ${end.reason}`, { retryable: end.isShortage ?? false });
  }
  if (end.ended === "exited" && end.code === 0) return DELIVERED;
  if (end.ended === "timed_out") {
    const reason = `no response from the desktop within ${TIMEOUT_MS / 1000} s`;
    return notDelivered(reason, { retryable: true, mayHaveArrived: true });
  }
  // Possibly no user is logged in; a retry can help.
  const words = afterColon(firstLine(end.stderr.text));
  return notDelivered(`the desktop rejected the notification${words}`, { retryable: true });
}

/** The displayed texts; each is one line without control characters. */
function notificationOf(item: MessageItem, isTest: boolean) {
  return {
    title: plain(`${isTest ? "TEST " : ""}${headline(item)}`),
    text: plain(describeState(item)),
    isUrgent: item.notification.condition === "critical",
  };
}

function plain(text: string): string {
  return cleanLine(text, TEXT_LENGTH_MAX);
}

interface Notifier {
  /** A name without a slash is looked up in `PATH`. */
  readonly command: string;
  arguments(shown: ReturnType<typeof notificationOf>, icon: string | undefined): readonly string[];
}

const NOTIFIERS: Readonly<Record<System["platform"], Notifier>> = {
  linux: {
    command: "notify-send",
    arguments: ({ title, text, isUrgent }, icon) => [
      "--app-name=monitor",
      `--urgency=${isUrgent ? "critical" : "normal"}`,
      ...(icon === undefined ? [] : [`--icon=${icon}`]),
      "--",
      title,
      escapeBody(text),
    ],
  },
  darwin: {
    command: "/usr/bin/osascript",
    arguments: ({ title, text }) => [
      ...["-e", "on run argv"],
      ...["-e", "display notification (item 2 of argv) with title (item 1 of argv)"],
      ...["-e", "end run"],
      title,
      text,
    ],
  },
  windows: {
    command: "C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe",
    arguments: ({ title, text }) => toastArguments(title, text),
  },
};

/** The body is simple markup (Desktop Notifications Specification), and `notify-send` reads `\n` and the like in it. */
function escapeBody(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll(
    "\\",
    "\\\\",
  );
}

/** The variables that a notifier requires to reach the user's session, or a Windows program to start. */
const SESSION_VARIABLES =
  ("PATH HOME LANG DBUS_SESSION_BUS_ADDRESS DISPLAY WAYLAND_DISPLAY XDG_RUNTIME_DIR " +
    "SystemRoot USERPROFILE LOCALAPPDATA APPDATA TEMP").split(" ");

/** If the notifier is missing, it is still named, so that the list of permissions shows it. */
async function describePermissions(system: DeliverContext["system"]): Promise<RequiredPermissions> {
  const { command } = NOTIFIERS[system.platform];
  const path = (await findNotifier(command, system)).path ?? `/usr/bin/${command}`;
  return {
    read: hasDirectory(command) ? [] : commandPaths(command, system),
    run: [path],
    env: SESSION_VARIABLES,
  };
}

/** A command with a directory is started without a look-up; that fails with its own reason. */
async function findNotifier(command: string, system: CommandSystem): Promise<FoundCommand> {
  return hasDirectory(command) ? { path: command, denied: null } : await findCommand(command, system);
}

function hasDirectory(command: string): boolean {
  return /[\\/]/.test(command);
}

/** Only a registered application may show the notification, and PowerShell is on every Windows. */
const APPLICATION = "{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\\WindowsPowerShell\\v1.0\\powershell.exe";

/** Returns PowerShell's arguments. The script has the texts as base64 alone: several characters are quotation marks. */
function toastArguments(title: string, text: string): readonly string[] {
  const script = [
    "$ErrorActionPreference = 'Stop'",
    "[Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime] > $null",
    "[Windows.Data.Xml.Dom.XmlDocument, Windows.Data.Xml.Dom, ContentType = WindowsRuntime] > $null",
    "$type = [Windows.UI.Notifications.ToastTemplateType]::ToastText02",
    "$xml = [Windows.UI.Notifications.ToastNotificationManager]::GetTemplateContent($type)",
    "$lines = $xml.GetElementsByTagName('text')",
    `$lines.Item(0).AppendChild($xml.CreateTextNode(${literal(title)})) > $null`,
    `$lines.Item(1).AppendChild($xml.CreateTextNode(${literal(text)})) > $null`,
    "$toast = [Windows.UI.Notifications.ToastNotification]::new($xml)",
    `[Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier('${APPLICATION}').Show($toast)`,
  ].join("\n");
  return ["-NoProfile", "-NonInteractive", "-EncodedCommand", base64(script)];
}

function literal(text: string): string {
  return `([Text.Encoding]::Unicode.GetString([Convert]::FromBase64String('${base64(text)}')))`;
}

/** Base64 of UTF-16LE, which PowerShell calls Unicode. */
function base64(text: string): string {
  // Every machine that the program is made for is little-endian.
  const units = Uint16Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
  return new Uint8Array(units.buffer).toBase64();
}
