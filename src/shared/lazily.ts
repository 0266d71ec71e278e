/** Makes something when it is first asked for, and only once. */
export function lazily<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | null = null;
  return () => made ??= make();
}
