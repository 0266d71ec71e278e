/** The types of the list of faults. */

/** A small fault in a decision: its effect in plain words, and the edit of one line that causes it. */
export type Fault = readonly [name: string, find: string, replace: string];

export interface FaultyFile {
  readonly file: string;
  /**
   * Files or directories of tests, in addition to the test file of the same name, that are to find the faults. They
   * run before those of the layer.
   */
  readonly tests?: readonly string[];
  readonly faults: readonly Fault[];
}

export interface FaultyLayer {
  readonly layer: string;
  /** Files or directories of tests, the nearest first: each runs if those before found nothing. */
  readonly tests: readonly string[];
  readonly files: readonly FaultyFile[];
}

/** A fault with all that is needed to try it. */
export interface Mutant {
  readonly name: string;
  readonly layer: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** Some may not exist. */
  readonly tests: readonly string[];
}

export function mutantsOf({ layer, tests, files }: FaultyLayer): readonly Mutant[] {
  return files.flatMap((one) => {
    const mirrored = one.file.replace(/^src\/(.*)\.ts$/, "tests/$1_test.ts");
    const all = [...new Set([mirrored, ...one.tests ?? [], ...tests])];
    return one.faults.map(([name, find, replace]) => ({
      name,
      layer,
      file: one.file,
      find,
      replace,
      tests: all,
    }));
  });
}

/** Returns the source with the fault; `null`: its text is not there exactly once. */
export function withFault(
  source: string,
  { find, replace }: Pick<Mutant, "find" | "replace">,
): string | null {
  const parts = source.split(find);
  return parts.length === 2 ? parts.join(replace) : null;
}
