import { isRedactable, SECRET_LENGTH_MIN } from "../shared/redact.ts";
import { formsOfCredential, mayHoldCredential } from "./credentials.ts";
import { visitFormattedValues } from "./formats.ts";
import type { Substitution } from "./placeholders.ts";
import type { ConfigPath, Problem } from "./problem.ts";
import type { SchemaReader } from "./schema_view.ts";
import type { JsonValue } from "./syntax.ts";

/** Formats without secrets: targets and times. */
const OPEN_FORMATS: readonly string[] = ["path", "input_file", "command", "host", "interval"];

interface FoundSecrets {
  /** To be taken out of all that comes in, each once. */
  readonly values: readonly string[];
  readonly warnings: readonly Problem[];
}

/**
 * Finds texts that must never be printed: the placeholders' values, credentials in plain text, and the forms in which
 * they are sent. Hosts, ports, paths and commands are no secrets, nor is a value from a short list of words.
 */
export function findSecrets(
  config: JsonValue,
  substitutions: readonly Substitution[],
  reader: SchemaReader,
): FoundSecrets {
  const values = new Set<string>();
  const warnings = new Map<string, Problem>();
  const hide = (secret: string, path: ConfigPath): void => {
    if (isRedactable(secret)) values.add(secret);
    else if (secret !== "") warnings.set(JSON.stringify(path), { path, message: TOO_SHORT });
  };
  const unresolved = new Set<string>();
  for (const { path, resolved, parts } of substitutions) {
    if (resolved === null) unresolved.add(JSON.stringify(path));
    const view = reader.at(config, path);
    if (view?.enum !== undefined || OPEN_FORMATS.includes(view?.format ?? "")) continue;
    for (const { value, start } of parts) {
      const hidden = view?.format?.endsWith("url") === true
        ? hiddenInAddress(value, start, resolved ?? "")
        : [value];
      for (const text of hidden) hide(text, path);
    }
  }
  /** The names and passwords of logins, by the path of their object. */
  const logins = new Map<string, { username?: string; secret?: string }>();
  visitFormattedValues({ value: config, written: config, reader }, (item) => {
    const { path, format } = item;
    const isLogin = format === "username" || format === "secret";
    if (!isLogin && !mayHoldCredential(item) || unresolved.has(JSON.stringify(path))) return;
    for (const form of formsOfCredential(item)) hide(form, path);
    if (!isLogin) return;
    const place = JSON.stringify(path.slice(0, -1));
    logins.set(place, { ...logins.get(place), [format]: String(item.value) });
  });
  for (const { username = "", secret = "" } of logins.values()) {
    // As SMTP sends them (RFC 4616).
    if (username !== "" && secret !== "") values.add(`\0${username}\0${secret}`);
  }
  return { values: [...values], warnings: [...warnings.values()] };
}

const TOO_SHORT = `a secret of fewer than ${SECRET_LENGTH_MIN} characters is not hidden in outputs and logs`;

/**
 * The secret part of a value in a URL: none if it is within the host and port. If it extends beyond them (a whole
 * webhook URL), the part behind the host is a secret by itself too, since a URL is not always printed as written.
 */
function hiddenInAddress(value: string, start: number, address: string): readonly string[] {
  const authority = /^\s*[a-z]+:\/\/(?:[^/?#]*@)?([^/?#]*)/i.exec(address);
  if (authority === null) return [value];
  const [{ length: hostEnd }, host = ""] = authority;
  const hostStart = hostEnd - host.length;
  const end = start + value.length;
  if (start >= hostStart && end <= hostEnd) return [];
  if (start >= hostEnd || end <= hostStart) return [value];
  return [value, address.slice(hostEnd, end).replace(/^[/?#]+/, "")];
}
