import type { JSONPathNode } from "json-p3";

export const DEPTH_MAX = 100;

/** How many values a path may reach. A body that is read as JSON has half as many at most. */
export const REACHED_MAX = 1_000_000;

type Json = JSONPathNode["value"];

/**
 * Returns all matches of a path (RFC 9535) in a JSON value, in order. The config accepts no path whose filters read
 * more than the value in question, so the time depends only on the number of reached values. Returns `null` if these
 * are more than {@link REACHED_MAX}.
 *
 * The library evaluates one value. Its own descent costs the depth for each value.
 */
export async function selectValues(path: string, value: unknown): Promise<readonly unknown[] | null> {
  const { compile, JSONPathNode } = await import("json-p3");
  const root = value as Json;
  let reached = 0;
  let values: readonly Json[] = [root];
  for (const segment of compile(path).segments) {
    const found: Json[] = [];
    const descends = segment.toString().startsWith("..");
    for (const from of values) {
      for (const part of descends ? containersIn(from) : [from]) {
        for (const selector of segment.selectors) {
          const matches = selector.resolve(new JSONPathNode(part, [], root));
          reached += 1 + matches.length;
          if (reached > REACHED_MAX) return null;
          for (const match of matches) found.push(match.value);
        }
      }
    }
    values = found;
  }
  return values;
}

/** A value and all lists and objects in it, each before those in it. */
function* containersIn(value: Json): Generator<Json> {
  const pending = [value];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    yield next;
    if (typeof next !== "object" || next === null) continue;
    const parts: readonly Json[] = Object.values(next);
    for (const part of parts.toReversed()) if (typeof part === "object" && part !== null) pending.push(part);
  }
}

/**
 * Returns whether a value is nested deeper than {@linkcode DEPTH_MAX}. Goes level by level: a hostile value is deep
 * enough to overflow any stack.
 */
export function isTooDeep(value: unknown): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth <= DEPTH_MAX; depth++) {
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item !== "object" || item === null) continue;
      for (const part of Object.values(item)) if (typeof part === "object" && part !== null) next.push(part);
    }
    if (next.length === 0) return false;
    level = next;
  }
  return true;
}
