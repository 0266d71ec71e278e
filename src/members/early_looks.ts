/**
 * The early runs that members request: each publishes its own requests with its heartbeats, and reads those of the
 * others. A job that checked in is requested, too.
 */
import type { EarlyLook, HeartbeatReply, MemberHeartbeat } from "../domain/membership.ts";

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
