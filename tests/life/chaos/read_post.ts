/** Parses a post of the monitor, as a receiver reads it. */
import type { ArrivedItem } from "./arrivals.ts";
import type { Visitor } from "./door.ts";

interface Posted {
  readonly check: string;
  readonly condition: string;
  readonly previous: string;
  readonly output: string;
  readonly missed_problem?: Posted | null;
  /** Of the template alone. */
  readonly summary?: string;
}

/** Returns the notifications in the body of a post. */
export function itemsOf(body: string): readonly ArrivedItem[] {
  const posted = JSON.parse(body) as Posted | { readonly notifications: readonly Posted[] };
  const notifications = "notifications" in posted ? posted.notifications : [posted];
  return notifications.map(({ check, condition, previous, output, missed_problem: missed, summary }) => ({
    check,
    condition,
    previous,
    token: output,
    isOver: summary === undefined ? (missed ?? null) !== null : / \(was [a-z]+ from .* to /.test(summary),
    missedToken: missed?.output ?? null,
  }));
}

/** Reads the head of a request; the key is that by which a receiver detects duplicates. */
export async function readHead(
  visitor: Visitor,
): Promise<{ readonly key: string; readonly length: number }> {
  const headers = new Map<string, string>();
  await visitor.readLine();
  for (let line = await visitor.readLine(); line !== ""; line = await visitor.readLine()) {
    const colon = line.indexOf(":");
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  return { key: headers.get("idempotency-key") ?? "", length: Number(headers.get("content-length")) };
}
