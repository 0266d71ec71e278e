/** The body of a response as the layers read it: piece by piece, each valid until the next. */
import type { IncomingResponse } from "../../src/domain/connections.ts";

type Body = Pick<IncomingResponse, "read">;

/** The body that a stream makes, or none. */
export function bodyOfStream(stream: ReadableStream<Uint8Array> | null): Body {
  const reader = stream?.getReader();
  return { read: async () => (await reader?.read())?.value ?? null };
}

export async function readPieces({ read }: Body): Promise<readonly Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for (let piece = await read(); piece !== null; piece = await read()) pieces.push(piece.slice());
  return pieces;
}

export async function readText(body: Body): Promise<string> {
  return await new Blob([...await readPieces(body)] as Uint8Array<ArrayBuffer>[]).text();
}
