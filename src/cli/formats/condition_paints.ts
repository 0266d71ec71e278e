import type { ShownCondition } from "../../domain/condition.ts";
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
