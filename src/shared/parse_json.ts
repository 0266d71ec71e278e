/** Parses JSON; broken JSON counts as missing. */
export function parseJson(text: string, missing?: unknown): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return missing;
  }
}
