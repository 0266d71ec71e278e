/** What a member is made of: its options, its work, and the parts of the process that follow its share of it. */
import type { Check } from "../domain/check.ts";
import type { EarlyLook, HeartbeatStore, ReceivedReports, SharedStore } from "../domain/membership.ts";
import type { Clock } from "../domain/clock.ts";
import type { StateRepository } from "../state/state_repository.ts";
import type { LocatedCheck } from "./location_share.ts";
import type { PlacedCheck } from "./rendezvous.ts";
import type { SharedSender } from "./shared_sender.ts";

/** The checks and channels of the config; a reload replaces them. */
export interface MemberWork {
  readonly configHash: string;
  readonly checks: readonly (PlacedCheck & LocatedCheck & Pick<Check, "parameters">)[];
  readonly channelKeys: readonly string[];
  /** Whether it shows checks that others run, too. */
  readonly showsAll: boolean;
}

/** The parts of the process that follow a member. */
export interface MemberParts {
  readonly repository: Pick<StateRepository, "flush" | "recordOf" | "attributes" | "adopt" | "leaveOthers">;
  readonly sender: Pick<
    SharedSender,
    | "know"
    | "forget"
    | "take"
    | "receive"
    | "release"
    | "silence"
    | "failOpen"
    | "failClosed"
    | "attemptTimeoutMs"
  >;
  /** `null`: a single run, which runs no checks for others. */
  readonly scheduler: {
    spread(): void;
    /** Runs the groups that combine a check which changed elsewhere. */
    runGroupsOf(check: string): void;
  } | null;
  readonly located: {
    /** Applies the changed share of the checks of its location. */
    spread(): void;
    look(looks: readonly Pick<EarlyLook, "check" | "why">[]): void;
  } | null;
  /** What agents reported to any member. `null`: a single run, which records none of it. */
  readonly reports: { heard(received: readonly ReceivedReports[]): void } | null;
}

export type MemberEvent =
  | { readonly event: "joined" | "left"; readonly host: string }
  /** Whether this process has the active config. */
  | { readonly event: "config"; readonly isActive: boolean }
  /** Whether it sends without the shared state. */
  | { readonly event: "fail_open"; readonly isOpen: boolean };

export interface MemberOptions {
  readonly host: string;
  readonly id: string;
  readonly location: string | null;
  /** Whether it runs no checks, and sends only while no other member shares the work: a single run. @default false */
  readonly isGuest?: boolean;
  readonly work: MemberWork;
  /** How long the shared state may be unreachable before it sends without it. */
  readonly failOpenAfterMs: number;
  readonly heartbeats: HeartbeatStore;
  readonly store: Pick<
    SharedStore,
    "load" | "readOthers" | "known" | "pendingChannels" | "takeQueue" | "giveBackQueue" | "receive" | "owns"
  >;
  readonly clock: Clock;
  onEvent(event: MemberEvent): void;
  /** Called when a newer process of this host participates. */
  onSuperseded(): void;
  onBug(error: unknown): void;
}
