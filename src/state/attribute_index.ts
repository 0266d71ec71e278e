import type { RunAttributes } from "../domain/check.ts";

/** Which checks share an attribute of their last runs. */
export class AttributeIndex {
  readonly #checks = new Map<string, Set<string>>();
  readonly #suspecting = new Set<string>();

  /** Replaces the attributes of a check; most runs have those of the run before. */
  replace(check: string, before: RunAttributes | undefined, after: RunAttributes | undefined): void {
    if (before === after) return;
    if (after !== undefined && after.suspected.length > 0) this.#suspecting.add(check);
    else this.#suspecting.delete(check);
    const [old, now] = [wordsOf(before), wordsOf(after)];
    if (old.length === now.length && old.every((word, index) => word === now[index])) return;
    for (const word of old) {
      const checks = this.#checks.get(word);
      checks?.delete(check);
      if (checks?.size === 0) this.#checks.delete(word);
    }
    for (const word of now) {
      const checks = this.#checks.get(word);
      if (checks === undefined) this.#checks.set(word, new Set([check]));
      else checks.add(check);
    }
  }

  /** Returns the checks whose last run depended on an attribute, whether or not it worked. */
  checksWith(attribute: string): ReadonlySet<string> {
    return this.#checks.get(attribute) ?? NONE;
  }

  /** The checks whose last run has a suspect. */
  get suspecting(): ReadonlySet<string> {
    return this.#suspecting;
  }
}

const NONE: ReadonlySet<string> = new Set();

function wordsOf(attributes: RunAttributes | undefined): readonly string[] {
  return attributes === undefined ? [] : [...attributes.worked, ...attributes.suspected];
}
