/**
 * Turns a path such as `.data[0].name`, as other tools write it, into one of RFC 9535. `null` if it has anything but
 * names and indexes.
 */
export function standardJsonPath(path: string): string | null {
  const parts = path.matchAll(/\.?([^.[\]'"\s()*$]+)|\[(\d+)\]|\[(?:'([^'\]]+)'|"([^"\]]+)")\]/gy);
  let standard = "$";
  let length = 0;
  for (const [whole, name, index, single, double] of parts) {
    length += whole.length;
    standard += index !== undefined ? `[${index}]` : segment(name ?? single ?? double ?? "");
  }
  return length === path.length ? standard : null;
}

/** The keys of expectations in `json`, by the operators of other tools. */
export const JSON_COMPARISONS = {
  "<": "less_than",
  "<=": "at_most",
  ">": "greater_than",
  ">=": "at_least",
} as const;

function segment(name: string): string {
  if (/^[A-Za-z_]\w*$/.test(name)) return `.${name}`;
  return `['${name.replaceAll(/['\\]/g, "\\$&")}']`;
}
