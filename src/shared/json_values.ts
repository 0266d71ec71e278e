/** Returns a wall time as ISO 8601 in UTC with milliseconds. */
export function isoTime(wallMs: number): string {
  return new Date(wallMs).toISOString();
}

/** Returns the same; `null` without a time. */
export function isoTimeOrNull(wallMs: number | null | undefined): string | null {
  return wallMs === null || wallMs === undefined ? null : isoTime(wallMs);
}

export function roundedMs(durationMs: number): number {
  return Math.round(durationMs * 10) / 10;
}

export function roundedMsOrNull(durationMs: number | null | undefined): number | null {
  return durationMs === null || durationMs === undefined ? null : roundedMs(durationMs);
}

/** Returns an object without the keys that have no value. */
export function defined<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const found: { [K in keyof T]?: Exclude<T[K], undefined> } = {};
  for (const key of Object.keys(values) as (keyof T)[]) {
    const value = values[key];
    if (value !== undefined) found[key] = value as Exclude<T[keyof T], undefined>;
  }
  return found;
}

/** Parses JSON; broken JSON counts as missing. */
export function parseJson(text: string, missing?: unknown): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return missing;
  }
}
