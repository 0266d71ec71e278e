import { isCredentialName } from "../config/credentials.ts";
import type * as written from "../domain/generated/written_config.ts";
import type { NagiosObject } from "./nagios_objects.ts";
import type { SourceItem } from "./config_draft.ts";

type NagiosCheck = written.CheckByKind | { readonly reason: string };

interface CommandContext {
  readonly commands: ReadonlyMap<string, string>;
  readonly macros: ReadonlyMap<string, string>;
  readonly host: NagiosObject;
  readonly service: NagiosObject | null;
  readonly item: SourceItem;
}

/** Where Debian and others have the plugins. */
export const PLUGIN_DIRECTORY = "/usr/lib/nagios/plugins";

/** Translates `check_command`: the name of a command and arguments with `!` between them. */
export function translateCommand(checkCommand: string, context: CommandContext): NagiosCheck {
  const [name = "", ...args] = checkCommand.split(/(?<!\\)!/).map((part) => part.replaceAll("\\!", "!"));
  const line = context.commands.get(name.trim());
  if (line === undefined) return { reason: `the command "${name.trim()}" is not defined` };
  const unknown = new Set<string>();
  const filled = fillMacros(line, args, { ...context, unknown });
  const [macro] = unknown;
  if (macro !== undefined) return { reason: `${macro} is only known while Nagios runs` };
  const shown = context.item.commandLine(filled);
  const words = splitWords(shown);
  if (words === null) return script(["/bin/sh", "-c", shown]);
  const program = words[0]?.split("/").at(-1) ?? "";
  return NATIVE[program]?.(words.slice(1)) ?? script(words);
}

function script([path = "", ...args]: readonly string[]): NagiosCheck {
  if (path === "") return { reason: "the command is empty" };
  return { kind: "script", parameters: { path, arguments: args, condition_on_timeout: "critical" } };
}

/** Collects macros without a value in `unknown`. */
function fillMacros(
  line: string,
  args: readonly string[],
  { unknown, ...context }: CommandContext & { readonly unknown: Set<string> },
): string {
  // Arguments may have macros too, but not of arguments.
  let length = 0;
  const fill = (text: string, isArgument: boolean): string =>
    text.replaceAll(/\$\$(?!\{)|\$([A-Z_][A-Z0-9_]*)\$/g, (whole, macro) => {
      if (macro === undefined) return "$";
      const [, number] = /^ARG(\d+)$/.exec(macro) ?? [];
      if (length > LINE_LENGTH_MAX) return "";
      if (number !== undefined) {
        const argument = isArgument ? "" : args[Number(number) - 1] ?? "";
        length += argument.length;
        return fill(argument, true);
      }
      const value = valueOf(macro, context);
      length += value?.length ?? 0;
      if (value === undefined) unknown.add(whole);
      return value ?? whole;
    });
  const filled = fill(line, false);
  if (length > LINE_LENGTH_MAX) unknown.add(`what follows ${LINE_LENGTH_MAX} characters of macros`);
  return filled;
}

/** Macros within macros make a short command very long. */
const LINE_LENGTH_MAX = 65_536;

function valueOf(macro: string, { macros, host, service, item }: CommandContext): string | undefined {
  const [, owner, custom = ""] = /^_(HOST|SERVICE)(.+)$/.exec(macro) ?? [];
  if (owner !== undefined) {
    const object = owner === "HOST" ? host : service;
    const found = [...object?.directives ?? []].find(([key]) => key.toUpperCase() === `_${custom}`);
    const value = found?.[1];
    return value === undefined || !isCredentialName(custom) ? value : item.secret(value, custom);
  }
  if (macro === "USER1") return macros.get(macro) ?? PLUGIN_DIRECTORY;
  if (/^USER\d+$/.test(macro)) {
    return item.draft.secret(
      macros.get(macro) ?? `$${macro}$`,
      `nagios ${macro}`,
      `$${macro}$ in resource.cfg`,
    );
  }
  const hostName = host.directives.get("host_name");
  const values: Readonly<Record<string, string | undefined>> = {
    HOSTADDRESS: host.directives.get("address") ?? hostName,
    HOSTALIAS: host.directives.get("alias") ?? hostName,
    HOSTDISPLAYNAME: host.directives.get("display_name") ?? hostName,
    HOSTNAME: hostName,
    SERVICEDESC: service?.directives.get("service_description"),
    SERVICEDISPLAYNAME: service?.directives.get("display_name") ??
      service?.directives.get("service_description"),
  };
  return values[macro];
}

/** The words of a command line; `null` if only a shell can run it. */
export function splitWords(line: string): readonly string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  const pieces = /\s+|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|(\$(?:\$\{|\{env:\w+\}))|([^\s'"\\$]+|\$)/gy;
  let end = 0;
  for (const [whole, single, double, escaped, placeholder, plain] of line.matchAll(pieces)) {
    end += whole.length;
    if (
      plain !== undefined && /[|&;<>`()*?#~]/.test(plain) ||
      /[`$]/.test(double?.replaceAll(/\$\{env:\w+\}/g, "") ?? "")
    ) {
      return null;
    }
    const text = single ?? double?.replaceAll(/\\([\\"$`])/g, "$1") ?? escaped ?? placeholder ?? plain;
    if (text !== undefined) word = (word ?? "") + text;
    else if (word !== null) {
      words.push(word);
      word = null;
    }
  }
  if (end < line.length) return null;
  return word === null ? words : [...words, word];
}

/** Plugins with an equivalent kind. A plugin with any unknown option stays a command. */
const NATIVE: Readonly<Record<string, (args: readonly string[]) => NagiosCheck | null>> = {
  check_fping: (args) => pingCheck(args, { count: "-n" }),
  check_icmp: (args) => pingCheck(args, { count: "-n" }),
  check_ping: (args) => pingCheck(args, { count: "-p" }),
  check_tcp: tcpCheck,
};

/** Options with values by their name; `null` if there is anything else. */
function readOptions(args: readonly string[], names: readonly string[]): ReadonlyMap<string, string> | null {
  const options = new Map<string, string>();
  for (let index = 0; index < args.length; index += 2) {
    const [name = "", value] = [args[index], args[index + 1]];
    if (!names.includes(name) || value === undefined) return null;
    options.set(name, value);
  }
  return options;
}

function pingCheck(args: readonly string[], { count }: { readonly count: string }): NagiosCheck | null {
  const options = readOptions(args, ["-H", "-w", "-c", count]);
  const host = options?.get("-H");
  const [warning, critical] = [pingLimits(options?.get("-w")), pingLimits(options?.get("-c"))];
  if (host === undefined || warning === null || critical === null) return null;
  const number = Number(options?.get(count) ?? 5);
  return {
    kind: "ping",
    parameters: {
      host,
      ...(number !== 5 && { count: number }),
      loss: { warning_above: warning.loss, critical_above: critical.loss },
      round_trip: { warning_above: warning.roundTrip, critical_above: critical.roundTrip },
    },
  };
}

/** `100.0,20%`: milliseconds and a share. */
function pingLimits(text: string | undefined): { readonly roundTrip: string; readonly loss: string } | null {
  const [, milliseconds, share] = /^(\d+(?:\.\d+)?)(?:ms)?,(\d+)%$/.exec(text ?? "") ?? [];
  return milliseconds === undefined ? null : { roundTrip: `${Number(milliseconds)} ms`, loss: `${share}%` };
}

function tcpCheck(args: readonly string[]): NagiosCheck | null {
  const options = readOptions(args, ["-H", "-p", "-e"]);
  const [host, port, expect] = ["-H", "-p", "-e"].map((name) => options?.get(name));
  if (host === undefined || !/^\d+$/.test(port ?? "")) return null;
  return {
    kind: "tcp_connect",
    parameters: { host, port: Number(port), ...(expect !== undefined && { expect }) },
  };
}
