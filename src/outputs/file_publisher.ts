import { createTrouble, type Trouble } from "../shared/trouble.ts";
import { describeFileError } from "../shared/describe_error.ts";
import { StoreError } from "../domain/store.ts";
import type { System } from "../domain/system.ts";
import type { Log } from "../domain/log.ts";

/** A file that is to be fresh while the monitor runs. */
export interface PublishedFile {
  /** What is in it, for messages: `the metrics`. */
  readonly what: string;
  /** Absolute. */
  readonly path: string;
  readonly intervalMs: number;
  /** Makes its text; `lateMs` is how much later than planned this happens. */
  render(lateMs: number): string | Promise<string>;
}

/** Files that are kept fresh. */
export interface FilePublisher {
  adopt(files: readonly PublishedFile[]): void;
  /** Writes all of them soon: what is in them has changed. */
  changed(): void;
  /** Writes all of them for the last time, after what is being written. */
  finish(): Promise<void>;
  end(): void;
}

/** What keeping files fresh needs. */
interface FilePublisherOptions {
  readonly system: Pick<System, "clock" | "files">;
  /** Told of trouble with a file, once, and when it is over. */
  readonly log: Pick<Log, "warning" | "info">;
  /** Told of what must not happen; that file is written no more. */
  onBug(error: unknown): void;
}

/** What changes together is written together. */
const GATHER_MS = 2_000;
/** After a writing the next one waits so long, and so many times as long as it took, whatever changes meanwhile. */
const GAP_MS = 5_000;
const GAP_TIMES = 20;

/** Writes each file now and at its interval. A file that cannot be written is tried again, and nothing else ends. */
export function startFilePublisher(
  files: readonly PublishedFile[],
  options: FilePublisherOptions,
): FilePublisher {
  const { system, log, onBug } = options;
  const { clock } = system;
  /** By path, so that a reload does not say it again. */
  const troubles = new Map<string, Trouble<string>>();
  const troubleOf = ({ path, what }: PublishedFile): Trouble<string> => {
    const trouble = troubles.get(path) ??
      createTrouble<string>((failure) =>
        failure === null ? log.info(`writing ${what} succeeds again`) : log.warning(failure)
      );
    troubles.set(path, trouble);
    return trouble;
  };
  let kept: Keeper[] = [];
  /** One after another: what a reload replaces may still be on its way to the same path. */
  let writing: Promise<unknown> = Promise.resolve();

  const keep = (file: PublishedFile): Keeper => {
    let isEnded = false;
    let isChanged = false;
    let cancel: (() => void) | null = null;
    let nextMs = 0;
    /** No sooner than this, however much changes. */
    let soonestMs = 0;
    const plan = (atMs: number): void => {
      cancel?.();
      nextMs = atMs;
      cancel = clock.after(atMs - clock.monotonicMs(), () => {
        cancel = null;
        tick(atMs).catch(onBug);
      });
    };
    const soon = (): number => Math.max(clock.monotonicMs() + GATHER_MS, soonestMs);
    const tick = async (plannedMs: number): Promise<void> => {
      const beganMs = clock.monotonicMs();
      isChanged = false;
      const lateMs = Math.max(0, beganMs - plannedMs);
      const turn = writing.then(() => isEnded ? null : publishFile(file, system.files, lateMs));
      writing = turn.catch(() => {});
      const failure = await turn;
      if (isEnded) return;
      troubleOf(file).set(failure);
      const endedMs = clock.monotonicMs();
      soonestMs = endedMs + Math.max(GAP_MS, GAP_TIMES * (endedMs - beganMs));
      const regularMs = Math.max(plannedMs + file.intervalMs, endedMs);
      plan(isChanged ? Math.min(regularMs, soon()) : regularMs);
    };
    tick(clock.monotonicMs()).catch(onBug);
    return {
      file,
      changed: () => {
        isChanged = true;
        if (cancel !== null && soon() < nextMs) plan(soon());
      },
      end: () => {
        isEnded = true;
        cancel?.();
      },
    };
  };
  const end = (): void => {
    for (const keeper of kept) keeper.end();
    kept = [];
  };
  kept = files.map(keep);
  return {
    finish: async () => {
      const last = kept.map(({ file }) => file);
      end();
      await writing;
      for (const file of last) {
        const failure = await publishFile(file, system.files);
        if (failure !== null) troubleOf(file).set(failure);
      }
    },
    adopt: (next) => {
      end();
      kept = next.map(keep);
    },
    changed: () => {
      for (const keeper of kept) keeper.changed();
    },
    end,
  };
}

interface Keeper {
  readonly file: PublishedFile;
  changed(): void;
  end(): void;
}

/** Writes a file once; the answer says what went wrong, in words, or `null`. */
export async function publishFile(
  file: PublishedFile,
  files: Pick<System["files"], "replace">,
  lateMs = 0,
): Promise<string | null> {
  let text: string;
  try {
    text = await file.render(lateMs);
  } catch (error) {
    // A state that cannot be read just now, while somebody else writes it.
    if (error instanceof StoreError) return `cannot write ${file.what} to "${file.path}": ${error.message}`;
    throw error;
  }
  try {
    await files.replace(file.path, text);
    return null;
  } catch (error) {
    return `cannot write ${file.what} to "${file.path}": ${
      describeFileError(error, { path: file.path, access: "write" })
    }`;
  }
}
