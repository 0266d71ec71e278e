import { type Command, COMMON_OPTIONS, type OptionSpec } from "./command_definition.ts";
import { EXIT_CODE_HELP, exitCodeHelp } from "./exit_code.ts";
import { PROJECT_URL } from "./project_url.ts";

const WIDTH = 100;

/** The summary of the program without its period. */
const PROGRAM_SUMMARY = "monitor runs the checks of a config, and notifies you of problems and recoveries";

export function programHelp(commands: readonly Command[]): string {
  return [
    `${PROGRAM_SUMMARY}.`,
    "",
    "Usage: monitor COMMAND [OPTIONS]",
    "",
    "Commands:",
    ...columns(commands.map((command) => [`${command.name} ${command.operands}`.trim(), command.summary])),
    "",
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
    `Usage: monitor ${[command.name, "[OPTIONS]", command.operands].filter((part) => part !== "").join(" ")}`,
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
  return `Documentation: ${PROJECT_URL}/blob/main/docs/${page}`;
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
  const left = Math.max(...rows.map(([first]) => first.length));
  return rows.flatMap(([first, second]) =>
    wrap(second, WIDTH - left - 4).map((line, index) =>
      `  ${(index === 0 ? first : "").padEnd(left)}  ${line}`
    )
  );
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
