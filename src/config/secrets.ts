import { isRedactable, SECRET_LENGTH_MIN } from "../shared/redact.ts";
import { formsOfCredential, mayHoldCredential } from "./credentials.ts";
import { visitFormattedValues } from "./formats.ts";
import type { Substitution } from "./placeholders.ts";
import type { ConfigPath, Problem } from "./problem.ts";
import type { SchemaReader } from "./schema_view.ts";
import type { JsonValue } from "./syntax.ts";

/** Formats whose values are told freely: what is asked, and where and when. */
const OPEN_FORMATS: readonly string[] = ["path", "input_file", "command", "host", "interval"];

/** What of a config must not be shown. */
interface FoundSecrets {
  /** To be taken out of all that comes in, each once. */
  readonly values: readonly string[];
  /** The same that is too short for that. */
  readonly warnings: readonly Problem[];
}

/**
 * Finds what must never be shown: the placeholders' values, credentials that are written out, and what they are put
 * together to on their way. Hosts, ports, paths and commands are no secrets, nor is what can only be one of a few words.
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
      const hidden = view?.format === "url" ? hiddenInAddress(value, start, resolved ?? "") : [value];
      for (const text of hidden) hide(text, path);
    }
  }
  /** The names and passwords of logins, by the place of the object in which they stand. */
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
 * What is secret of a value that stands in an address: nothing of it where it lies within the host and port. Of one
 * that reaches beyond them (a whole webhook address), what stands behind the host is secret by itself too, since
 * an address is not always shown as it was written.
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
