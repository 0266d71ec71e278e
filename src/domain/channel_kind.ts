import type { ChannelKind, ChannelOf } from "./channel.ts";
import type { Delivery, Message } from "./delivery.ts";
import type { RequiredPermissions } from "./runtime_permissions.ts";
import type { System } from "./system.ts";

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
}
