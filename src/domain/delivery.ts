import type { QueuedNotification } from "./outbox.ts";
import type { ChannelKind, ChannelOf } from "./channel.ts";
import type { RequiredPermissions } from "./runtime_permissions.ts";
import type { System } from "./system.ts";

/** The facts of the config about a check, for the readers of its notifications. */
export interface CheckFacts {
  /** The URL of the page of the check, or of all checks. */
  readonly url?: string;
  /** The URL of the form that acknowledges the problem; it changes nothing by itself. */
  readonly acknowledge_url?: string;
  readonly kind?: string;
  /** The target of the check for people, without credentials. */
  readonly target?: string;
  readonly tags?: readonly string[];
  readonly description?: string;
  /** Instructions for a failure: a URL or a sentence. */
  readonly runbook?: string;
}

/** One line of a message: a notification, or a problem that recovered before it was sent. */
export interface MessageItem
  extends Pick<QueuedNotification, "notification" | "missedProblem" | "summarized"> {
  /** The id of the message with the problem, for threading; `null` if none was sent. */
  readonly threadId: string | null;
  /** The facts of the config about its check. @default none */
  readonly facts?: CheckFacts;
  /** Whether the check is about a service that is down if it is critical. @default false */
  readonly goesDown?: boolean;
  /** Whether the check is to fail, so that its problem is that it does not. @default false */
  readonly isInverted?: boolean;
  /** The time zone of times in texts. @default UTC */
  readonly timeZone?: string;
  /** Whether it counts and names several notifications in place of one. @default false */
  readonly isDigest?: boolean;
}

export interface Message {
  /** Stays the same when it is sent again, so that receivers can drop the duplicate. Letters, digits and `-`. */
  readonly id: string;
  /** One or more, highest severity first. */
  readonly items: readonly MessageItem[];
  readonly isTest: boolean;
  /** How many checks of the group have or had a problem, with those of the message. @default no groups */
  readonly groupSize?: number;
  /** When the newest of its notifications was decided; wall time, milliseconds since 1970. */
  readonly decidedAtMs: number;
}

export type Delivery =
  | {
    readonly delivered: true;
    /** A problem in spite of the delivery, such as one rejected receiver; `null` for none. */
    readonly note: string | null;
  }
  | {
    readonly delivered: false;
    /** Whether a retry can help soon; if not, the cause has to be fixed. */
    readonly retryable: boolean;
    /** Whether it may have arrived all the same: the connection broke after the last byte. */
    readonly mayHaveArrived: boolean;
    readonly reason: string;
    /** How long the receiver asked to wait, in milliseconds; `null` if it did not. */
    readonly retryAfterMs: number | null;
  };

export interface DeliverContext {
  /** The machine, as far as channels touch it. */
  readonly system: Pick<
    System,
    "clock" | "files" | "processes" | "requests" | "mail" | "environment" | "platform"
  >;
  /** The config's directory, absolute. */
  readonly directory: string;
  writeLine(line: string): void;
  /** Called after each successful step, such as `resolved`, `connected`, `TLS`, `login`, for `monitor notify`. */
  onStep(step: string): void;
  /** Aborts when time is up or the monitor ends; delivery then throws the signal's reason. */
  readonly signal: AbortSignal;
}

/** The lengths of texts, in UTF-16 code units. */
export interface TextMax {
  readonly output: number;
  readonly detail: number;
}

export interface ChannelKindEntry<K extends ChannelKind> {
  /** Delivers one message. The receiver's behavior is a value; it throws only if aborted, and for bugs. */
  deliver(message: Message, channel: ChannelOf<K>, context: DeliverContext): Promise<Delivery>;
  /** Returns whether everything that waits for the channel goes as one message. Otherwise each item is a message. */
  batches(channel: ChannelOf<K>): boolean;
  /** Whether its receiver may read one check of a message only, as a program does. @default it reads all */
  isAboutOne?(channel: ChannelOf<K>): boolean;
  /** The name in messages and `monitor status`, such as `email to admin@example.org`, without secrets. */
  describe(channel: ChannelOf<K>): string;
  /** Describes the missing requirements of this machine for every channel of the kind; `null`: none. @default none */
  findLack?(system: DeliverContext["system"]): Promise<string | null>;
  /** The longest output and detail that it sends, in UTF-16 code units: more is not persisted. */
  readonly textMax: TextMax;
  requiredPermissions(
    channel: ChannelOf<K>,
    system: DeliverContext["system"],
  ): RequiredPermissions | Promise<RequiredPermissions>;
  /** Pending notifications that are no longer true are dropped unsent after this time, in milliseconds. @default never */
  readonly staleAfterMs?: number;
  /** Whether its messages are printed alongside the log of the service. @default false */
  readonly isPrinted?: boolean;
}
