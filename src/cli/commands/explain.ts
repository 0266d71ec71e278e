import { explainCheck, type ExplainedSetting } from "../../config/explain.ts";
import type { Check } from "../../domain/check.ts";
import { createColours } from "../colour.ts";
import { type Command, CONFIG_OPTION } from "../command.ts";
import { openDocument, selectChecks } from "../document.ts";
import { EXIT } from "../exit_code.ts";
import { printable } from "../printable.ts";
import { wantsColour } from "../terminal.ts";
import { textWidth } from "../text_width.ts";

/** `monitor explain`: shows every effective setting and where it comes from. */
export const explainCommand: Command = {
  name: "explain",
  summary: "show every effective setting and where it comes from",
  operands: "[NAME…]",
  operandsMax: Infinity,
  description:
    "Shows the effective settings of every check, or of those that are named, and where each comes from: the " +
    "check itself, the document's defaults, or built-in. Secrets are not resolved.",
  options: [CONFIG_OPTION],
  examples: [
    ["monitor explain", "all checks"],
    ["monitor explain web", "one of them"],
  ],
  uses: ["read", "env", "sys"],
  run: async (invocation, system) => {
    const document = await openDocument(invocation, system, { withoutSecrets: true });
    const colour = wantsColour(invocation, system.stdout, system);
    const checks = selectChecks(document.checks, invocation.operands);
    const blocks = checks.map((check) =>
      renderCheck(check, explainCheck(document.written, check.name, document.reader), colour)
    );
    system.stdout.write(blocks.length === 0 ? "the document has no checks\n" : blocks.join("\n"));
    return EXIT.ok;
  },
};

function renderCheck(check: Check, settings: readonly ExplainedSetting[], colour: boolean): string {
  const colours = createColours(colour);
  const rows = settings.map(({ path, value, origin }) =>
    [printable(path), printable(value), origin] as const
  );
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => textWidth(row[column] ?? ""))));
  const pad = (text: string, column: number): string =>
    text + " ".repeat(Math.max(0, Math.min(widths[column] ?? 0, 60) - textWidth(text)));
  const lines = rows.map(([path, value, origin]) =>
    `  ${pad(path, 0)}  ${pad(value, 1)}  ${origin === "built-in" ? colours.dim(origin) : origin}`
  );
  const state = check.active ? "" : " (inactive)";
  return `${colours.bold(printable(check.name))}${state}\n${lines.join("\n")}\n`;
}
