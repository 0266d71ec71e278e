import { truncate } from "../../shared/text.ts";
import { statusOf } from "../../engine/check_status.ts";
import type { Check } from "../../domain/check.ts";
import type { PageWhy } from "../html_report/snapshot.ts";
import { describeDecision, describeInLine } from "./describe_why.ts";
import { gatherWhy, type WhySources } from "./gather_why.ts";

const LINE_LENGTH_MAX = 1_000;

/** Returns a line for each channel of a check; none while it is ok and its notifications are not suppressed. */
export function whyOnPage(
  check: Check,
  { timeZone, ...sources }: WhySources & { readonly timeZone: string },
): readonly PageWhy[] {
  const why = gatherWhy(check, sources);
  const { condition, isSilenced, maintenance } = statusOf(check, sources);
  const isNews = condition !== "ok" || isSilenced || maintenance !== null ||
    why.channels.some(({ event, queued }) => event !== null || queued.length > 0);
  if (!isNews) return [];
  const options = { ...why, timeZone, whenDecided: describeDecision(why) };
  return why.channels.map((channel) => ({
    channel: truncate(channel.name, LINE_LENGTH_MAX),
    text: truncate(describeInLine(channel, options), LINE_LENGTH_MAX),
  }));
}
