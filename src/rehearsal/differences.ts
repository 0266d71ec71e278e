/** A line of two lists: `-` only of the first, `+` only of the second, or of both, as the second has it. */
export interface Difference {
  readonly sign: "-" | "+" | " ";
  readonly text: string;
  /** Its index in the first list, or where it would be. */
  readonly expected: number;
  /** Its index in the second list, or where it would be. */
  readonly actual: number;
}

/** Returns the lines of both lists in order (longest common subsequence). */
export function differences(
  expected: readonly string[],
  actual: readonly string[],
  isSame: (expected: number, actual: number) => boolean,
): readonly Difference[] {
  const lengths = Array.from(
    { length: expected.length + 1 },
    () => new Array<number>(actual.length + 1).fill(0),
  );
  const at = (one: number, other: number): number => lengths[one]?.[other] ?? 0;
  for (let one = expected.length - 1; one >= 0; one--) {
    for (let other = actual.length - 1; other >= 0; other--) {
      const row = lengths[one];
      if (row === undefined) continue;
      row[other] = isSame(one, other)
        ? at(one + 1, other + 1) + 1
        : Math.max(at(one + 1, other), at(one, other + 1));
    }
  }
  const lines: Difference[] = [];
  let [one, other] = [0, 0];
  while (one < expected.length || other < actual.length) {
    const place = { expected: one, actual: other };
    if (one < expected.length && other < actual.length && isSame(one, other)) {
      lines.push({ sign: " ", text: actual[other] ?? "", ...place });
      one++;
      other++;
    } else if (other >= actual.length || one < expected.length && at(one + 1, other) >= at(one, other + 1)) {
      lines.push({ sign: "-", text: expected[one++] ?? "", ...place });
    } else lines.push({ sign: "+", text: actual[other++] ?? "", ...place });
  }
  return lines;
}
