/** Compares the notifications that arrived at one channel with the stored changes. */
import assert from "node:assert/strict";
import type { Condition } from "../../../src/domain/condition.ts";
import type { Arrival, ArrivedItem } from "./arrivals.ts";
import type { ModelChange } from "./model.ts";

/** The relevant events of the whole campaign. */
export interface History {
  /** Kept changes of the checks that notify this channel, in order. */
  readonly changes: readonly ModelChange[];
  /** By the token of a run that was kept, how many changes of its check there were by then. */
  readonly changeCounts: ReadonlyMap<string, number>;
  /** Tokens of runs that were not kept. */
  readonly unkeptRuns: ReadonlySet<string>;
  /**
   * The rounds in which the channel was edited in the config. Only a reload detects that it is the same; after a
   * start it is a new one. Notifications pending then are dropped and, if still true, due again by a later run; sent
   * ones are sent again.
   */
  readonly editedRounds: readonly number[];
  /** Changes that were decided while the state could not be written, and not stored: they may have been sent. */
  readonly unkept: readonly ModelChange[];
  /**
   * The rounds in which the state could not be written for a while. Deliveries in them may not have been stored, so
   * that they may be repeated; in every other case a duplicate has the id of the first.
   */
  readonly troubledRounds: ReadonlySet<number>;
  /** Messages whose arrival the monitor could not detect; their notifications may be repeated. */
  readonly unnoticed: ReadonlySet<string>;
}

/** The numbers of notifications. */
export interface NotifiedCounts {
  readonly messages: number;
  readonly duplicates: number;
  /** Notifications that arrived again under another id, after a round in which nothing could be noted. */
  readonly repeated: number;
  /** Notifications of changes that could not be kept. */
  readonly unkept: number;
}

/**
 * Asserts that each stored change is sent once except for duplicates, in order, and nothing else, except for changes
 * decided while the state could not be written. Pending notifications are merged with later ones of the same problem,
 * and only those are sent. Notifications that were pending when the channel was edited may be missing, up to the last
 * of them.
 */
export function assertNotifiedExactly(arrivals: readonly Arrival[], history: History): NotifiedCounts {
  const messages = withoutDuplicates(arrivals);
  const checks = new Map(
    Object.entries(Object.groupBy(history.changes, ({ check }) => check)).map((
      [name, changes = []],
    ) => [name, new Notifying(name, changes, history)]),
  );
  for (const message of messages) {
    const byCheck = Object.groupBy(message.items, ({ check }) => check);
    for (const [name, items = []] of Object.entries(byCheck)) {
      const notifying = checks.get(name) ?? new Notifying(name, [], history);
      checks.set(name, notifying);
      notifying.hear(items, message);
    }
  }
  const tellings = [...checks.values()];
  for (const notifying of tellings) notifying.assertComplete();
  const sum = (count: (notifying: Notifying) => number): number =>
    tellings.reduce((total, notifying) => total + count(notifying), 0);
  return {
    messages: messages.length,
    duplicates: arrivals.length - messages.length,
    repeated: sum(({ repeated }) => repeated),
    unkept: sum(({ unkept }) => unkept),
  };
}

/** Returns the first of each message; a duplicate has exactly the same contents. */
function withoutDuplicates(arrivals: readonly Arrival[]): readonly Arrival[] {
  const first = new Map<string, Arrival>();
  for (const arrival of arrivals) {
    assert.notEqual(arrival.id, "");
    const duplicate = first.get(arrival.id);
    if (duplicate === undefined) first.set(arrival.id, arrival);
    else {
      assert.equal(
        arrival.text,
        duplicate.text,
        `round ${arrival.round}: what arrives as ${arrival.id} again tells the same as in round ${duplicate.round}`,
      );
    }
  }
  return [...first.values()];
}

/** The notifications of one channel for one check. */
class Notifying {
  repeated = 0;
  unkept = 0;
  readonly #name: string;
  readonly #changes: readonly ModelChange[];
  readonly #history: History;
  readonly #indexes: ReadonlyMap<string, number>;
  /** The last message of each change. */
  readonly #notifiedIn: Pick<Arrival, "id" | "round">[] = [];
  /** Changes that were dropped. */
  readonly #lost = new Set<number>();

  constructor(name: string, changes: readonly ModelChange[], history: History) {
    this.#name = name;
    this.#changes = changes;
    this.#history = history;
    this.#indexes = new Map(changes.map(({ token }, index) => [token, index]));
  }

  /** Records the items of one message. */
  hear(items: readonly ArrivedItem[], { channel, id, round }: Arrival): void {
    const where = `${channel}, round ${round}, message ${id}, ${this.#name}`;
    const indexes = new Set<number>();
    for (const item of items) for (const index of this.#indexesOf(item, where, round)) indexes.add(index);
    for (const index of [...indexes].sort((one, other) => one - other)) {
      const before = this.#notifiedIn[index];
      if (before === undefined) {
        for (let lost = this.#notifiedIn.length; lost < index; lost++) {
          if (!this.#isMerged(lost, index)) {
            assert.ok(this.#isLost(lost, round), `${where}: change ${index} is told before change ${lost}`);
            this.#lost.add(lost);
          }
          this.#notifiedIn.push({ id, round });
        }
        this.#notifiedIn.push({ id, round });
      } else {
        this.repeated++;
        assert.ok(
          this.#mayBeRepeated(before) || this.#wasEdited(before.round - 1, round),
          `${where}: change ${index} was told in round ${before.round} under another id`,
        );
        // A receiver that had it twice may have it three times, if nothing could be noted this time either.
        this.#notifiedIn[index] = { id, round };
      }
    }
  }

  assertComplete(): void {
    const first = this.#notifiedIn.length;
    for (let index = first; index < this.#changes.length && this.#isLost(index, Infinity); index++) {
      this.#lost.add(index);
    }
    const isWell = this.#changes.at(-1)?.to === "ok" && this.#lost.has(this.#changes.length - 1);
    if (!isWell) assert.deepEqual(this.#changes.slice(first), [], `${this.#name}: these were never told`);
  }

  /**
   * Returns whether one was pending when a later change of the same problem was decided, into which it was merged.
   */
  #isMerged(index: number, later: number): boolean {
    return this.#changes.slice(index, later).every(({ to }) => to !== "ok");
  }

  /**
   * Returns whether one was pending when the channel was edited; or is the end of a problem that was, or that was
   * sent before the edit.
   */
  #isLost(index: number, round: number): boolean {
    const { round: changedIn = 0, to } = this.#changes[index] ?? {};
    const fromRound = to === "ok" ? this.#notifiedIn[index - 1]?.round ?? changedIn : changedIn;
    return this.#wasEdited(fromRound - 1, round) || to === "ok" && this.#lost.has(index - 1);
  }

  /** An edit counts from the next start or reload on, which may be in the round after it. */
  #wasEdited(fromRound: number, untilRound: number): boolean {
    return this.#history.editedRounds.some((round) => round >= fromRound && round <= untilRound);
  }

  /**
   * Returns the change of a run whose notification was sent though it was none: one that was dropped, or sent
   * elsewhere, before.
   */
  #renewedBy({ token }: ArrivedItem, round: number): number | undefined {
    const count = this.#history.changeCounts.get(token) ?? 0;
    return count > 0 && this.#wasEdited(-1, round) ? count - 1 : undefined;
  }

  /** Returns whether the problem of a change began with one that was not sent before, according to the monitor. */
  #mayBeUntold(end: number): boolean {
    const begin = this.#changes.slice(0, end + 1).findLastIndex(({ from }) => isNoProblem(from));
    const notified = this.#notifiedIn[begin];
    return notified === undefined || this.#mayBeRepeated(notified);
  }

  /** Returns whether the delivery could not be stored, so that it may be repeated. */
  #mayBeRepeated({ id, round }: Pick<Arrival, "id" | "round">): boolean {
    return this.#history.troubledRounds.has(round) || this.#history.unnoticed.has(id);
  }

  /** Returns the changes in an item; none if it is one that could not be stored. */
  #indexesOf(item: ArrivedItem, where: string, round: number): readonly number[] {
    const end = this.#indexes.get(item.token) ?? this.#renewedBy(item, round);
    const change = end === undefined ? this.#unkeptOf(item, round) : this.#changes[end];
    assert.ok(change !== undefined, `${where}: invented: ${JSON.stringify(item)}`);
    assert.equal(item.condition, change.to, where);
    // A change that could not be stored follows the last stored one.
    const last = end ?? this.#changes.findLastIndex(({ round: changedIn = 0 }) => changedIn <= round);
    const isMergedProblem = item.previous !== null && isNoProblem(item.previous) && this.#mayBeUntold(last);
    if (item.previous !== null && !isMergedProblem && !this.#wasEdited(-1, round)) {
      assert.equal(item.previous, change.from, where);
    }
    if (item.isOver) assert.equal(change.to, "ok", `${where}: only an end is told with its problem`);
    if (end === undefined) {
      assert.ok(
        this.#history.troubledRounds.has(round),
        `${where}: ${item.token} was told, was not kept, and the state could be written all the time`,
      );
      this.unkept++;
      return [];
    }
    return item.isOver ? this.#together(item, end, { where, round }) : [end];
  }

  /** The problem, its changes and its end. */
  #together(
    item: ArrivedItem,
    end: number,
    { where, round }: { readonly where: string; readonly round: number },
  ): readonly number[] {
    const begin = this.#changes.slice(0, end).findLastIndex(({ from }) => isNoProblem(from));
    assert.ok(begin >= 0, `${where}: the end of nothing`);
    if (item.missedToken !== null && !this.#wasEdited(-1, round)) {
      const tokens = this.#changes.slice(begin, end).map(({ token }) => token);
      assert.ok(tokens.includes(item.missedToken), where);
    }
    return Array.from({ length: end - begin + 1 }, (_, index) => begin + index);
  }

  #unkeptOf({ token, condition, previous }: ArrivedItem, round: number): ModelChange | undefined {
    const { unkept, unkeptRuns } = this.#history;
    const renewed: ModelChange | undefined = unkeptRuns.has(token) && this.#wasEdited(-1, round)
      ? { check: this.#name, from: (previous ?? "ok") as Condition, to: condition as Condition, token }
      : undefined;
    return unkept.find((change) => change.check === this.#name && change.token === token) ?? renewed;
  }
}

function isNoProblem(condition: string): boolean {
  return condition === "ok" || condition === "pending";
}
