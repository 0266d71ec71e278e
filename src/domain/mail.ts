export interface OutgoingMail {
  readonly host: string;
  /** 465 is TLS from the start, every other port STARTTLS. */
  readonly port: number;
  /** The login name; empty for no login. */
  readonly username: string;
  /** Never sent in clear text except to a loopback address. */
  readonly password: string;
  readonly sender: string;
  /** Email addresses, at least one. */
  readonly receivers: readonly string[];
  readonly subject: string;
  /** Plain text, lines ended by line feeds. */
  readonly text: string;
  /** The same as a page, for clients that show HTML. @default none */
  readonly html?: string;
  readonly messageId: string;
  /** Message ids with angle brackets, the oldest first. */
  readonly references: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly dateMs: number;
}

export type MailEnd =
  | {
    readonly sent: true;
    readonly refused: readonly { readonly receiver: string; readonly reason: string }[];
  }
  | {
    readonly sent: false;
    /** The last phase, such as `connecting`, `TLS`, `login`, `sender`, `data`. */
    readonly phase: string;
    /** The server's code, such as 550; `null` if it returned none. */
    readonly code: number | null;
    readonly retryable: boolean;
    /** Whether the server may have taken it: the connection broke after the last byte. */
    readonly mayHaveArrived: boolean;
    readonly reason: string;
  };

export interface Mail {
  /** Credentials never travel in clear text except to a loopback address. Throws the signal's reason when it aborts. */
  send(
    mail: OutgoingMail,
    options: { onStep(step: string): void; readonly signal: AbortSignal },
  ): Promise<MailEnd>;
}
