import type { Condition } from "../../domain/condition.ts";
import type { Colors } from "../color.ts";

export function conditionPaints(colors: Colors): Readonly<Record<Condition, (text: string) => string>> {
  return {
    ok: colors.green,
    unknown: colors.bold,
    warning: colors.yellow,
    critical: (text) => colors.bold(colors.red(text)),
  };
}
