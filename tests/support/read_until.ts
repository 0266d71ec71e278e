import assert from "node:assert/strict";

/** Reads the output of a server up to the text that it writes once it is ready. */
export async function readUntil(output: ReadableStream<Uint8Array>, text: string): Promise<void> {
  let all = "";
  for await (
    const part of output.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
  ) {
    all += part;
    if (all.includes(text)) return;
  }
  assert.fail(`ended without "${text}": ${all}`);
}
