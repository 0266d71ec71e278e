import { type Check } from "../domain/check.ts";

/** How many checks depend on each one, also by way of others. One that has alternatives does not count. */
export class Dependents {
  readonly #children = new Map<string, string[]>();
  readonly #counts = new Map<string, number>();

  constructor(checks: readonly Pick<Check, "name" | "dependsOn">[]) {
    for (const { name, dependsOn } of checks) {
      for (const parent of dependsOn) {
        if (typeof parent !== "string") continue;
        const children = this.#children.get(parent);
        if (children === undefined) this.#children.set(parent, [name]);
        else children.push(name);
      }
    }
  }

  countOf(name: string): number {
    if (!this.#children.has(name)) return 0;
    let count = this.#counts.get(name);
    if (count === undefined) this.#counts.set(name, count = this.#count(name));
    return count;
  }

  #count(name: string): number {
    const found = new Set<string>();
    const waiting = [name];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      for (const child of this.#children.get(next) ?? []) {
        if (found.has(child)) continue;
        found.add(child);
        waiting.push(child);
      }
    }
    return found.size;
  }
}
