import { lazily } from "../shared/lazily.ts";

/**
 * Returns a part of the machine whose module is loaded at its first use: loading all of them takes longer than a run
 * without them. A method that is synchronous can be called only after another one.
 */
export function lazyPart<Part extends object>(
  methods: Readonly<Record<keyof Part, "async" | "sync">>,
  load: () => Promise<Part>,
): Part {
  let made: Part | null = null;
  const use = lazily(async () => made = await load());
  const call = (name: string, words: readonly unknown[]): unknown => {
    if (made === null) throw new Error(`${name}() is called of a part that was never used`);
    const method: unknown = Reflect.get(made, name);
    return typeof method === "function" ? Reflect.apply(method, made, words) : undefined;
  };
  const forwarded = Object.entries(methods).map(([name, manner]) => [
    name,
    manner === "sync"
      ? (...words: readonly unknown[]) => call(name, words)
      : async (...words: readonly unknown[]) => await use().then(() => call(name, words)),
  ]);
  return Object.fromEntries(forwarded) as Part;
}
