import type { Condition } from "./condition.ts";
import type { NotificationEvent } from "./condition_state.ts";
import type { MaintenanceWindow } from "./maintenance_window.ts";

/** A text with fields, or a JSON value whose texts may contain fields. */
export type JsonTemplate =
  | null
  | boolean
  | number
  | string
  | readonly JsonTemplate[]
  | { readonly [key: string]: JsonTemplate };

interface ConsoleChannel {
  readonly kind: "console";
  /** None; the config gives an empty object. */
  readonly parameters: Readonly<Record<never, never>>;
}

interface FileTouchChannel {
  readonly kind: "file_touch";
  readonly parameters: {
    /** Absolute path. */
    readonly path: string;
  };
}

interface MailAccess {
  /** A name or an IP address, without a port. */
  readonly host: string;
  /** 1 to 65535. On 465 the connection is TLS from the start, on every other port by STARTTLS. */
  readonly port: number;
  readonly username: string;
  /** In clear text, its placeholders resolved; never to be shown or kept. */
  readonly password: string;
}

export interface EmailChannel {
  readonly kind: "email";
  readonly parameters: {
    readonly access: MailAccess;
    readonly sender: string;
    /** Email addresses; at least one. */
    readonly receivers: readonly string[];
    readonly tags: readonly string[];
  };
}

export interface DesktopNotificationChannel {
  readonly kind: "desktop_notification";
  /** `icon` is the name or path of an icon, as the config gives it. */
  readonly parameters: { readonly icon?: string };
}

export interface WebhookChannel {
  readonly kind: "webhook";
  readonly parameters: {
    /** An `http:` or `https:` URL. */
    readonly target: string;
    /** Recoveries go there. @default `target` */
    readonly recoveryTarget?: string;
    readonly method: "POST" | "PUT" | "PATCH";
    readonly headers: Readonly<Record<string, string>>;
    /** A body template, one request a notification; without it the notifications go as JSON, all that wait in one request. */
    readonly body?: JsonTemplate;
    readonly timeoutMs: number;
  };
}

export interface CommandChannel {
  readonly kind: "command";
  readonly parameters: {
    /** Absolute path of the command. */
    readonly path: string;
    readonly arguments: readonly string[];
    readonly environment: Readonly<Record<string, string>>;
    readonly timeoutMs: number;
  };
}

/** Which notifications a channel gets; all, if nothing is given. */
export interface ChannelFilters {
  /** For the channel, every other condition is `ok`. @default all */
  readonly conditions?: readonly Condition[];
  /** @default all */
  readonly events?: readonly NotificationEvent[];
  /** How long a problem must last, without an acknowledgement, before it is sent. @default 0 */
  readonly afterMs?: number;
  /** Problems and changes are sent only within these times. @default always */
  readonly hours?: readonly MaintenanceWindow[];
  /** Whether a problem that began outside of them and goes on is sent when they begin. @default "later" */
  readonly outsideHours?: "later" | "never";
}

/** The most messages that leave a channel in any window of a length. */
export interface MessageLimit {
  /** 1 to 1000. */
  readonly count: number;
  readonly windowMs: number;
}

/** The common fields of a resolved channel; in the list of a check, with the filters of that use. */
interface ChannelIdentity extends ChannelFilters {
  /** That of its name; without a name the same for channels of one kind with the same parameters, whatever their credentials. */
  readonly key: string;
  /** The user's name for it. Absent: it is listed in `notifications` directly. */
  readonly name?: string;
  /**
   * A part of the channel that this machine lacks, such as a secret: deliveries fail, and the parameters have no
   * meaning. Absent: nothing is missing.
   */
  readonly lack?: string;
  /** The name of the channel that is notified if this one rejects notifications. @default the first other channel */
  readonly fallback?: string;
  /** Further notifications are sent later, in one message. @default no limit */
  readonly atMost?: MessageLimit;
}

/** A way out for notifications: resolved, validated, with every default filled in. */
export type Channel =
  & ChannelIdentity
  & (
    | ConsoleChannel
    | FileTouchChannel
    | EmailChannel
    | DesktopNotificationChannel
    | WebhookChannel
    | CommandChannel
  );

export type ChannelKind = Channel["kind"];

export type ChannelOf<K extends ChannelKind> = Extract<Channel, { readonly kind: K }>;
