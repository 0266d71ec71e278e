import type { MessageLimit } from "../domain/message_limit.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../shared/time_units.ts";

/** The accepted form, for messages. */
export const MESSAGE_LIMIT_FORMS = '1 to 1000 per minute, hour or day, such as "20 per hour"';

const FORM = /^(\d{1,9})\s+(?:per|an?)\s+(minute|hour|day)$/i;

const WINDOWS_MS: Readonly<Record<string, number>> = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS };

/** Parses the most messages of a channel in a time; `null` if the text has another form. */
export function parseMessageLimit(text: string): MessageLimit | null {
  const [, digits, unit = ""] = FORM.exec(text.trim()) ?? [];
  const windowMs = WINDOWS_MS[unit.toLowerCase()];
  const count = Number(digits);
  return windowMs !== undefined && count >= 1 && count <= 1000 ? { count, windowMs } : null;
}
