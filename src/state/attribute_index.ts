import type { RunAttributes } from "../domain/check.ts";

/** Which checks share an attribute of their last runs. */
export class AttributeIndex {
  readonly #checks = new Map<string, Set<string>>();
  readonly #suspected = new Map<string, Set<string>>();
  readonly #suspecting = new Set<string>();
  #version = 0;

  /** Replaces the attributes of a check; most runs have those of the run before. */
  replace(check: string, before: RunAttributes | undefined, after: RunAttributes | undefined): void {
    if (before === after) return;
    const suspected = after?.suspected ?? [];
    const isChanged = suspected.length > 0 !== this.#suspecting.has(check);
    if (isChanged) this.#version++;
    if (suspected.length > 0) this.#suspecting.add(check);
    else this.#suspecting.delete(check);
    move(this.#suspected, check, before?.suspected ?? [], suspected);
    move(this.#checks, check, wordsOf(before), wordsOf(after));
  }

  /** Returns the checks whose last run depended on an attribute, whether or not it worked. */
  checksWith(attribute: string): ReadonlySet<string> {
    return this.#checks.get(attribute) ?? NONE;
  }

  /** Returns the checks whose last run suspects an attribute. */
  suspectingWith(attribute: string): ReadonlySet<string> {
    return this.#suspected.get(attribute) ?? NONE;
  }

  /** Another number once a check has begun, or ended, to have a suspect. */
  get version(): number {
    return this.#version;
  }

  /** The checks whose last run has a suspect. */
  get suspecting(): ReadonlySet<string> {
    return this.#suspecting;
  }
}

const NONE: ReadonlySet<string> = new Set();

function move(
  sets: Map<string, Set<string>>,
  check: string,
  old: readonly string[],
  now: readonly string[],
): void {
  if (old.length === now.length && old.every((word, index) => word === now[index])) return;
  for (const word of old) {
    const checks = sets.get(word);
    checks?.delete(check);
    if (checks?.size === 0) sets.delete(word);
  }
  for (const word of now) {
    const checks = sets.get(word);
    if (checks === undefined) sets.set(word, new Set([check]));
    else checks.add(check);
  }
}

function wordsOf(attributes: RunAttributes | undefined): readonly string[] {
  return attributes === undefined ? [] : [...attributes.worked, ...attributes.suspected];
}
