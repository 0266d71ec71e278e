import { isAlias, isCollection, isMap, isPair, isScalar } from "yaml";

// A lazy import of the package itself, which is CommonJS, has no named exports in a bundle.
export { parseDocument } from "yaml";

interface Inspection {
  readonly problems: readonly { readonly message: string; readonly offset: number }[];
  /** The number of values after every alias is replaced by its anchor's value. */
  readonly valueCount: number;
  readonly aliasCount: number;
}

/** Finds repeated keys and bad aliases, and counts the values that aliases multiply. */
export function inspectYaml(root: unknown): Inspection {
  const problems: { message: string; offset: number }[] = [];
  let aliasCount = 0;
  const counts = new Map<string, number>();
  const report = (message: string, range: readonly number[] | null | undefined) => {
    problems.push({ message, offset: range?.[0] ?? 0 });
  };
  const count = (node: unknown): number => {
    if (isPair(node)) return count(node.key) + count(node.value);
    if (isAlias(node)) {
      aliasCount++;
      const found = counts.get(node.source);
      if (found === undefined) report(`the alias *${node.source} has no anchor before it`, node.range);
      return found ?? 0;
    }
    let total = 1;
    if (isMap(node)) findRepeatedKeys(node.items.map(({ key }) => key), report);
    if (isCollection(node)) { for (const item of node.items) total += count(item); }
    if ((isCollection(node) || isScalar(node)) && node.anchor !== undefined) counts.set(node.anchor, total);
    return total;
  };
  const valueCount = count(root);
  return { problems, valueCount, aliasCount };
}

function findRepeatedKeys(
  keys: readonly unknown[],
  report: (message: string, range: readonly number[] | null | undefined) => void,
): void {
  const seen = new Set<unknown>();
  for (const key of keys) {
    if (!isScalar(key) || key.value === "<<") continue;
    if (seen.has(key.value)) {
      report(`the key ${JSON.stringify(key.value)} is specified more than once`, key.range);
    }
    seen.add(key.value);
  }
}
