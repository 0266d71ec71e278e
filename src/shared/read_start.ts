import type { IncomingResponse } from "../domain/requests.ts";

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
