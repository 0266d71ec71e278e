/** Writes one line for each report. */
export interface ConsoleChannel {
  readonly kind: "console";
  readonly parameters: Readonly<Record<never, never>>;
}

/** Touches a file for each report. */
export interface FileTouchChannel {
  readonly kind: "file_touch";
  readonly parameters: {
    /** Absolute path. */
    readonly path: string;
  };
}

/** How a mail server is reached. */
export interface MailAccess {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
}

/** Sends a mail for each report. */
export interface EmailChannel {
  readonly kind: "email";
  readonly parameters: {
    readonly access: MailAccess;
    readonly sender: string;
    readonly receivers: readonly string[];
    /** Put in brackets before the subject. */
    readonly tags: readonly string[];
  };
}

/** Shows a report on this machine's desktop. */
export interface DesktopNotificationChannel {
  readonly kind: "desktop_notification";
  readonly parameters: { readonly icon?: string };
}

/** A way out for reports: resolved, validated, with every default filled in. */
export type Channel = ConsoleChannel | FileTouchChannel | EmailChannel | DesktopNotificationChannel;

/** The name of a channel kind. */
export type ChannelKind = Channel["kind"];
