/** How much of a body is searched, in decoded bytes. */
export const BODY_BYTES_MAX = 10 * 1024 * 1024;

/** What to look for, and how the body is written. */
export interface BodySearchOptions {
  /** The text to look for. */
  readonly part: string;
  /** The response's `Content-Type`; `null` when it has none. */
  readonly contentType: string | null;
}

/** What a search of a body showed. */
export interface BodySearch {
  /** Whether the text is in the body. */
  readonly found: boolean;
  /** Whether the body went on beyond {@link BODY_BYTES_MAX}. */
  readonly cut: boolean;
  /** A charset that `Content-Type` names and nobody knows: the body was read as UTF-8. */
  readonly unknownCharset: string | null;
}

/**
 * Searches a body for a text, and reads no further once the answer is known. Then it is the caller's to end.
 *
 * No more of the body is in memory than one chunk of it and what could be the start of the text. What cannot be
 * decoded becomes U+FFFD.
 *
 * @throws What the body throws when it cannot be read to its end.
 */
export async function searchBody(
  body: ReadableStream<Uint8Array> | null,
  { part, contentType }: BodySearchOptions,
): Promise<BodySearch> {
  const { decoder, unknownCharset } = decoderFor(contentType);
  let restBytes = BODY_BYTES_MAX;
  let cut = false;
  let text = "";
  const isFoundWith = (more: string) => {
    text += more;
    if (text.includes(part)) return true;
    text = text.slice(Math.max(0, text.length - part.length + 1));
    return false;
  };
  // To cancel the body here would throw if it has failed meanwhile, which is no matter once the text is found.
  for await (const chunk of body?.values({ preventCancel: true }) ?? []) {
    if (isFoundWith(decoder.decode(chunk.subarray(0, restBytes), { stream: true }))) {
      return { found: true, cut: false, unknownCharset };
    }
    cut = chunk.length > restBytes;
    if (cut) break;
    restBytes -= chunk.length;
  }
  return { found: isFoundWith(decoder.decode()), cut, unknownCharset };
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
