/** The work of a member, and the parts of the process that follow its share of it. */
import type { Check } from "../domain/check.ts";
import type {
  EarlyLook,
  KnownNotification,
  ReceivedNotifications,
  TakenQueue,
} from "../domain/membership.ts";
import type { Silence } from "../domain/outbox.ts";
import type { CheckRecord } from "../domain/store.ts";
import type { LocatedCheck } from "./location_share.ts";
import type { PlacedCheck } from "./rendezvous.ts";

/** The checks and channels of the config; a reload replaces them. */
export interface MemberWork {
  readonly configHash: string;
  readonly checks: readonly (PlacedCheck & LocatedCheck & Pick<Check, "parameters">)[];
  readonly channelKeys: readonly string[];
  /** Whether it shows checks that others run, too. */
  readonly showsAll: boolean;
}

export interface MemberFollower {
  flush(): Promise<void>;
  /** Loads the records of other members: of checks that they run, or that this process will run. */
  load(records: readonly CheckRecord[]): void;
  /** Reads the last notifications of channels, and adopts them. */
  know(
    checks: readonly string[],
    read: (checks: readonly string[]) => Promise<readonly KnownNotification[]>,
  ): Promise<void>;
  /** Persists that nothing runs other checks than these. */
  leaveOthers(checks: MemberWork["checks"]): Promise<void>;
  /** Applies the changed share of checks. */
  spread(): void;
  /** Applies the changed share of the checks of its location. */
  spreadLocation(): void;
  /** Runs checks at once. */
  look(looks: readonly Pick<EarlyLook, "check" | "why">[]): void;
  take(taken: TakenQueue): void;
  receive(received: ReceivedNotifications): void;
  /** Ends with a queue; resolves once nothing of it is being sent, and its outcomes are persisted. */
  release(channelKey: string): Promise<void>;
  silence(silences: readonly Silence[]): void;
  /** Sends notifications of its own checks without the shared state. */
  failOpen(): void;
  /** Sends through the shared state again: persists everything, and leaves all queues. Resolves to whether it could. */
  failClosed(): Promise<boolean>;
  /** Returns how long an attempt to send to a channel may take. */
  attemptTimeoutMs(channelKey: string): number;
}
