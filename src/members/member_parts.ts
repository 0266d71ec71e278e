/** The work of a member, and the parts of the process that follow its share of it. */
import type { Check } from "../domain/check.ts";
import type { EarlyLook } from "../domain/membership.ts";
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
  readonly repository: Pick<StateRepository, "flush" | "recordOf" | "adopt" | "leaveOthers">;
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
}
