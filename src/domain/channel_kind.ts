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
  /**
   * Told of each step that succeeded, such as `resolved`, `connected`, `TLS`, `login`: for `monitor notify`, which
   * shows how far it came.
   */
  onStep(step: string): void;
  /** Aborts when time is up or the monitor ends; delivery then throws the signal's reason. */
  readonly signal: AbortSignal;
}

/** The lengths of texts, in UTF-16 code units. */
export interface TextMax {
  readonly output: number;
  readonly detail: number;
}

/** Everything that varies by channel kind. */
export interface ChannelKindEntry<K extends ChannelKind> {
  /**
   * Hands over one message. What the receiver does is a value, never an exception; only an abort and a bug throw.
   */
  deliver(message: Message, channel: ChannelOf<K>, context: DeliverContext): Promise<Delivery>;
  /** Whether everything that waits for the channel goes as one message. Otherwise each item is a message. */
  batches(channel: ChannelOf<K>): boolean;
  /** How messages and `monitor status` name the channel, such as `email to admin@example.org`; no secrets. */
  describe(channel: ChannelOf<K>): string;
  /** Describes what this machine lacks for every channel of the kind; `null`: nothing. @default nothing */
  findLack?(system: DeliverContext["system"]): Promise<string | null>;
  /** How much of an output and of a detail it sends at most, in UTF-16 code units: more is not persisted. */
  readonly textMax: TextMax;
  /** What the runtime must permit for `deliver` on this machine. */
  requiredPermissions(channel: ChannelOf<K>, system: DeliverContext["system"]): Promise<RequiredPermissions>;
  /** A notification is not worth telling after so long, in milliseconds; `null`: it always is. */
  readonly staleAfterMs: number | null;
}
