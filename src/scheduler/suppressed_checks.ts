import { mayComeLater } from "../engine/channel_filters.ts";
import { hasProblem } from "../condition/condition_state.ts";
import type { Check } from "../domain/check.ts";
import type { Decided } from "../engine/decide.ts";
import type { Engine } from "../engine/engine.ts";

interface SuppressedChecksOptions {
  readonly engine: Pick<Engine, "refresh" | "review" | "checksToRun">;
  nowMs(): number;
  /** The check of a name; `null` if it is not scheduled any more. */
  checkOf(name: string): Check | null;
  /** Runs a check at once, unless it is running, or requests the member that owns it to do so. */
  request(name: string): void;
  send(entry: Decided): void;
}

/**
 * Checks whose notification is suppressed, or postponed for a channel (`after`, `hours`). They are decided again when that may have
 * ended, not only at their next run. A dependency whose state is needed for that runs at once.
 */
export class SuppressedChecks {
  readonly #options: SuppressedChecksOptions;
  readonly #suppressed = new Set<string>();
  /** Dependencies after whose next result the suppressed checks are decided again. */
  readonly #awaited = new Set<string>();
  /** Checks with a result since the start; the state of others may be outdated. */
  readonly #current = new Set<string>();

  constructor(options: SuppressedChecksOptions) {
    this.#options = options;
  }

  async recorded(check: Check, entry: Decided): Promise<void> {
    this.#current.add(check.name);
    this.#note(check, entry, true);
    // Without running dependencies: if the clock was set back, the state of this one may seem unknown for long.
    if (this.#awaited.delete(check.name)) await this.review({ runsParents: false });
  }

  /** Decides again about every check that is current: a pending notification of a removed channel is due again. */
  async reloaded(): Promise<void> {
    await this.review({ also: this.#current });
  }

  removed(name: string): void {
    this.#current.delete(name);
    this.#awaited.delete(name);
  }

  async review(
    { also = [], runsParents = true }: { readonly also?: Iterable<string>; readonly runsParents?: boolean } =
      {},
  ): Promise<void> {
    const { engine, nowMs, checkOf, send } = this.#options;
    for (const name of also) this.#suppressed.add(name);
    if (![...this.#suppressed].some((name) => checkOf(name) !== null)) return;
    await engine.refresh();
    const atMs = nowMs();
    for (const name of [...this.#suppressed]) {
      const check = checkOf(name);
      if (check === null) continue;
      const entry = engine.review(check, atMs);
      if (entry.notification !== null || entry.action !== null) send(entry);
      this.#note(check, entry, runsParents);
    }
  }

  #note(check: Check, { suppressed, record }: Decided, runsParents: boolean): void {
    const mayEscalate = hasProblem(record.condition) && check.notifications.some(mayComeLater);
    if (suppressed === null && !mayEscalate) this.#suppressed.delete(check.name);
    else this.#suppressed.add(check.name);
    if (suppressed === "dependency" && runsParents) this.#runParents(check);
  }

  #runParents(check: Check): void {
    const { engine, nowMs, checkOf, request } = this.#options;
    for (const { name } of engine.checksToRun(check, nowMs())) {
      if (this.#awaited.has(name)) continue;
      // The result of another member is read later.
      if (checkOf(name) !== null) this.#awaited.add(name);
      request(name);
    }
  }
}
