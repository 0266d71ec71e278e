/**
 * The checks that a member runs at its location: each check with locations has one runner among the members of each
 * location.
 */
import type { Check } from "../domain/check.ts";
import type { MemberHeartbeat } from "../domain/membership.ts";
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
