/**
 * Generates the manual page from the definitions of `--help`.
 *
 *     deno task man   writes dist/man/monitor.1
 */
import project from "../deno.json" with { type: "json" };
import {
  type Command,
  COMMON_OPTIONS,
  EXIT_CODE_HELP,
  OPTION,
  type OptionSpec,
} from "../src/cli/command_definition.ts";
import { loadCommands } from "../src/cli/command_loaders.ts";
import { PROJECT_URL } from "../src/cli/help.ts";

const COMMANDS = await loadCommands();

type Row = readonly [term: string, meaning: string];

const ENVIRONMENT: readonly Row[] = [
  ["MONITOR_CONFIG", "config file, without --config"],
  ["XDG_CONFIG_HOME", "directory of the user's configuration (default: ~/.config)"],
  ["STATE_DIRECTORY", "directory of the state; systemd sets it from StateDirectory="],
  ["RUNTIME_DIRECTORY, XDG_RUNTIME_DIR", "directory of the control socket; else that of the state"],
  ["XDG_STATE_HOME", "directory of the user's states (default: ~/.local/state)"],
  ["NO_COLOR", "output without color, with any value"],
  ["HTTP_PROXY, HTTPS_PROXY, NO_PROXY", "proxies of http_request checks and webhooks"],
  [
    "DENO_TLS_CA_STORE, DENO_CERT",
    '"system" for the certificate authorities of the machine; a file with further ones',
  ],
];

const FILES: readonly Row[] = [
  ["./monitor.jsonc, ./monitor.json", "config of the working directory"],
  ["~/.config/monitor/monitor.jsonc", "config of the user"],
  ["/etc/monitor/monitor.jsonc", "config of the machine"],
  ["~/.local/state/monitor/", "states, a file for each config: counts, history and pending notifications"],
];

/** The page, in the man macros; `date` is shown in its foot. */
export function manPage(commands: readonly Command[], date: string): string {
  return [
    '.\\" Made by scripts/man_page.ts from what --help is made from; do not edit.',
    `.TH MONITOR 1 ${date} ${quoted(`monitor ${project.version}`)} "User Commands"`,
    ".SH NAME",
    "monitor \\- run the checks of a config, and notify of problems and recoveries",
    ".SH SYNOPSIS",
    ".B monitor",
    ".I COMMAND",
    "[\\fIOPTIONS\\fR]",
    ".SH DESCRIPTION",
    text(
      "monitor runs the checks of one config on one machine: scripts and Monitoring Plugins, files, ports, " +
        "certificates, HTTP requests and cron jobs. It sends notifications through channels, and its exit code is the " +
        "highest severity.",
    ),
    ".SH COMMANDS",
    ...commands.flatMap(commandSection),
    ".SH OPTIONS",
    text("Options of every command:"),
    ...COMMON_OPTIONS.flatMap(optionRow),
    ".PP",
    text("Options of commands that read a config or a state:"),
    ...[OPTION.config, OPTION.state].flatMap(optionRow),
    ".SH EXIT STATUS",
    ...EXIT_CODE_HELP.flatMap(([codes, meaning]) => row(bold(codes), meaning)),
    ".SH ENVIRONMENT",
    ...ENVIRONMENT.flatMap(([names, meaning]) => row(bold(names), meaning)),
    ".SH FILES",
    ...FILES.flatMap(([path, meaning]) => row(`\\fI${escaped(path)}\\fR`, meaning)),
    ".SH EXAMPLES",
    ...commands.flatMap(({ examples }) => examples).flatMap(([line, meaning]) => row(bold(line), meaning)),
    ".SH SEE ALSO",
    ".BR systemd.service (5),",
    ".BR crontab (5)",
    ".PP",
    text(`Documentation: ${PROJECT_URL}/blob/main/docs/README.md`),
    "",
  ].join("\n");
}

function commandSection(command: Command): readonly string[] {
  const own = command.options.filter((option) => option !== OPTION.config && option !== OPTION.state);
  const general = [OPTION.config, OPTION.state].filter((option) => command.options.includes(option));
  const usage = [
    bold(`monitor ${command.name}`),
    ...[...general, ...own].map((option) => `[${optionTerm(option)}]`),
    ...(command.operands === undefined ? [] : [`\\fI${escaped(command.operands)}\\fR`]),
  ];
  return [
    `.SS ${escaped(command.name)}`,
    ".nh",
    usage.join("\n"),
    ".hy",
    ".PP",
    text(command.description),
    ...own.flatMap(optionRow),
  ];
}

function optionRow(option: OptionSpec): readonly string[] {
  const long = optionTerm(option);
  return row(option.short === undefined ? long : `${bold(`-${option.short}`)}, ${long}`, option.description);
}

function optionTerm({ name, value }: OptionSpec): string {
  return value === undefined ? bold(`--${name}`) : `${bold(`--${name}`)} \\fI${escaped(value)}\\fR`;
}

function row(term: string, meaning: string): readonly string[] {
  return [".TP", term, text(meaning)];
}

/** Returns a paragraph in short lines. A sentence begins a new one: roff detects the end of a sentence by it. */
function text(words: string): string {
  const lines = words.replace(/([.:]) (?=[A-Z])/g, "$1\n").split("\n");
  return escaped(lines.map((line) => line.replace(/(.{1,64})(?: |$)/g, "$1\n").trimEnd()).join("\n"));
}

function bold(words: string): string {
  return `\\fB${escaped(words)}\\fR`;
}

function quoted(words: string): string {
  return `"${escaped(words).replaceAll('"', "\\(dq")}"`;
}

/** Text that means itself: no escapes, no requests, and signs that can be copied. */
function escaped(words: string): string {
  return words
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("'", "\\(aq")
    .replaceAll("`", "\\(ga")
    .replaceAll("^", "\\(ha")
    .replaceAll("~", "\\(ti")
    .replaceAll("…", "...")
    .replace(/[^\n\x20-\x7e]/gu, (character) => `\\[u${hexadecimal(character)}]`)
    .replace(/^\./gm, "\\&.");
}

function hexadecimal(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}

if (import.meta.main) {
  const directory = new URL("../dist/man/", import.meta.url);
  await Deno.mkdir(directory, { recursive: true });
  const date = new Date(Number(Deno.env.get("SOURCE_DATE_EPOCH") ?? Date.now() / 1000) * 1000).toISOString();
  await Deno.writeTextFile(new URL("monitor.1", directory), manPage(COMMANDS, date.slice(0, 10)));
}
