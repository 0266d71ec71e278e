import type { Condition } from "../../domain/condition.ts";
import type { Colours } from "../colour.ts";

/** How the word of each condition is coloured, everywhere. */
export function conditionPaints(colours: Colours): Readonly<Record<Condition, (text: string) => string>> {
  return {
    ok: colours.green,
    unknown: colours.bold,
    warning: colours.yellow,
    critical: (text) => colours.bold(colours.red(text)),
  };
}
