import type { ConfigPath } from "./problem.ts";
import { isObject } from "./schema_view.ts";
import type { JsonObject, JsonValue } from "./syntax.ts";

interface WrittenChannel {
  readonly path: ConfigPath;
  /** Its kind as written; empty if that is no text. */
  readonly kind: string;
}

/** Lists the channels that are written out in a file: those with a name, and those in lists. */
export function channelsIn(written: JsonObject): readonly WrittenChannel[] {
  const named = isObject(written["channels"]) ? Object.entries(written["channels"]) : [];
  return [
    ...named.map(([name, channel]) => ({ path: ["channels", name], kind: kindOf(channel) })),
    ...channelLists(written).flatMap(({ path, items }) =>
      items.flatMap((item, index) =>
        isObject(item) && !("channel" in item) ? [{ path: [...path, index], kind: kindOf(item) }] : []
      )
    ),
  ];
}

/** Lists the `notifications` of the defaults, the summary and the checks as written. */
export function channelLists(
  written: JsonObject,
): readonly { readonly path: ConfigPath; readonly items: readonly JsonValue[] }[] {
  const checks = isObject(written["checks"]) ? Object.entries(written["checks"]) : [];
  const holders: readonly (readonly [ConfigPath, JsonValue | undefined])[] = [
    [["defaults"], written["defaults"]],
    [["summary"], written["summary"]],
    ...checks.map(([name, check]) => [["checks", name], check] as const),
  ];
  return holders.flatMap(([path, holder]) => {
    const items = isObject(holder) ? holder["notifications"] : undefined;
    return Array.isArray(items) ? [{ path: [...path, "notifications"], items }] : [];
  });
}

function kindOf(channel: JsonValue): string {
  const kind = isObject(channel) ? channel["kind"] : "";
  return typeof kind === "string" ? kind : "";
}
