import type { Condition } from "../domain/condition.ts";
import type { KnownNotification } from "../domain/membership.ts";
import { markerKey } from "../engine/delivery_markers.ts";
import type { LastNotified } from "../engine/queued_notifications.ts";
import type { Rekeyed } from "../engine/rekey.ts";

/** The state of a check; another object after each change. */
interface Known {
  /** The last notification of each channel, delivered or queued; `null`: that of its record. */
  readonly byChannel: ReadonlyMap<string, LastNotified> | null;
}

/** The last notifications of the channels of each check that a member runs. */
export class KnownNotifications {
  readonly #byCheck = new Map<string, Known>();

  /** Returns whether they are unknown, since another member has written the record of a check. */
  isForgotten(check: string): boolean {
    return this.#byCheck.get(check)?.byChannel === null;
  }

  /** Uses the records of checks, until the last notifications are known. */
  forget(checks: readonly string[]): void {
    for (const check of checks) this.#byCheck.set(check, { byChannel: null });
  }

  /** Returns the last notification of a channel; `null`: that of the record of its check. */
  lastOf(check: string, channelKey: string): LastNotified | null {
    const byChannel = this.#byCheck.get(check)?.byChannel ?? null;
    return byChannel === null ? null : byChannel.get(channelKey) ?? notifiedOf(["ok"]);
  }

  /** Replaces the last notifications of some channels of a check. */
  add(check: string, last: Iterable<readonly [channelKey: string, last: LastNotified]>): void {
    const byChannel = new Map([...this.#byCheck.get(check)?.byChannel ?? [], ...last]);
    this.#byCheck.set(check, { byChannel });
  }

  /**
   * Reads the last notifications of some checks. Decisions that are not stored yet, or were forgotten meanwhile, are
   * newer.
   */
  async read(
    checks: readonly string[],
    { isUnstored, read }: {
      isUnstored(check: string): boolean;
      readonly read: (checks: readonly string[]) => Promise<readonly KnownNotification[]>;
    },
  ): Promise<void> {
    const before = new Map(
      checks.filter((check) => !isUnstored(check) || this.isForgotten(check))
        .map((check) => [check, this.#byCheck.get(check)]),
    );
    const found = Map.groupBy(await read(checks), ({ check }) => check);
    for (const [check, known] of before) {
      if (this.#byCheck.get(check) !== known) continue;
      const byChannel = new Map(
        (found.get(check) ?? []).map(({ channelKey, condition, certain }) =>
          [channelKey, notifiedOf(certain ? [condition] : [condition, "ok"])] as const
        ),
      );
      this.#byCheck.set(check, { byChannel });
    }
  }

  /** Moves the last notification of an edited channel to its replacement. */
  move(rekeyed: Rekeyed): void {
    for (const [check, { byChannel }] of this.#byCheck) {
      if (byChannel === null) continue;
      const moved = [...byChannel].flatMap(([channelKey, last]) => {
        const target = rekeyed.get(markerKey(check, channelKey));
        return target === undefined ? [] : [[target.channelKey, last] as const];
      });
      if (moved.length > 0) this.add(check, moved);
    }
  }
}

/** Returns a notification that is not pending here. */
export function notifiedOf(conditions: readonly Condition[]): LastNotified {
  return { conditions, isPending: false };
}
