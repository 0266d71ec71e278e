/** Reads the parts of a response that decide what a sender does next. */
import type { IncomingResponse } from "../domain/connections.ts";

interface BodyStart {
  readonly text: string;
  /** Whether it is the whole body. */
  readonly isWhole: boolean;
  /** Why no more could be read; `null`: it was enough. */
  readonly failure: unknown;
}

export async function readStart(
  response: Pick<IncomingResponse, "read">,
  bytesMax: number,
): Promise<BodyStart> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (let left = bytesMax; left >= 0;) {
      const bytes = await response.read();
      if (bytes === null) return { text: text + decoder.decode(), isWhole: true, failure: null };
      text += decoder.decode(bytes.subarray(0, left), { stream: true });
      left -= bytes.length;
    }
    return { text, isWhole: false, failure: null };
  } catch (failure) {
    return { text, isWhole: false, failure };
  }
}

const RETRY_AFTER_MS_MAX = 3_600_000;

/** The three forms of a date that RFC 9110 (section 5.6.7) has receivers accept; all of them are GMT. */
const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const RFC_850_DATE = /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/**
 * Parses `Retry-After` as whole seconds or as a date (RFC 9110, section 10.2.3); at most an hour. `null` for any
 * other value: `Date.parse` alone parses `1.5` and `5, 10` as dates long ago.
 */
export function retryAfterMs(value: string | null, nowMs: number): number | null {
  if (value === null) return null;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : httpDateMs(value) - nowMs;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), RETRY_AFTER_MS_MAX);
}

function httpDateMs(value: string): number {
  if (IMF_FIXDATE.test(value) || RFC_850_DATE.test(value)) return Date.parse(value);
  return ASCTIME_DATE.test(value) ? Date.parse(`${value} GMT`) : NaN;
}
