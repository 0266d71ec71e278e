import { didYouMean } from "../../config/nearest.ts";
import { type Command, EXIT, formatOption, Invocation, option, UsageError } from "../command_definition.ts";
import { counted, jsonDocument, printable } from "../../shared/text.ts";
import { CONFIG_BYTES_MAX, pathFromHere } from "../../config/source.ts";
import type { System } from "../../domain/system.ts";
import { describeFileError } from "../../shared/describe_error.ts";
import { readRegularFile } from "../../shared/regular_file.ts";
import { writeNew } from "../failure.ts";
import {
  ConfigDraft,
  type Importer,
  ImportLimitError,
  renderConfig,
  renderImport,
  variablesOf,
} from "../../import/config_draft.ts";
import {
  FOREIGN_BYTES_MAX,
  type ForeignFile,
  importError,
  IncludedFiles,
} from "../../import/foreign_text.ts";
import { ConfigError, type PlacedProblem } from "../../config/problem.ts";
import { openConfigAt } from "../open_config.ts";

/** The modules of the tools whose configs can be imported, in the order in which the help lists them. */
const IMPORTERS = {
  gatus: async () => (await import("../../import/gatus.ts")).gatusImporter,
  "uptime-kuma": async () => (await import("../../import/uptime_kuma.ts")).uptimeKumaImporter,
  monit: async () => (await import("../../import/monit.ts")).monitImporter,
  nagios: async () => (await import("../../import/nagios.ts")).nagiosImporter,
  goss: async () => (await import("../../import/goss.ts")).gossImporter,
  healthchecks: async () => (await import("../../import/healthchecks.ts")).healthchecksImporter,
  blackbox: async () => (await import("../../import/blackbox.ts")).blackboxImporter,
} satisfies Readonly<Record<string, () => Promise<Importer>>>;

type ImportedTool = keyof typeof IMPORTERS;

export const IMPORTED_TOOLS = Object.keys(IMPORTERS) as readonly ImportedTool[];

const FORMATS = ["jsonc", "json"] as const;

export const importCommand: Command = {
  name: "import",
  group: "start",
  summary: "translate the config of another tool",
  operands: "TOOL FILE",
  firstOperands: IMPORTED_TOOLS,
  description: `TOOL is ${IMPORTED_TOOLS.slice(0, -1).join(", ")} or ${IMPORTED_TOOLS.at(-1)}. ` +
    "Prints a config with the checks and channels of FILE (- for stdin). A comment above it lists the variables to set " +
    "and everything that was not imported, with the reason. Secrets are replaced by placeholders. The config is always " +
    "valid.",
  page: "guides/import.md",
  options: [
    option("--output PATH", "new file for the config (default: stdout)"),
    option("--force", "overwrite of an existing file, with --output"),
    formatOption(FORMATS, "jsonc, or json: an object with config, variables and not_imported"),
  ],
  examples: [
    ["monitor import gatus config.yaml --output monitor.jsonc", "write ./monitor.jsonc"],
    ["monitor import gatus config.yaml --format json | jq .not_imported", "list everything that is missing"],
  ],
  uses: ["read", "write", "env", "sys"],
  endings: ["done", "nothing", "permission", "config"],
  run: async (invocation, system) => {
    const { tool, path } = readOperands(invocation);
    const format = invocation.choice("format", FORMATS) ?? "jsonc";
    const given = invocation.text("output");
    const output = given === "-" ? undefined : given;
    if (output === undefined && invocation.has("force")) {
      throw new UsageError("--force requires --output", "name the file: --output monitor.jsonc");
    }
    const importer = await IMPORTERS[tool]();
    const file = await readFile(path, importer, system);
    const draft = new ConfigDraft();
    try {
      await importer.translate(file, draft, new IncludedFiles(file, system.files));
      await acceptDraft(draft, system);
    } catch (error) {
      if (error instanceof ImportLimitError) throw importError(file, error.message);
      throw error;
    }
    if (draft.checks.size + draft.channels.size + draft.leftOut.length === 0) {
      throw importError(file, "nothing to import was found", { hint: `expected ${importer.expects}` });
    }
    const text = format === "json"
      ? jsonDocument({
        config: JSON.parse(renderConfig(draft)),
        variables: variablesOf(draft),
        not_imported: draft.leftOut,
      })
      : renderImport(draft, { origin: `${tool}, ${file.label}` });
    if (output === undefined) system.stdout.write(text);
    else await writeNew(output, text, { ...system, overwrite: invocation.has("force") });
    system.stderr.write(summaryOf(draft, output));
    return draft.checks.size + draft.channels.size === 0 ? EXIT.nothing : EXIT.ok;
  },
};

function readOperands({ operands }: Invocation): { readonly tool: ImportedTool; readonly path: string } {
  const [word, path] = operands;
  const tool = IMPORTED_TOOLS.find((name) => name === word);
  const tools = IMPORTED_TOOLS.join(", ");
  if (word === undefined) throw new UsageError("import requires a tool and a file", `tools: ${tools}`);
  if (tool === undefined) {
    const problem = `cannot import from "${word}", expected one of ${tools}`;
    throw new UsageError(problem, didYouMean(word, IMPORTED_TOOLS));
  }
  if (path === undefined) throw new UsageError(`import ${tool} requires a file, or - for stdin`);
  return { tool, path };
}

async function readFile(label: string, importer: Importer, system: System): Promise<ForeignFile> {
  if (label === "-") {
    const file = { label: "<stdin>", path: null, bytes: await system.readStdin() };
    if (file.bytes.length <= FOREIGN_BYTES_MAX) return file;
    throw importError(file, `it has more than ${FOREIGN_BYTES_MAX} bytes`);
  }
  const path = pathFromHere(label, system);
  try {
    const isDatabase = importer.isDatabase?.(path) === true;
    // A database is not read here, since SQLite opens it.
    const { bytes } = await readRegularFile(path, {
      files: isDatabase ? { ...system.files, read: () => Promise.resolve(new Uint8Array()) } : system.files,
      bytesMax: isDatabase ? Infinity : FOREIGN_BYTES_MAX,
    });
    return { label, path, bytes };
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw importError({ label }, describeFileError(error, { path }));
  }
}

function summaryOf(draft: ConfigDraft, output: string | undefined): string {
  const counts = [
    counted(draft.checks.size, "check"),
    counted(draft.channels.size, "channel"),
    counted(variablesOf(draft).length, "variable") + " to set",
  ];
  const missing = draft.leftOut.length === 0 ? "nothing is missing" : `${draft.leftOut.length} not imported`;
  const next = output && `monitor: hint: check it with: monitor validate -c ${printable(output)}\n`;
  return `monitor: imported ${counts.join(", ")}; ${missing}\n${next ?? ""}`;
}

/** Validates a draft as `monitor validate` does, and removes rejected parts, with the reason for each loss. */
async function acceptDraft(draft: ConfigDraft, system: System): Promise<void> {
  for (;;) {
    const config = renderConfig(draft);
    if (config.length > CONFIG_BYTES_MAX) throw new ImportLimitError("its config would be too large");
    const problems = await findProblems(config, system);
    if (problems.length === 0) return;
    const dropped = problems.filter((problem) => dropFrom(draft, problem));
    if (dropped.length === 0) {
      const [{ path, message } = { path: "", message: "" }] = problems;
      throw new Error(`The imported config is invalid at ${path}: ${message}`);
    }
  }
}

async function findProblems(text: string, system: System): Promise<readonly PlacedProblem[]> {
  const options = { invocation: new Invocation({}), system, withoutSecrets: true };
  try {
    await openConfigAt({ path: "-", named: true, text }, options);
    return [];
  } catch (error) {
    if (error instanceof ConfigError && error.problems.length > 0) return error.problems;
    throw error;
  }
}

/** The section, the name as such or quoted, and the rest of a path. */
const PLACE = /^(checks|channels)(?:\.([\w$-]+)|\[("(?:[^"\\]|\\.)*")\])\.?(.*)$/s;

function dropFrom(draft: ConfigDraft, { path, message }: PlacedProblem): boolean {
  const [, section, plain, quoted = '""', rest] = PLACE.exec(path) ?? [];
  if (section !== "checks" && section !== "channels") return false;
  const reason = rest === "" ? message : `${rest}: ${message}`;
  return draft.drop(section, plain ?? JSON.parse(quoted), reason);
}
