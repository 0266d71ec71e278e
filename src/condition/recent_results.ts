/** The newest results of a check as a text: one letter each, the oldest first. */
import { type Condition, CONDITIONS, severity } from "../domain/condition.ts";

const LETTERS: Readonly<Record<Condition, string>> = { ok: "o", unknown: "u", warning: "w", critical: "c" };

export function addResult(recent: string, condition: Condition, max: number): string {
  return (recent + LETTERS[condition]).slice(-max);
}

export function countAtLeast(recent: string, condition: Condition): number {
  const letters = CONDITIONS.filter((one) => severity(one) >= severity(condition)).map((one) => LETTERS[one]);
  return [...recent].filter((letter) => letters.includes(letter)).length;
}
