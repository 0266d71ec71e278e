import type { IncomingResponse } from "../../domain/requests.ts";

type ResponseBody = Pick<IncomingResponse, "read">;

/** How much of a body is searched for texts, in decoded bytes. */
export const BODY_BYTES_MAX = 10 * 1024 * 1024;

/** How much of a body is kept to be looked at as a whole, in UTF-16 code units. */
export const START_LENGTH_MAX = 1024 * 1024;

/** What is wanted of a body, and how it is written. */
interface BodyWishes {
  readonly parts: readonly string[];
  readonly keepsStart: boolean;
  /** Whether it is read on when all is known, to measure how long it takes. */
  readonly readsOn: boolean;
  /** Its declared length; `null`: none is declared, or the body is compressed. */
  readonly lengthBytes: number | null;
  /** The response's `Content-Type`; `null` when it has none. */
  readonly contentType: string | null;
}

export interface BodyFindings {
  /** Whether each of the texts is in it, in their order. */
  readonly found: readonly boolean[];
  /** Its first {@link START_LENGTH_MAX} characters where they were asked for; empty otherwise. */
  readonly start: string;
  /** Whether `start` is all of it. */
  readonly isWhole: boolean;
  /** Whether the body went on beyond {@link BODY_BYTES_MAX}. */
  readonly cut: boolean;
  /** An unknown charset of `Content-Type`: the body was read as UTF-8. */
  readonly unknownCharset: string | null;
}

/**
 * Reads a body as far as it must be known, and no further. Then it is the caller's to end.
 *
 * No more of it is in memory than one chunk, what could be the start of a text, and the start that is kept. What
 * cannot be decoded becomes U+FFFD.
 *
 * @throws What the body throws when it cannot be read to its end.
 */
export async function readBody(
  body: ResponseBody,
  { parts, keepsStart, readsOn, lengthBytes, contentType }: BodyWishes,
): Promise<BodyFindings> {
  const { decoder, unknownCharset } = decoderFor(contentType);
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
    // If all of it came at once, no character can go on in the next chunk, and the decoder has nothing to remember.
    take(decoder.decode(chunk.subarray(0, restBytes), { stream: chunk.length !== lengthBytes }));
    const isKnown = search.found.every((found) => found) && (!keepsStart || start.length > START_LENGTH_MAX);
    if (isKnown && !readsOn) return findings();
    cut = chunk.length > restBytes;
    if (cut) break;
    restBytes -= chunk.length;
  }
  take(decoder.decode());
  ended = !cut;
  return findings();
}

interface Search {
  /** Whether each of the texts was met, in their order. */
  readonly found: readonly boolean[];
  take(more: string): void;
}

/** Looks for texts in one that comes piece by piece. */
function searchFor(parts: readonly string[]): Search {
  const found = parts.map(() => false);
  const tailLength = Math.max(0, ...parts.map((part) => part.length - 1));
  let text = "";
  return {
    found,
    take(more: string): void {
      if (parts.length === 0) return;
      text += more;
      for (const [index, part] of parts.entries()) found[index] ||= text.includes(part);
      text = tailLength === 0 ? "" : text.slice(-tailLength);
    },
  };
}

const CHARSET = /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i;

function decoderFor(
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
