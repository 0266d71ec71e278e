/** Parses an email of the monitor, as a receiver reads it. */
import PostalMime from "postal-mime";
import type { Arrival, ArrivedItem } from "./arrivals.ts";

/** Reads one, as it came over the wire. */
export async function readMail(raw: string): Promise<Omit<Arrival, "round">> {
  const { messageId = "", subject = "", text = "" } = await PostalMime.parse(raw);
  return { channel: "mail", id: messageId, text: `${subject}\n${text}`, items: itemsOf(text) };
}

const RULE = `\n${"-".repeat(40)}\n\n`;
const HEADLINE = /^([A-Z]+): (\S+)( \(was [A-Z]+ from .* to .* UTC\))?$/;

function itemsOf(text: string): readonly ArrivedItem[] {
  const body = text.replaceAll("\r\n", "\n").replace(
    /^.* in \d+ notifications, highest severity first\.\n\n/,
    "",
  );
  if (/^Check: /m.test(body)) return body.split(RULE).map(itemInFull);
  return body.trimEnd().split("\n\n").map(itemInShort);
}

function itemInFull(text: string): ArrivedItem {
  const [headline = "", , output = ""] = text.split("\n");
  const previous = /^Previous: ([A-Z]+)$|^Was ([A-Z]+): from/m.exec(text);
  return {
    ...fromHeadline(headline),
    previous: (previous?.[1] ?? previous?.[2] ?? "?").toLowerCase(),
    token: output,
    missedToken: /^Output: (.*)$/m.exec(text)?.[1] ?? null,
  };
}

/** More than ten have three lines each. */
function itemInShort(text: string): ArrivedItem {
  const [headline = "", output = ""] = text.split("\n");
  return { ...fromHeadline(headline), previous: null, token: output.trim(), missedToken: null };
}

function fromHeadline(headline: string): Pick<ArrivedItem, "check" | "condition" | "isOver"> {
  const [, condition, check, over] = HEADLINE.exec(headline) ?? [];
  if (condition === undefined || check === undefined) {
    throw new Error(`no headline of a notification: ${headline}`);
  }
  return { check, condition: condition.toLowerCase(), isOver: over !== undefined };
}
