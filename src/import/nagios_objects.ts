import { ImportLimitError } from "./config_draft.ts";
import { decodeText, type ForeignFile, importError, type IncludedFiles } from "./foreign_text.ts";

export class NagiosObject {
  readonly type: string;
  readonly directives: ReadonlyMap<string, string>;

  constructor(type: string, directives: ReadonlyMap<string, string>) {
    this.type = type;
    this.directives = directives;
  }

  /** Returns a directive; empty without it. */
  text(name: string): string {
    return this.directives.get(name) ?? "";
  }

  list(name: string): readonly string[] {
    return listOf(this.directives.get(name));
  }
}

/** Everything in object files, `resource.cfg` and `nagios.cfg`. */
export interface NagiosFile {
  /** Without templates; each with its inherited directives. */
  readonly objects: readonly NagiosObject[];
  /** Values of `$USERn$`, by the name without dollars. */
  readonly macros: ReadonlyMap<string, string>;
  /** `key=value` of the main config; of repeated keys the last. */
  readonly settings: ReadonlyMap<string, string>;
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
  readonly macros: Map<string, string>;
  readonly settings: Map<string, string>;
  readonly includes: { readonly name: string; readonly value: string; readonly from: ForeignFile }[];
}

function readFile(file: ForeignFile, contents: Contents): void {
  const text = decodeText(file).replaceAll("${", () => "$${");
  let open:
    | { readonly type: string; readonly directives: Map<string, string>; readonly offset: number }
    | null = null;
  for (const { line, offset } of logicalLines(text)) {
    const [, type, rest = ""] = /^define\s+([a-z_]+)\s*\{?(.*)$/.exec(line) ?? [];
    if (type !== undefined) {
      if (open !== null) {
        throw malformed(file, text, { message: `define ${open.type} is not closed`, offset: open.offset });
      }
      open = { type, directives: new Map(), offset };
      if (rest.trim() === "" || rest.trim() === "{") continue;
      throw malformed(file, text, { message: "expected a newline after {", offset });
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
  if (open !== null) {
    throw malformed(file, text, { message: `define ${open.type} is not closed`, offset: open.offset });
  }
}

function malformed(
  file: ForeignFile,
  text: string,
  problem: { readonly message: string; readonly offset: number },
): Error {
  return importError(file, "1 error", { text, problems: [problem] });
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
