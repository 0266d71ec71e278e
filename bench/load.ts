export interface LoadOptions {
  /** How many requests or scripts. */
  readonly count: number;
  /** The URL to request, or the command to run. */
  readonly target: string;
}

/** Some work to be measured. It throws when a single piece of it did not go as it should. */
export type Load = (options: LoadOptions) => Promise<void>;

/** Does something so many times, at most so many of them at once. */
export async function repeat(
  action: () => Promise<void>,
  { count, concurrency }: { readonly count: number; readonly concurrency: number },
): Promise<void> {
  let started = 0;
  const work = async (): Promise<void> => {
    while (started < count) {
      started += 1;
      await action();
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, concurrency) }, work));
}
