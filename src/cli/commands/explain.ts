import { type Command, EXIT, OPTION } from "../command_definition.ts";
import {
  explainChannels,
  explainCheck,
  explainConfig,
  type ExplainedOrigin,
} from "../../config/explain_check.ts";
import { CheckSelectors } from "../../config/named_references.ts";
import type { Check } from "../../domain/check.ts";
import { isEverything, type OpenConfig, openConfig, readSelection, selectChecks } from "../open_config.ts";
import { firstItems, printable, quote } from "../../shared/text.ts";
import { type Colors, createColors, wantsColor } from "../terminal.ts";
import { pad, textWidth } from "../../shared/wrap.ts";
import type { MaintenanceWindow } from "../../domain/schedule.ts";
import { isOneOff, nextWindow } from "../../engine/maintenance_windows.ts";
import { type TimeContext, timeText } from "../../shared/local_time.ts";

export const explainCommand: Command = {
  name: "explain",
  group: "set_up",
  summary: "show every effective setting and where it comes from",
  operands: "[NAME…]",
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
    const colors = createColors(wantsColor(invocation, system.stdout, system));
    const context = { nowMs: system.clock.wallMs(), timeZone: config.timeZone() };
    const selection = readSelection(invocation);
    const checks = selectChecks(config.checks, selection);
    const blocks = [];
    const selectors = new CheckSelectors(config.checks);
    for (const check of checks) {
      const explained = withMatches(explainIn(config, check.name), selectors, check);
      const heading = colors.bold(printable(check.name)) + (check.active ? "" : " (inactive)");
      blocks.push(renderBlock(heading, withWindowTimes(explained, check, context), colors));
    }
    if (isEverything(selection)) {
      const included = config.files.slice(1).flatMap(({ source, written }) =>
        explainChannels(written, config.reader).map((row) => ({ ...row, origin: `config (${source.label})` }))
      );
      const rows = [...explainConfig(config.written, config.reader), ...included];
      const explained = withMatches(rows, selectors, null);
      blocks.unshift(renderBlock(colors.bold(printable(config.source.label)), explained, colors));
    }
    if (config.checks.length === 0) blocks.push("the config has no checks\n");
    system.stdout.write(blocks.join("\n"));
    return EXIT.ok;
  },
};

type Row = Record<"path" | "value" | "origin", string>;

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

/** Adds the names of the checks that patterns and tags select, and whether a channel is for the check. */
function withMatches(rows: readonly Row[], selectors: CheckSelectors, check: Check | null): readonly Row[] {
  const own = check?.name ?? null;
  return rows.map((row) => {
    if (check !== null && CHANNELS_PATH.test(row.path)) return withoutChannels(row, check);
    if (!SELECTING_PATH.test(row.path)) return row;
    const entries = [JSON.parse(row.value)].flat().map(String);
    const names = [...new Set(entries.flatMap((entry) => selectors.find(entry)).map(({ name }) => name))];
    if (own !== null && row.path.startsWith("notifications")) {
      return { ...row, value: `${row.value} (${names.includes(own) ? "" : "not "}this check)` };
    }
    if (!entries.some((entry) => selectors.selects(entry))) return row;
    const others = names.filter((name) => name !== own).map(quote);
    return { ...row, value: `${row.value} (${firstItems(others, MATCHES_MAX).join(", ")})` };
  });
}

/** Names the channels of a list that are not for the check, by the `checks` of the channel or of the list. */
function withoutChannels(row: Row, { notifications }: Check): Row {
  const written: unknown = JSON.parse(row.value);
  const names = Array.isArray(written) ? written.map(String) : [String(written)];
  const others = names.filter((name) => notifications.every((channel) => channel.name !== name));
  if (others.length === 0) return row;
  const which = Array.isArray(written) ? firstItems(others.map(quote), MATCHES_MAX).join(", ") : "this check";
  return { ...row, value: `${row.value} (not ${which})` };
}

const MATCHES_MAX = 10;

const CHANNELS_PATH = /^notifications(?:\[\d+\](?:\.channel)?)?$/;

/** A list of checks, or an entry of one. */
const SELECTING_PATH =
  /^(?:depends_on(?:\[\d+\](?:\.any)?)?|parameters\.checks|notifications\[\d+\]\.checks|channels[.[].+\.checks|page\.groups\[\d+\]\.checks)$/;

/** Adds when each window of a check is open next, to the rows of the window. */
function withWindowTimes(rows: readonly Row[], check: Check, context: TimeContext): readonly Row[] {
  const { maintenanceWindows, notifications } = check;
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
      : channelOf(rows, Number(channel), notifications)?.hours?.[Number(hours)];
    if (window === undefined) return [row];
    const value = describeNextWindow(window, context);
    return [row, { path: `${whole}.next`, value, origin: "computed" }];
  });
}

/** Finds a channel by its place in the list as written: the resolved list lacks those that are not for the check. */
function channelOf(rows: readonly Row[], index: number, notifications: Check["notifications"]) {
  const valueOf = (place: number, key: string): string | undefined =>
    rows.find(({ path }) => path === `notifications[${place}].${key}`)?.value;
  const name = valueOf(index, "channel");
  if (name !== undefined) return notifications.find((channel) => JSON.stringify(channel.name) === name);
  const isKept = (place: number): boolean =>
    valueOf(place, "kind") !== undefined && valueOf(place, "checks")?.endsWith("(not this check)") !== true;
  if (!isKept(index)) return undefined;
  const before = Array.from({ length: index }, (_, place) => place).filter(isKept).length;
  return notifications.filter((channel) => channel.name === undefined)[before];
}

/** A window of a check, or the hours of a channel. */
const WINDOW_PATH = /^(?:maintenance_windows\[\d+\]|notifications\[(\d+)\]\.hours\[(\d+)\])(?=\.)/;

const COLUMNS_MAX = 60;

/** Renders settings below a heading. */
function renderBlock(heading: string, settings: readonly Row[], colors: Colors): string {
  const padded = (key: "path" | "value"): readonly string[] => {
    const shown = settings.map((row) => printable(row[key]));
    const columns = Math.min(Math.max(0, ...shown.map(textWidth)), COLUMNS_MAX);
    return shown.map((text) => pad(text, columns));
  };
  const [paths, values] = [padded("path"), padded("value")];
  const lines = settings.map(({ origin }, index) =>
    `  ${paths[index]}  ${values[index]}  ${origin === "built-in" ? colors.dim(origin) : printable(origin)}`
  );
  return `${heading}\n${lines.join("\n")}\n`;
}

function describeNextWindow(window: MaintenanceWindow, { nowMs, timeZone }: TimeContext): string {
  if (isOneOff(window) && Number.isNaN(window.fromMs)) return "unknown without secrets";
  const times = nextWindow(window, nowMs);
  if (times === null) return "never";
  const { fromMs, untilMs } = times;
  const end = untilMs === null ? "without end" : `until ${timeText(untilMs, timeZone)}`;
  return fromMs === null ? `open ${end}` : `from ${timeText(fromMs, timeZone)} ${end}`;
}
