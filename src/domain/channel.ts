/** Writes one line for each report. */
export interface ConsoleChannel {
  /** The discriminant of {@linkcode Channel}; as in the document. */
  readonly kind: "console";
  /** None; the document gives an empty object. */
  readonly parameters: Readonly<Record<never, never>>;
}

/** Touches a file for each report. */
export interface FileTouchChannel {
  /** The discriminant of {@linkcode Channel}; as in the document. */
  readonly kind: "file_touch";
  /** Which file is touched. */
  readonly parameters: {
    /** Absolute path. */
    readonly path: string;
  };
}

/** How a mail server is reached. */
export interface MailAccess {
  /** A name or an address, without a port. */
  readonly host: string;
  /** 1 to 65535. On 465 the connection is TLS from the start, on every other port by STARTTLS. */
  readonly port: number;
  /** The login name. */
  readonly username: string;
  /** In clear text, its placeholders resolved; never to be shown or kept. */
  readonly password: string;
}

/** Sends a mail for each report. */
export interface EmailChannel {
  /** The discriminant of {@linkcode Channel}; as in the document. */
  readonly kind: "email";
  /** How the mails are sent, from whom and to whom. */
  readonly parameters: {
    readonly access: MailAccess;
    /** One mail address. */
    readonly sender: string;
    /** Mail addresses; at least one. */
    readonly receivers: readonly string[];
    /** Put in brackets before the subject. */
    readonly tags: readonly string[];
  };
}

/** Shows a report on this machine's desktop. */
export interface DesktopNotificationChannel {
  /** The discriminant of {@linkcode Channel}; as in the document. */
  readonly kind: "desktop_notification";
  /** `icon` is the name or path of an icon, as the document gives it. */
  readonly parameters: { readonly icon?: string };
}

/** A way out for reports: resolved, validated, with every default filled in. */
export type Channel = ConsoleChannel | FileTouchChannel | EmailChannel | DesktopNotificationChannel;

/** The name of a channel kind. */
export type ChannelKind = Channel["kind"];
