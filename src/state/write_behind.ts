import type { Check } from "../domain/check.ts";
import type { Ledger } from "./state_repository.ts";

/** Writes what is entered into a ledger (write-behind). */
export interface Writing {
  /**
   * Sees to it that what was just entered is written: at once where it is urgent, else together with what comes
   * soon after. What is urgent has been written, or the store was found unable to, once this resolves.
   */
  entered(): Promise<void>;
  /** Takes back the write that is to come: the caller flushes. */
  end(): void;
}

/** Where {@linkcode startWriting} gets its time, and what else it needs. */
export interface WritingOptions {
  /** What is written. */
  readonly ledger: Ledger;
  /** Calls back once after a delay; the answer cancels it. */
  after(delayMs: number, callback: () => void): () => void;
  /** Told of what must not happen. */
  onBug(error: unknown): void;
}

/** The same for {@linkcode startKeeping}. */
export interface KeepingOptions extends WritingOptions {
  /** Every check of the config as it is now. */
  checks(): readonly Check[];
  /** Wall time, milliseconds since 1970. */
  nowMs(): number;
}

/** Results wait so long for others to be written with them. */
const WRITE_AFTER_MS = 1_000;
/** A store that takes nothing is tried again ever more seldom, so many milliseconds apart in the end. */
const RETRY_MS_MAX = 16_000;
const TIDY_EVERY_MS = 3_600_000;
/** Where there is more to forget than one step does. */
const TIDY_STEP_AFTER_MS = 1_000;

/** Writes results within a second, and what is urgent at once. */
export function startWriting({ ledger, after, onBug }: WritingOptions): Writing {
  let cancelWrite: (() => void) | null = null;
  let waitMs = WRITE_AFTER_MS;

  const write = async (): Promise<void> => {
    cancelWrite?.();
    cancelWrite = null;
    await ledger.flush();
    if (!ledger.isInTrouble) waitMs = WRITE_AFTER_MS;
    if (ledger.waiting > 0) writeSoon();
  };
  const writeSoon = (): void => {
    cancelWrite ??= after(waitMs, () => {
      if (ledger.isInTrouble) waitMs = Math.min(2 * waitMs, RETRY_MS_MAX);
      write().catch(onBug);
    });
  };
  return {
    entered: () => {
      if (ledger.isUrgent) return write();
      writeSoon();
      return Promise.resolve();
    },
    end: () => cancelWrite?.(),
  };
}

/** Starts writing, and tidies now and every hour. */
export function startKeeping(options: KeepingOptions): Writing {
  const { ledger, checks, nowMs, after, onBug } = options;
  const tidy = async (): Promise<void> => {
    const { finished } = await ledger.tidy(checks(), nowMs());
    after(finished ? TIDY_EVERY_MS : TIDY_STEP_AFTER_MS, () => void tidy().catch(onBug));
  };
  tidy().catch(onBug);
  return startWriting(options);
}
