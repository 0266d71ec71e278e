import { ImportLimitError, type SourceItem } from "./config_draft.ts";
import { decodeText, type ForeignFile, importError, type IncludedFiles } from "./foreign_text.ts";
import { isCredentialName } from "../config/credentials.ts";
import type * as written from "../domain/generated/written_config.ts";

export class NagiosObject {
  constructor(readonly type: string, readonly directives: ReadonlyMap<string, string>) {}

  /** Returns a directive; empty without it. */
  text(name: string): string {
    return this.directives.get(name) ?? "";
  }

  list(name: string): readonly string[] {
    return listOf(this.directives.get(name));
  }
}

/** Everything in object files, `resource.cfg` and `nagios.cfg`. */
export interface NagiosFile extends Pick<Contents, "macros" | "settings"> {
  /** Without templates; each with its inherited directives. */
  readonly objects: readonly NagiosObject[];
  /** Files that are named but could not be read. */
  readonly unread: readonly { readonly item: string; readonly reason: string }[];
}

/**
 * Reads object definitions, and lines of `resource.cfg` and `nagios.cfg`, of a file and of those that it names.
 *
 * @throws {ConfigError} If a definition is malformed.
 */
export async function parseNagios(main: ForeignFile, included: IncludedFiles): Promise<NagiosFile> {
  const read: Contents = { objects: [], macros: new Map(), settings: new Map(), includes: [] };
  const unread: { readonly item: string; readonly reason: string }[] = [];
  readFile(main, read);
  for (let next = read.includes.shift(); next !== undefined; next = read.includes.shift()) {
    const { name, value, from } = next;
    const files = name.endsWith("_dir")
      ? await included.below(value, ".cfg", from)
      : await included.matching(value, from);
    if (typeof files === "string") unread.push({ item: `${name}=${value}`, reason: files });
    else for (const file of files) readFile(file, read);
  }
  return { ...read, objects: resolveTemplates(read.objects), unread };
}

interface Contents {
  readonly objects: NagiosObject[];
  /** Values of `$USERn$`, by the name without dollars. */
  readonly macros: Map<string, string>;
  /** `key=value` of the main config; of repeated keys the last. */
  readonly settings: Map<string, string>;
  readonly includes: { readonly name: string; readonly value: string; readonly from: ForeignFile }[];
}

function readFile(file: ForeignFile, contents: Contents): void {
  const text = decodeText(file).replaceAll("${", () => "$${");
  const malformed = (message: string, offset: number): Error =>
    importError(file, "1 error", { text, problems: [{ message, offset }] });
  let open: { type: string; directives: Map<string, string>; offset: number } | null = null;
  for (const { line, offset } of logicalLines(text)) {
    const [, type, rest = ""] = /^define\s+([a-z_]+)\s*\{?(.*)$/.exec(line) ?? [];
    if (type !== undefined) {
      if (open !== null) throw malformed(`define ${open.type} is not closed`, open.offset);
      open = { type, directives: new Map(), offset };
      if (rest.trim() === "" || rest.trim() === "{") continue;
      throw malformed("expected a newline after {", offset);
    }
    if (open === null) readSetting(line, file, contents);
    else if (line === "}") {
      contents.objects.push(new NagiosObject(open.type, open.directives));
      open = null;
    } else if (line !== "{") {
      const [, name = line, value = ""] = /^(\S+)\s+(.*)$/s.exec(line) ?? [];
      open.directives.set(name, value);
    }
  }
  if (open !== null) throw malformed(`define ${open.type} is not closed`, open.offset);
}

/** Lines without comments and blanks at their ends; a backslash at the end joins the next line. */
function* logicalLines(text: string): Generator<{ readonly line: string; readonly offset: number }> {
  let joined = "";
  let start = 0;
  let offset = 0;
  for (const raw of text.split("\n")) {
    if (joined === "") start = offset;
    offset += raw.length + 1;
    const content = joined === "" && /^\s*#/.test(raw)
      ? ""
      : raw.replace(/(?<!\\);.*$/s, "").replaceAll("\\;", ";");
    const trimmed = content.trim();
    if (trimmed.endsWith("\\")) joined += `${trimmed.slice(0, -1)} `;
    else {
      const line = (joined + trimmed).trim();
      joined = "";
      if (line !== "") yield { line, offset: start };
    }
  }
  if (joined.trim() !== "") yield { line: joined.trim(), offset: start };
}

function readSetting(line: string, from: ForeignFile, { macros, settings, includes }: Contents): void {
  const [, name = "", value = ""] = /^([^=\s]+)\s*=\s*(.*)$/s.exec(line) ?? [];
  const [, macro] = /^\$(USER\d+)\$$/.exec(name) ?? [];
  if (macro !== undefined) macros.set(macro, value);
  else if (/^(?:cfg_file|cfg_dir|resource_file|include_file|include_dir)$/.test(name)) {
    includes.push({ name, value, from });
  } else if (name !== "") settings.set(name, value);
}

/** More levels of templates are rejected, before recursion overflows the stack. */
const DEPTH_MAX = 100;

const OWN_DIRECTIVES: readonly string[] = ["name", "use", "register"];

function resolveTemplates(objects: readonly NagiosObject[]): readonly NagiosObject[] {
  const templates = new Map<string, NagiosObject>();
  for (const object of objects) {
    const name = object.directives.get("name");
    if (name !== undefined) templates.set(`${object.type} ${name}`, object);
  }
  const resolved = new Map<NagiosObject, ReadonlyMap<string, string>>();
  const resolve = (object: NagiosObject, depth = 0): ReadonlyMap<string, string> => {
    if (depth > DEPTH_MAX) {
      throw new ImportLimitError(`its templates are nested more than ${DEPTH_MAX} levels deep`);
    }
    const known = resolved.get(object);
    if (known !== undefined) return known;
    // A template that uses itself inherits nothing from itself.
    resolved.set(object, object.directives);
    const inherited = new Map<string, string>();
    for (const name of object.list("use")) {
      const template = templates.get(`${object.type} ${name}`);
      for (const [key, value] of template === undefined ? [] : resolve(template, depth + 1)) {
        if (!OWN_DIRECTIVES.includes(key) && !inherited.has(key)) inherited.set(key, value);
      }
    }
    for (const [key, value] of object.directives) inherited.set(key, joinValues(inherited.get(key), value));
    for (const [key, value] of inherited) if (value === "null") inherited.delete(key);
    resolved.set(object, inherited);
    return inherited;
  };
  return objects.filter(({ directives }) => directives.get("register") !== "0")
    .map((object) => new NagiosObject(object.type, resolve(object)));
}

/** `+value` adds to the inherited value. */
function joinValues(inherited: string | undefined, own: string): string {
  if (!own.startsWith("+")) return own;
  return inherited === undefined ? own.slice(1) : `${inherited.replace(/^\+/, "")},${own.slice(1)}`;
}

/** A list with commas; a leading plus is left from a template. */
export function listOf(value: string | undefined): readonly string[] {
  return (value ?? "").replace(/^\+/, "").split(",").map((item) => item.trim()).filter((item) => item !== "");
}

type NagiosCheck = written.CheckByKind | { readonly reason: string };

interface CommandContext extends Pick<NagiosFile, "macros"> {
  readonly commands: ReadonlyMap<string, string>;
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
  const shown = `$${macro}$`;
  if (/^USER\d+$/.test(macro)) {
    return item.draft.secret(macros.get(macro) ?? shown, `nagios ${macro}`, `${shown} in resource.cfg`);
  }
  const hostName = host.directives.get("host_name");
  const description = service?.directives.get("service_description");
  const values: Readonly<Record<string, string | undefined>> = {
    HOSTADDRESS: host.directives.get("address") ?? hostName,
    HOSTALIAS: host.directives.get("alias") ?? hostName,
    HOSTDISPLAYNAME: host.directives.get("display_name") ?? hostName,
    HOSTNAME: hostName,
    SERVICEDESC: description,
    SERVICEDISPLAYNAME: service?.directives.get("display_name") ?? description,
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
  check_fping: (args) => pingCheck(args, "-n"),
  check_icmp: (args) => pingCheck(args, "-n"),
  check_ping: (args) => pingCheck(args, "-p"),
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

function pingCheck(args: readonly string[], count: "-n" | "-p"): NagiosCheck | null {
  const options = readOptions(args, ["-H", "-w", "-c", count]);
  const host = options?.get("-H");
  const [warning, critical] = [pingLimits(options?.get("-w")), pingLimits(options?.get("-c"))];
  if (host === undefined || warning === null || critical === null) return null;
  const number = Number(options?.get(count) ?? 5);
  const loss = { warning_above: warning.loss, critical_above: critical.loss };
  const round_trip = { warning_above: warning.roundTrip, critical_above: critical.roundTrip };
  return { kind: "ping", parameters: { host, ...(number !== 5 && { count: number }), loss, round_trip } };
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
  return { kind: "tcp_connect", parameters: { host, port: Number(port), expect } };
}
