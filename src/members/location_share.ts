/**
 * The checks that a member runs at its location: each check with locations has one runner among the members of each
 * location.
 */
import type { Check } from "../domain/check.ts";
import type { EarlyLook, HeartbeatReply, MemberHeartbeat } from "../domain/membership.ts";
import { hostOf } from "./rendezvous.ts";

export type LocatedCheck = Pick<Check, "name" | "locations">;

type LocatedMember = Pick<MemberHeartbeat, "host" | "location">;

export class LocationShare {
  readonly #own: LocatedMember;
  #live: ReadonlySet<string> = new Set();
  #hosts = "";
  #checks: readonly LocatedCheck[] = [];
  #runs: ReadonlySet<string> = new Set();

  constructor(own: LocatedMember) {
    this.#own = own;
  }

  /** Its name; `null` without one. */
  get name(): string | null {
    return this.#own.location;
  }

  /** The locations with a member that shares the work. */
  get live(): ReadonlySet<string> {
    return this.#live;
  }

  runs(check: string): boolean {
    return this.#runs.has(check);
  }

  /** Follows the members that share the work; returns whether the checks to run here may have changed. */
  update(members: readonly LocatedMember[], checks: readonly LocatedCheck[]): boolean {
    this.#live = new Set(members.flatMap(({ location }) => location ?? []));
    const hosts = members.filter(({ location }) => location === this.name).map(({ host }) => host).sort();
    const key = JSON.stringify(hosts);
    if (this.name === null || key === this.#hosts && checks === this.#checks) return false;
    [this.#hosts, this.#checks] = [key, checks];
    const { host, location } = this.#own;
    this.#runs = new Set(
      checks.filter(({ name, locations }) =>
        location !== null && locations?.from.includes(location) === true && hostOf(name, hosts) === host
      ).map(({ name }) => name),
    );
    return true;
  }
}

// The early runs that members request: each publishes its own requests with its heartbeats, and reads those of the
// others. A job that checked in is requested, too.

/** Long enough that each live member reads a request at least once. */
const PUBLISHED_FOR_MS = 5_000;
/** If more fail at the same time, the others are run at their intervals. */
const LOOKS_MAX = 200;

/** See the top of the file. Times are of the monotonic clock. */
export class EarlyLooks {
  #sequence = 0;
  #own: readonly { readonly look: EarlyLook; readonly untilMs: number }[] = [];
  /** By process, the last call that was received. */
  #received: ReadonlyMap<string, number> = new Map();
  /** By job, its last check-in that was received. */
  #checkedIn: ReadonlyMap<string, number> = new Map();

  call(check: string, why: EarlyLook["why"], nowMs: number): void {
    this.#drop(nowMs);
    const isPublished = this.#own.some(({ look }) => look.check === check && look.why === why);
    const isRepeated = isPublished && (why === "failing" || why === "needed");
    if (isRepeated || this.#own.length >= LOOKS_MAX) return;
    const look = { sequence: ++this.#sequence, check, why };
    this.#own = [...this.#own, { look, untilMs: nowMs + PUBLISHED_FOR_MS }];
  }

  published(nowMs: number): readonly EarlyLook[] {
    this.#drop(nowMs);
    return this.#own.map(({ look }) => look);
  }

  receive(members: readonly Pick<MemberHeartbeat, "id" | "looks">[]): readonly EarlyLook[] {
    const before = this.#received;
    this.#received = new Map(
      members.map(({ id, looks }) => [id, Math.max(before.get(id) ?? 0, looks.at(-1)?.sequence ?? 0)]),
    );
    return members.flatMap(({ id, looks }) =>
      looks.filter(({ sequence }) => sequence > (before.get(id) ?? 0))
    );
  }

  receiveCheckIns(checkIns: HeartbeatReply["checkIns"]): readonly Pick<EarlyLook, "check" | "why">[] {
    const before = this.#checkedIn;
    this.#checkedIn = new Map(checkIns.map(({ job, atMs }) => [job, atMs]));
    return checkIns.filter(({ job, atMs }) => before.get(job) !== atMs)
      .map(({ job }) => ({ check: job, why: "needed" }));
  }

  #drop(nowMs: number): void {
    if (this.#own.some(({ untilMs }) => untilMs <= nowMs)) {
      this.#own = this.#own.filter(({ untilMs }) => untilMs > nowMs);
    }
  }
}
