import {
  type Command,
  COMMON_OPTIONS,
  EXIT_CODE_HELP,
  exitCodeHelp,
  grouped,
  type OptionSpec,
} from "./command_definition.ts";
import { wrap } from "../shared/wrap.ts";

/** The width of a terminal that was not made wider. */
const WIDTH = 80;
/** Longer texts have a line of their own. */
const LEFT_MAX = 34;

const PROGRAM_SUMMARY = "monitor runs the checks of a config, and notifies you of problems and recoveries";

export function programHelp(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  return [
    ...wrap(`${PROGRAM_SUMMARY}.`, WIDTH),
    "",
    "Usage: monitor COMMAND [OPTIONS]",
    "",
    ...[...grouped(commands)].flatMap(([heading, members]) => [
      `${heading}:`,
      ...members.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
      "",
    ]),
    "Options:",
    ...columns(COMMON_OPTIONS.map(describeOption)),
    "",
    "Exit codes:",
    ...columns(EXIT_CODE_HELP),
    "",
    "Examples:",
    ...columns([
      ["monitor init", "write a starter config"],
      ["monitor validate", "check the config for errors"],
      ["monitor check --once", "run every check once"],
    ]),
    "",
    "Help of a command: monitor COMMAND --help",
    documentation("README.md"),
    "",
  ].join("\n");
}

export function commandHelp(command: Command): string {
  return [
    ...wrap(command.description, WIDTH),
    "",
    `Usage: monitor ${command.name} [OPTIONS] ${command.operands ?? ""}`.trimEnd(),
    "",
    "Options:",
    ...columns([...command.options, ...COMMON_OPTIONS].map(describeOption)),
    "",
    "Exit codes:",
    ...columns(exitCodeHelp(command.endings)),
    "",
    "Examples:",
    ...columns(command.examples),
    "",
    documentation(command.page),
    "",
  ].join("\n");
}

function documentation(page: string): string {
  return `Documentation:\n${PROJECT_URL}/blob/main/docs/${page}`;
}

function describeOption(option: OptionSpec): readonly [string, string] {
  const short = option.short === undefined ? "    " : `-${option.short}, `;
  return [
    `${short}--${option.name}${option.value === undefined ? "" : ` ${option.value}`}`,
    option.description,
  ];
}

/** Two columns; the second one is wrapped. */
function columns(rows: readonly (readonly [string, string])[]): readonly string[] {
  const lengths = rows.map(([first]) => first.length).filter((length) => length <= LEFT_MAX);
  const left = Math.max(0, ...lengths);
  return rows.flatMap(([first, second]) => {
    const isLong = first.length > left;
    const lines = wrap(second, WIDTH - left - 4).map((line, index) =>
      `  ${(index === 0 && !isLong ? first : "").padEnd(left)}  ${line}`
    );
    return isLong ? [...wrap(first, WIDTH - 2).map((line) => `  ${line}`), ...lines] : lines;
  });
}

/** The URL of the project: of its releases, its container image and the pages that `--help` links. */
export const PROJECT_URL = "https://github.com/check-monitor/monitor";
