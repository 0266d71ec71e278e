import type { CheckFacts } from "./config.ts";
import type { Presence } from "./record.ts";

/** Knows when each check was in the config in force. */
export interface PresenceBook {
  /** Notes the checks of a config that was adopted. */
  adopt(facts: readonly CheckFacts[], atMs: number): void;
  /** Whether a check is in the config in force. */
  has(name: string): boolean;
  /** Everything, as of a time. */
  close(atMs: number): readonly Presence[];
}

/** Begins without any check. */
export function createPresenceBook(): PresenceBook {
  const ended = new Map<string, { fromMs: number; untilMs: number }[]>();
  const present = new Map<string, number>();
  const known = new Map<string, CheckFacts>();
  const leave = (name: string, fromMs: number, untilMs: number): void => {
    const spans = ended.get(name);
    if (spans === undefined) ended.set(name, [{ fromMs, untilMs }]);
    else spans.push({ fromMs, untilMs });
    present.delete(name);
  };
  return {
    adopt: (facts, atMs) => {
      const names = new Set(facts.map(({ name }) => name));
      for (const [name, fromMs] of present) if (!names.has(name)) leave(name, fromMs, atMs);
      for (const fact of facts) {
        known.set(fact.name, fact);
        if (!present.has(fact.name)) present.set(fact.name, atMs);
      }
    },
    has: (name) => present.has(name),
    close: (atMs) => {
      for (const [name, fromMs] of present) leave(name, fromMs, atMs);
      return [...known.values()].map((facts) => ({ facts, spans: ended.get(facts.name) ?? [] }));
    },
  };
}
