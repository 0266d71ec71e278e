import { SHOWN_CONDITIONS, type ShownCondition } from "../../domain/condition.ts";
import type { Colors } from "../color.ts";

export function conditionPaints(colors: Colors): Readonly<Record<ShownCondition, (text: string) => string>> {
  return {
    ok: colors.green,
    pending: colors.cyan,
    unknown: colors.bold,
    warning: colors.yellow,
    critical: (text) => colors.bold(colors.red(text)),
  };
}

/** Returns the painted count of each condition that occurs, such as `2 ok` and `1 critical`. */
export function conditionCounts(conditions: readonly ShownCondition[], colors: Colors): readonly string[] {
  const paints = conditionPaints(colors);
  return SHOWN_CONDITIONS.flatMap((condition) => {
    const count = conditions.filter((other) => other === condition).length;
    return count === 0 ? [] : [paints[condition](`${count} ${condition}`)];
  });
}
