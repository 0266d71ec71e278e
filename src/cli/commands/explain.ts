import {
  explainCheck,
  explainDocument,
  type ExplainedOrigin,
  type ExplainedSetting,
} from "../../config/explain.ts";
import { createColours } from "../colour.ts";
import { type Command, CONFIG_OPTION } from "../command.ts";
import {
  isEverything,
  type OpenDocument,
  openDocument,
  readSelection,
  selectChecks,
  TAG_OPTION,
} from "../document.ts";
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
  operandKind: "check",
  description:
    "Shows the effective settings of the document and of every check, or of the checks that are named or tagged, and " +
    "where each comes from: the check itself, the document's defaults, or built-in; with the file, where it is " +
    "an included one. Secrets are not resolved.",
  options: [CONFIG_OPTION, TAG_OPTION],
  examples: [
    ["monitor explain", "all checks"],
    ["monitor explain web", "one of them"],
    ["monitor explain --tag production", "those that are tagged so"],
  ],
  uses: ["read", "env", "sys"],
  endings: ["done", "name", "permission", "document"],
  run: async (invocation, system) => {
    const document = await openDocument(invocation, system, { withoutSecrets: true });
    const colour = wantsColour(invocation, system.stdout, system);
    const selection = readSelection(invocation);
    const checks = selectChecks(document.checks, selection);
    const blocks = checks.map((check) =>
      renderBlock(check.name, explainIn(document, check.name), {
        remark: check.active ? "" : " (inactive)",
        colour,
      })
    );
    if (isEverything(selection)) {
      const rows = explainDocument(document.written, document.reader);
      blocks.unshift(renderBlock(document.source.label, rows.map(toRow), { remark: "", colour }));
    }
    if (document.checks.length === 0) blocks.push("the document has no checks\n");
    system.stdout.write(blocks.join("\n"));
    return EXIT.ok;
  },
};

/** What is shown of a setting: its path, its value, where it comes from. */
type Row = readonly [path: string, value: string, origin: string];

function toRow({ path, value, origin }: ExplainedSetting): Row {
  return [path, value, origin];
}

/** The settings of a check; what stands in an included file says in which. */
function explainIn(document: OpenDocument, name: string): readonly Row[] {
  const { written, reader } = document;
  const file = document.fileOf(name);
  if (file.source === document.source) return explainCheck(written, name, reader).map(toRow);
  const origins: Readonly<Record<ExplainedOrigin, string>> = {
    check: `check (${file.source.label})`,
    defaults: `defaults (${file.source.label})`,
    outer: "defaults",
    document: "document",
    "built-in": "built-in",
  };
  return explainCheck(file.written, name, reader, written)
    .map(({ path, value, origin }): Row => [path, value, origins[origin]]);
}

interface BlockOptions {
  /** Behind the heading. */
  readonly remark: string;
  readonly colour: boolean;
}

function renderBlock(heading: string, settings: readonly Row[], { remark, colour }: BlockOptions): string {
  const colours = createColours(colour);
  const rows = settings.map((row) => row.map(printable));
  const widths = [0, 1].map((column) =>
    rows.reduce((most, row) => Math.max(most, textWidth(row[column] ?? "")), 0)
  );
  const pad = (text: string, column: number): string =>
    text + " ".repeat(Math.max(0, Math.min(widths[column] ?? 0, 60) - textWidth(text)));
  const lines = rows.map(([path = "", value = "", origin = ""]) =>
    `  ${pad(path, 0)}  ${pad(value, 1)}  ${origin === "built-in" ? colours.dim(origin) : origin}`
  );
  return `${colours.bold(printable(heading))}${remark}\n${lines.join("\n")}\n`;
}
