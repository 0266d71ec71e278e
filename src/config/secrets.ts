import type { Substitution } from "./placeholders.ts";
import type { SchemaReader } from "./schema_view.ts";
import type { JsonValue } from "./syntax.ts";

/** Formats whose values are told freely: what is asked, and where and when. */
const OPEN_FORMATS: readonly string[] = ["path", "program", "host", "interval"];

/**
 * The placeholders' values that must never be shown. Hosts, ports, paths and program names are not secrets, nor is
 * what can only be one of a few words.
 */
export function secretValues(
  document: JsonValue,
  substitutions: readonly Substitution[],
  reader: SchemaReader,
): readonly string[] {
  const secrets = new Set<string>();
  for (const { path, resolved, parts } of substitutions) {
    if (resolved === null) continue;
    const view = reader.at(document, path);
    if (view?.enum !== undefined || OPEN_FORMATS.includes(view?.format ?? "")) continue;
    for (const { value, start } of parts) {
      const hidden = view?.format === "url" ? hiddenInAddress(value, start, resolved) : [value];
      for (const text of hidden) if (text !== "") secrets.add(text);
    }
  }
  return [...secrets];
}

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
