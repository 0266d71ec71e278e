import { type Command, OPTION } from "../command_definition.ts";
import {
  explainChannels,
  explainCheck,
  explainConfig,
  type ExplainedOrigin,
} from "../../config/explain_check.ts";
import type { Check } from "../../domain/check.ts";
import type { System } from "../../domain/system.ts";
import { isEverything, type OpenConfig, openConfig, readSelection, selectChecks } from "../open_config.ts";
import { EXIT } from "../exit_code.ts";
import { printable } from "../../shared/text.ts";
import { createColors, wantsColor } from "../terminal.ts";
import { textWidth } from "../../shared/text_width.ts";
import { pad } from "../../shared/wrap.ts";

export const explainCommand: Command = {
  name: "explain",
  group: "set_up",
  summary: "show every effective setting and where it comes from",
  operands: "[NAME…]",
  operandKind: "check",
  description:
    "Shows every setting of the config and of each check, or of the named or tagged ones. The last column is the " +
    "origin: check, defaults, config or built-in, and the file if it is an included one. Secrets are not resolved.",
  page: "reference/config.md",
  options: [OPTION.config, OPTION.tag],
  examples: [
    ["monitor explain", "show all settings"],
    ["monitor explain web", "show the settings of one check"],
    ["monitor explain --tag production", "show the checks with a tag"],
  ],
  uses: ["read", "env", "sys"],
  endings: ["done", "name", "permission", "config"],
  run: async (invocation, system) => {
    const config = await openConfig(invocation, system, { withoutSecrets: true });
    const color = wantsColor(invocation, system.stdout, system);
    const selection = readSelection(invocation);
    const checks = selectChecks(config.checks, selection);
    const blocks = [];
    for (const check of checks) {
      const rows = await withWindowTimes(explainIn(config, check.name), check, { config, system });
      blocks.push(renderBlock(check.name, rows, { remark: check.active ? "" : " (inactive)", color }));
    }
    if (isEverything(selection)) {
      const rows = explainConfig(config.written, config.reader);
      blocks.unshift(
        renderBlock(config.source.label, [...rows, ...includedChannels(config)], { remark: "", color }),
      );
    }
    if (config.checks.length === 0) blocks.push("the config has no checks\n");
    system.stdout.write(blocks.join("\n"));
    return EXIT.ok;
  },
};

type Row = Record<"path" | "value" | "origin", string>;

function includedChannels({ files, reader }: OpenConfig): readonly Row[] {
  return files.slice(1).flatMap(({ source, written }) =>
    explainChannels(written, reader).map((row) => ({ ...row, origin: `config (${source.label})` }))
  );
}

/** The settings of a check; those of an included file have its name. */
function explainIn(config: OpenConfig, name: string): readonly Row[] {
  const { written, reader } = config;
  const file = config.fileOf(name);
  if (file.source === config.source) return explainCheck(written, name, reader);
  const origins: Readonly<Record<ExplainedOrigin, string>> = {
    check: `check (${file.source.label})`,
    defaults: `defaults (${file.source.label})`,
    outer: "defaults",
    config: "config",
    "built-in": "built-in",
  };
  return explainCheck(file.written, name, reader, written)
    .map((row) => ({ ...row, origin: origins[row.origin] }));
}

/** Adds when each window of a check is open next, to the rows of the window. */
async function withWindowTimes(
  rows: readonly Row[],
  { maintenanceWindows, notifications }: Check,
  { config, system }: { readonly config: OpenConfig; readonly system: System },
): Promise<readonly Row[]> {
  if (rows.every(({ path }) => !WINDOW_PATH.test(path))) return rows;
  const { describeNextWindow } = await import("../describe_window.ts");
  const nowMs = system.clock.wallMs();
  const timeZone = config.timeZone();
  let windowsSeen = 0;
  return rows.flatMap((row, index) => {
    const [whole, channel, hours] = WINDOW_PATH.exec(row.path) ?? [];
    const next = rows[index + 1];
    // The windows of the config come first, with numbers of their own.
    const isLast = next?.path.startsWith(`${whole}.`) !== true ||
      row.origin === "config" && next.origin !== "config";
    if (whole === undefined || !isLast) return [row];
    const window = channel === undefined
      ? maintenanceWindows[windowsSeen++]
      : notifications[Number(channel)]?.hours?.[Number(hours)];
    if (window === undefined) return [row];
    const value = describeNextWindow(window, { nowMs, timeZone });
    return [row, { path: `${whole}.next`, value, origin: "computed" }];
  });
}

/** A window of a check, or the hours of a channel. */
const WINDOW_PATH = /^(?:maintenance_windows\[\d+\]|notifications\[(\d+)\]\.hours\[(\d+)\])(?=\.)/;

const COLUMNS_MAX = 60;

/** Renders settings below a heading, with a remark behind it. */
function renderBlock(
  heading: string,
  settings: readonly Row[],
  { remark, color }: { readonly remark: string; readonly color: boolean },
): string {
  const colors = createColors(color);
  const padded = (texts: readonly string[]): readonly string[] => {
    const shown = texts.map(printable);
    const columns = shown.reduce((most, text) => Math.max(most, textWidth(text)), 0);
    return shown.map((text) => pad(text, Math.min(columns, COLUMNS_MAX)));
  };
  const [paths, values] = [
    padded(settings.map(({ path }) => path)),
    padded(settings.map(({ value }) => value)),
  ];
  const lines = settings.map(({ origin }, index) =>
    `  ${paths[index]}  ${values[index]}  ${origin === "built-in" ? colors.dim(origin) : printable(origin)}`
  );
  return `${colors.bold(printable(heading))}${remark}\n${lines.join("\n")}\n`;
}
