/** The middle of some numbers: a few runs that the machine disturbed do not move it. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  const high = sorted[Math.floor(middle)] ?? NaN;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? NaN) + high) / 2 : high;
}

/**
 * Measures several subjects in turn, round after round, so that whatever else the machine does in the meantime
 * hits all of them alike. Each round begins with another subject; an additional first round warms caches and does
 * not count, unless the subjects warm themselves.
 */
export async function measureInTurn<Name extends string, Sample>(
  rounds: number,
  subjects: Readonly<Record<Name, () => Promise<Sample>>>,
  { isWarm = false }: { readonly isWarm?: boolean } = {},
): Promise<Readonly<Record<Name, readonly Sample[]>>> {
  const names = Object.keys(subjects) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Sample[]>;
  for (let round = isWarm ? 1 : 0; round <= rounds; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(round + turn) % names.length];
      if (name === undefined) continue;
      const sample = await subjects[name]();
      if (round > 0) samples[name].push(sample);
    }
  }
  return samples;
}

/**
 * Measures several subjects at the same time, round after round, so that nothing else the machine does can hit one of
 * them alone. They must leave processors free, or each hinders the others.
 */
export async function measureAtOnce<Name extends string, Sample>(
  rounds: number,
  subjects: Readonly<Record<Name, () => Promise<Sample>>>,
): Promise<Readonly<Record<Name, readonly Sample[]>>> {
  const names = Object.keys(subjects) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Sample[]>;
  for (let round = 0; round < rounds; round++) {
    await Promise.all(names.map(async (name) => samples[name].push(await subjects[name]())));
  }
  return samples;
}

/** A time for people: `12.3 ms`. */
export function millisecondsText(milliseconds: number): string {
  return `${milliseconds.toFixed(milliseconds < 100 ? 1 : 0)} ms`;
}

/** Returns the value below which a share of some numbers lies; 0.99 means all but the largest hundredth. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/** A size for people: `12.3 MB`. */
export function megabytesText(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
