import type { Clock } from "../domain/clock.ts";
import { createTrouble, describeFileError, type Trouble } from "../shared/describe_error.ts";
import { StoreError } from "../domain/store.ts";
import type { Log, System } from "../domain/system.ts";

/** A file that is written again and again while the monitor runs. */
export interface PublishedFile {
  /** For messages: `the metrics`. */
  readonly what: string;
  /** Absolute. */
  readonly path: string;
  readonly intervalMs: number;
  /** Renders the text; `lateMs` is the time since the planned one. */
  render(lateMs: number): string | Promise<string>;
}

interface FilePublisherOptions {
  readonly system: Pick<System, "clock" | "files">;
  /** Gets a failure to write a file once, and that writing succeeds again. */
  readonly log: Pick<Log, "warning" | "info">;
  /** Called with a bug; that file is not written any more. */
  onBug(error: unknown): void;
}

/** Changes within this time are written together. */
const BATCHING_MS = 2_000;
/**
 * After a write, the next one waits at least this long, and this many times as long as the shorter one of the last two
 * writes took: many checks take long each time, a slow disk now and then.
 */
const GAP_MS = 5_000;
const GAP_TIMES = 20;

/** Writes each file now and at its interval. If a file can't be written, that is retried. */
export class FilePublisher {
  readonly #options: FilePublisherOptions;
  /** By path, so that a reload doesn't log a failure again. */
  readonly #troubles = new Map<string, Trouble<string>>();
  #schedules: readonly WriteTimes[] = [];
  /** The last write; one after another, since a replaced config may have written to the same path. */
  #lastWrite: Promise<unknown> = Promise.resolve();

  constructor(files: readonly PublishedFile[], options: FilePublisherOptions) {
    this.#options = options;
    this.adopt(files);
  }

  adopt(files: readonly PublishedFile[]): void {
    this.end();
    this.#schedules = files.map((file) =>
      new WriteTimes(file, {
        ...this.#options,
        write: (lateMs, isEnded) => this.#write(file, lateMs, isEnded),
      })
    );
  }

  /** Writes all files soon: their content has changed. */
  changed(): void {
    for (const schedule of this.#schedules) schedule.changed();
  }

  async finish(): Promise<void> {
    const files = this.#schedules.map(({ file }) => file);
    this.end();
    for (const file of files) await this.#write(file, 0, () => false);
  }

  end(): void {
    for (const schedule of this.#schedules) schedule.end();
    this.#schedules = [];
  }

  async #write(file: PublishedFile, lateMs: number, isEnded: () => boolean): Promise<void> {
    const { system: { files } } = this.#options;
    const write = this.#lastWrite.then(() => isEnded() ? null : publishFile(file, files, lateMs));
    this.#lastWrite = write.catch(() => {});
    const failure = await write;
    if (!isEnded()) this.#troubleOf(file).set(failure);
  }

  #troubleOf({ path, what }: PublishedFile): Trouble<string> {
    const { log } = this.#options;
    return this.#troubles.getOrInsertComputed(
      path,
      () =>
        createTrouble((failure) =>
          failure === null ? log.info(`writing ${what} succeeds again`) : log.warning(failure)
        ),
    );
  }
}

interface WriteTimesOptions extends Pick<FilePublisherOptions, "onBug"> {
  readonly system: Pick<System, "clock">;
  write(lateMs: number, isEnded: () => boolean): Promise<void>;
}

/** When one file is written: now, at its interval, and soon after a change. */
class WriteTimes {
  readonly file: PublishedFile;
  readonly #options: WriteTimesOptions;
  readonly #clock: Clock;
  #isEnded = false;
  #isChanged = false;
  #cancel: (() => void) | null = null;
  #nextMs = 0;
  #earliestMs = 0;
  /** How long the last write took. */
  #tookMs = 0;

  constructor(file: PublishedFile, options: WriteTimesOptions) {
    this.file = file;
    this.#options = options;
    this.#clock = options.system.clock;
    this.#start(this.#clock.monotonicMs());
  }

  changed(): void {
    this.#isChanged = true;
    const atMs = this.#afterChangeMs();
    if (this.#cancel !== null && atMs < this.#nextMs) this.#plan(atMs);
  }

  end(): void {
    this.#isEnded = true;
    this.#cancel?.();
  }

  #afterChangeMs(): number {
    return Math.max(this.#clock.monotonicMs() + BATCHING_MS, this.#earliestMs);
  }

  #plan(atMs: number): void {
    this.#cancel?.();
    this.#nextMs = atMs;
    this.#cancel = this.#clock.after(atMs - this.#clock.monotonicMs(), () => {
      this.#cancel = null;
      this.#start(atMs);
    });
  }

  #start(plannedMs: number): void {
    this.#write(plannedMs).catch(this.#options.onBug);
  }

  async #write(plannedMs: number): Promise<void> {
    const beganMs = this.#clock.monotonicMs();
    this.#isChanged = false;
    await this.#options.write(Math.max(0, beganMs - plannedMs), () => this.#isEnded);
    if (this.#isEnded) return;
    const endedMs = this.#clock.monotonicMs();
    const tookMs = endedMs - beganMs;
    this.#earliestMs = endedMs + Math.max(GAP_MS, GAP_TIMES * Math.min(tookMs, this.#tookMs));
    this.#tookMs = tookMs;
    const regularMs = Math.max(plannedMs + this.file.intervalMs, endedMs);
    this.#plan(this.#isChanged ? Math.min(regularMs, this.#afterChangeMs()) : regularMs);
  }
}

/** Writes a file once. Returns a description of the failure; `null`: it succeeded. */
export async function publishFile(
  file: PublishedFile,
  files: Pick<System["files"], "replace">,
  lateMs = 0,
): Promise<string | null> {
  let text: string;
  try {
    text = await file.render(lateMs);
  } catch (error) {
    // For example, another process writes to the state.
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
