import type { IncomingResponse } from "../../domain/connections.ts";

/** How much of a body is searched for texts, in decoded bytes. */
export const BODY_BYTES_MAX = 10 * 1024 * 1024;

/** The maximum length of a body that is kept for evaluating it as a whole, in UTF-16 code units. */
export const START_LENGTH_MAX = 1024 * 1024;

interface BodyWishes {
  readonly parts: readonly string[];
  readonly keepsStart: boolean;
  /** Whether it is read to the end after all results are known, to measure its duration. */
  readonly readsOn: boolean;
  /** Its declared length; `null`: none is declared, or the body is compressed. */
  readonly lengthBytes: number | null;
  readonly contentType: string | null;
}

export interface BodyFindings {
  readonly found: readonly boolean[];
  /** Its first {@link START_LENGTH_MAX} characters where they were asked for; empty otherwise. */
  readonly start: string;
  readonly isWhole: boolean;
  readonly cut: boolean;
  /** An unknown charset of `Content-Type`: the body was read as UTF-8. */
  readonly unknownCharset: string | null;
}

/**
 * Reads a body until all results are known. The caller then closes it.
 *
 * Only one chunk, the possible start of a text, and the requested start are in memory. Bytes that cannot be decoded
 * become U+FFFD.
 *
 * @throws The error of the body if it cannot be read to its end.
 */
export async function readBody(
  body: Pick<IncomingResponse, "read">,
  { parts, keepsStart, readsOn, lengthBytes, contentType }: BodyWishes,
): Promise<BodyFindings> {
  const charset = UTF_8_TYPE.test(contentType ?? "") ? null : decoderFor(contentType);
  const unknownCharset = charset?.unknownCharset ?? null;
  let decoder = charset?.decoder ?? null;
  const search = searchFor(parts);
  let restBytes = BODY_BYTES_MAX;
  let cut = false;
  let ended = false;
  let start = "";
  const take = (more: string): void => {
    search.take(more);
    if (keepsStart && start.length <= START_LENGTH_MAX) start += more;
  };
  const findings = (): BodyFindings => ({
    found: search.found,
    start: start.slice(0, START_LENGTH_MAX),
    isWhole: ended && start.length <= START_LENGTH_MAX,
    cut,
    unknownCharset,
  });
  for (let chunk = await body.read(); chunk !== null; chunk = await body.read()) {
    const bytes = chunk.length <= restBytes ? chunk : chunk.subarray(0, restBytes);
    // If all of it came at once, no character can go on in the next chunk, and a decoder has nothing to remember.
    if (chunk.length === lengthBytes) take((decoder ?? UTF_8).decode(bytes));
    else take((decoder ??= new TextDecoder()).decode(bytes, { stream: true }));
    const isKnown = search.found.every((found) => found) && (!keepsStart || start.length > START_LENGTH_MAX);
    if (isKnown && !readsOn) return findings();
    cut = chunk.length > restBytes;
    if (cut) break;
    restBytes -= chunk.length;
  }
  take(decoder?.decode() ?? "");
  ended = !cut;
  return findings();
}

function searchFor(parts: readonly string[]) {
  const found = parts.map(() => false);
  const tailLength = Math.max(0, ...parts.map((part) => part.length - 1));
  let text = "";
  return {
    found,
    take(more: string): void {
      if (parts.length === 0) return;
      text += more;
      parts.forEach((part, index) => found[index] ||= text.includes(part));
      text = tailLength === 0 ? "" : text.slice(-tailLength);
    },
  };
}

const CHARSET = /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i;

/** Text in UTF-8, said or not. */
const UTF_8_TYPE = /^[^;]*(?:;\s*charset\s*=\s*(?:"utf-?8"|utf-?8)\s*)?$/i;
const UTF_8 = new TextDecoder();

export function decoderFor(
  contentType: string | null,
): { readonly decoder: TextDecoder; readonly unknownCharset: string | null } {
  const found = CHARSET.exec(contentType ?? "");
  const charset = found?.[1] ?? found?.[2];
  try {
    return { decoder: new TextDecoder(charset), unknownCharset: null };
  } catch {
    return { decoder: new TextDecoder(), unknownCharset: charset ?? null };
  }
}
