/** Returns the first items of a list, and how many more there are. */
export function firstItems(items: readonly string[], countMax: number): readonly string[] {
  const rest = items.length - countMax;
  return rest > 0 ? [...items.slice(0, countMax), `and ${rest} more`] : items;
}
