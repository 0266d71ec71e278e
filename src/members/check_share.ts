/**
 * The checks that a member runs, and the records of the others that it follows: checks that its own depend on or
 * combine, and now and then every check if it shows all of them.
 */
import { combinedChecks, dependencyNames } from "../domain/check.ts";
import { type RelatedChecks, type SharedStore, SHARING_MAX } from "../domain/membership.ts";
import type { CheckRecord } from "../domain/store.ts";
import type { MemberOptions, MemberParts, MemberWork } from "./member_parts.ts";
import { createPlacement, hostOf, placesOf } from "./rendezvous.ts";

/** The interval at which records of other members' checks are read for the page. */
const SHOWN_EVERY_MS = 10_000;

/** The most attributes of one search, which goes through all records: those that most failing checks suspect. */
const ATTRIBUTES_MAX = 64;

interface CheckShareOptions extends Pick<MemberOptions, "host" | "work" | "clock"> {
  readonly store: Pick<SharedStore, "load" | "readOthers" | "known">;
}

type ShareParts = Pick<MemberParts, "repository" | "sender" | "scheduler">;

export class CheckShare {
  readonly #options: CheckShareOptions;
  #work: MemberWork;
  #places: ReadonlyMap<string, string>;
  #hosts: readonly string[] = [];
  #runs: ReadonlySet<string> = new Set();
  /** The checks placed on this host; `null`: hosts or config have changed. */
  #here: ReadonlySet<string> | null = null;
  #dependencies: { readonly of: ReadonlySet<string>; readonly names: readonly string[] } | null = null;
  readonly #overtaken = new Set<string>();
  /** As of the last heartbeat, see {@linkcode noteUncertain}. */
  #uncertain: ReadonlySet<string> = new Set();
  #shownAtMs = -Infinity;

  constructor(options: CheckShareOptions) {
    this.#options = options;
    this.#work = options.work;
    this.#places = placesOf(options.work.checks);
  }

  runs(check: string): boolean {
    return this.#runs.has(check);
  }

  get hosts(): readonly string[] {
    return this.#hosts;
  }

  set hosts(hosts: readonly string[]) {
    const isSame = hosts.length === this.#hosts.length &&
      hosts.every((host, index) => host === this.#hosts[index]);
    if (isSame) return;
    this.#hosts = hosts;
    this.#here = null;
  }

  /** Returns whether this host is the one that is responsible for something with a name. */
  isHere(place: string): boolean {
    return hostOf(place, this.#hosts) === this.#options.host;
  }

  adopt(work: MemberWork): void {
    this.#work = work;
    this.#places = placesOf(work.checks);
    this.#here = null;
    this.#dependencies = null;
  }

  /** Runs all checks, independently of the other members. */
  runAll({ scheduler }: Pick<MemberParts, "scheduler">): void {
    this.#runs = new Set(this.#work.checks.map(({ name }) => name));
    scheduler?.spread();
  }

  /** At the next {@linkcode follow}, reads the delivery markers of checks again that another member has overtaken. */
  overtaken(checks: readonly string[]): void {
    for (const check of checks) this.#overtaken.add(check);
  }

  /**
   * Follows the checks of which a channel may have been notified of another condition than their record has. A new one
   * was sent by a member without the database, which may never run the check again: its delivery markers are read.
   */
  noteUncertain(checks: readonly string[]): void {
    this.overtaken(checks.filter((check) => this.#runs.has(check) && !this.#uncertain.has(check)));
    this.#uncertain = new Set(checks);
  }

  /**
   * Ends with the checks that are placed elsewhere now, and begins with those that are placed here.
   *
   * @throws {StoreError} The next call goes on.
   */
  async follow(parts: ShareParts): Promise<void> {
    const { store } = this.#options;
    const { repository, sender, scheduler } = parts;
    const mine = this.#checksHere();
    const kept = mine === this.#runs ? mine : this.#runs.intersection(mine);
    if (kept.size < this.#runs.size) {
      this.#runs = kept;
      scheduler?.spread();
      await repository.flush();
    }
    await this.#readOvertaken(parts);
    const added = kept.size === mine.size ? [] : [...mine.difference(kept)];
    if (added.length > 0) {
      // A run of one of them may just have ended here.
      await repository.flush();
      this.#load(await store.load(added), parts);
      await sender.know(added, store.known);
      await this.readOthers(parts, mine);
      // Meanwhile another member may have joined.
      const here = this.#checksHere();
      this.#runs = here === mine ? mine : mine.intersection(here);
      scheduler?.spread();
    } else this.#runs = mine;
  }

  /**
   * Reads the required records of checks that other members run.
   *
   * @throws {StoreError}
   */
  async readOthers(parts: ShareParts, runs = this.#runs): Promise<void> {
    const { store, clock } = this.#options;
    const { checks, showsAll } = this.#work;
    const isTimeToShow = showsAll && clock.monotonicMs() - this.#shownAtMs >= SHOWN_EVERY_MS;
    if (isTimeToShow) this.#shownAtMs = clock.monotonicMs();
    const others = isTimeToShow
      ? checks.flatMap(({ name }) => runs.has(name) ? [] : [name])
      : this.#dependenciesElsewhere(runs);
    if (others.length === 0) return;
    const records = await store.readOthers(others);
    this.#load(records.filter(({ name }) => !runs.has(name)), parts);
  }

  /**
   * Reads the last results of other members that decide about common causes: of some checks, and of those that share an
   * attribute with them or, in turn, with one that fails.
   *
   * @throws {StoreError}
   */
  async readRelated(parts: ShareParts, { checks = [], attributes = [] }: RelatedChecks): Promise<void> {
    const { repository } = parts;
    const nowMs = this.#options.clock.wallMs();
    const isElsewhere = (name: string): boolean => !this.#runs.has(name);
    const failingWith = (words: Iterable<string>): readonly string[] =>
      [...words].flatMap((word) => [...repository.attributes.suspectingWith(word)]);
    const read = new Set<string>();
    const unread = (words: readonly string[]): readonly string[] =>
      [...new Set(words).difference(read)]
        .map((word) => ({ word, failing: repository.attributes.suspectingWith(word).size }))
        .sort((one, other) => other.failing - one.failing || (one.word < other.word ? -1 : 1))
        .slice(0, ATTRIBUTES_MAX - read.size).map(({ word }) => word);
    let names = checks;
    let words = unread(attributes);
    do {
      // One that suspected something may suspect it no more.
      const others = new Set([...names, ...failingWith(words)].filter(isElsewhere));
      const records = await this.#options.store.readOthers([...others].slice(0, SHARING_MAX), words);
      this.#load(records.filter(({ name }) => isElsewhere(name)), parts);
      for (const word of words) read.add(word);
      names = [];
      words = unread(
        [...checks, ...failingWith(read)].flatMap((name) =>
          repository.recordOf(name, nowMs).last?.attributes?.suspected ?? []
        ),
      );
    } while (words.length > 0);
  }

  /** Uses records of other members: of checks that they run, or that this process will run. */
  #load(records: readonly CheckRecord[], { repository, sender, scheduler }: ShareParts): void {
    const nowMs = this.#options.clock.wallMs();
    const changed = records.filter(({ name, condition: { confirmed }, last }) => {
      const before = repository.recordOf(name, nowMs);
      return before.condition.confirmed !== confirmed || before.last?.definition !== last?.definition;
    });
    repository.adopt(records);
    sender.forget(records.map(({ name }) => name));
    for (const { name } of changed) scheduler?.runGroupsOf(name);
  }

  async #readOvertaken({ sender }: ShareParts): Promise<void> {
    if (this.#overtaken.size === 0) return;
    const { store } = this.#options;
    const names = [...this.#overtaken];
    this.#overtaken.clear();
    try {
      await sender.know(names, store.known);
    } catch (error) {
      this.overtaken(names);
      throw error;
    }
  }

  /** Returns the same set until hosts or config change: with many checks it takes long. */
  #checksHere(): ReadonlySet<string> {
    if (this.#here !== null) return this.#here;
    const placeOn = createPlacement(this.#hosts);
    const { host } = this.#options;
    const names = [...this.#places].flatMap(([name, place]) => placeOn(place) === host ? [name] : []);
    return this.#here = new Set(names);
  }

  /** The dependencies of checks, and the checks that groups combine, that run elsewhere. */
  #dependenciesElsewhere(runs: ReadonlySet<string>): readonly string[] {
    if (this.#dependencies?.of === runs) return this.#dependencies.names;
    const names = this.#work.checks.flatMap((check) =>
      runs.has(check.name) ? [...dependencyNames(check), ...combinedChecks(check)] : []
    );
    this.#dependencies = { of: runs, names: [...new Set(names)].filter((name) => !runs.has(name)) };
    return this.#dependencies.names;
  }
}
