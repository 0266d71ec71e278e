import type { MessageItem } from "../domain/delivery.ts";
import { isStandalone } from "../domain/outbox.ts";

/** A notification in a message, as scenarios write it. */
interface ShownItem {
  readonly event: string;
  readonly check: string;
  readonly condition: string;
  /** The condition of a problem that recovered before it was sent; absent: there is none. */
  readonly missed?: string | null;
  readonly dependents: number;
  readonly flapping: boolean;
  readonly acknowledged?: string | null;
  readonly summarized: number;
  readonly output: string;
}

/** More items than these are counted. */
const LISTED_MAX = 8;

/** Describes a message; a summary is its event, without the text. */
export function describeMessage(items: readonly MessageItem[]): string {
  return describeItems(items.map(({ notification, missedProblem, summarized }) => ({
    ...notification,
    output: notification.event,
    missed: missedProblem?.condition ?? null,
    summarized,
  })));
}

/** Returns a text such as `problem web critical`, or `recovery web ok (missed critical)`. */
export function describeNotification(
  { event, check, condition }: Pick<ShownItem, "event" | "check" | "condition">,
  missed: string | null = null,
): string {
  return `${event} ${check} ${condition}${missed === null ? "" : ` (missed ${missed})`}`;
}

/** As in `problem web critical, recovery mail ok`, or `500: 167 problem critical, 333 problem warning`. */
export function describeItems(items: readonly ShownItem[]): string {
  if (items.length <= LISTED_MAX) return items.map(describeItem).join(", ");
  const counts = [...Map.groupBy(items, ({ event, condition }) => `${event} ${condition}`)];
  return `${items.length}: ${counts.map(([words, { length }]) => `${length} ${words}`).join(", ")}`;
}

/** As in `problem web critical`, with what else is special about it in parentheses. */
function describeItem(item: ShownItem): string {
  const { event, dependents, flapping, acknowledged, missed, summarized, output } = item;
  const marks = [
    ...missed === null || missed === undefined ? [] : [`missed ${missed}`],
    ...dependents > 0 ? [`${dependents} ${dependents === 1 ? "dependent" : "dependents"}`] : [],
    ...flapping ? ["flapping"] : [],
    ...acknowledged === null || acknowledged === undefined ? [] : ["acknowledged"],
    ...summarized > 0 ? [`${summarized} summarized`] : [],
  ];
  const words = isStandalone(event) ? output : describeNotification(item);
  return `${words}${marks.length === 0 ? "" : ` (${marks.join(", ")})`}`;
}
