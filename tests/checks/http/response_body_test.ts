import assert from "node:assert/strict";
import { BODY_BYTES_MAX, readBody, START_LENGTH_MAX } from "../../../src/checks/http/response_body.ts";
import { bodyOfStream } from "../../support/bodies.ts";
import { type Rows, testRows } from "../../support/rows.ts";

type Wishes = Parameters<typeof readBody>[1];
const NOTHING: Wishes = {
  parts: [],
  keepsStart: false,
  readsOn: false,
  lengthBytes: null,
  contentType: null,
};

/** Searches for one text with {@linkcode readBody}. */
async function searchBody(
  body: ReadableStream<Uint8Array> | null,
  part: string,
  wishes: Partial<Wishes> = {},
): Promise<{ readonly found: boolean; readonly cut: boolean; readonly unknownCharset: string | null }> {
  const { found, cut, unknownCharset } = await readBody(bodyOfStream(body), {
    ...NOTHING,
    parts: [part],
    ...wishes,
  });
  return { found: found[0] ?? false, cut, unknownCharset };
}

/** A body in chunks of a size. */
function bodyOf(bytes: Uint8Array, chunkBytes: number): ReadableStream<Uint8Array> {
  let offset = 0;
  return new ReadableStream({
    pull(controller) {
      if (offset >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(offset, offset += chunkBytes));
    },
  });
}

Deno.test("readBody() finds a text in any chunks", async (t) => {
  const text = "ein großes, grünes 🙂 Feld";
  const utf8 = new TextEncoder().encode(text);
  const utf16 = new Uint8Array(Uint16Array.from(text, (unit) => unit.charCodeAt(0)).buffer);
  const latin1 = Uint8Array.from("ein großes, grünes Feld", (character) => character.charCodeAt(0));
  const rows: Rows<[bytes: Uint8Array, contentType: string | null, part: string]> = {
    "UTF-8": [utf8, null, "grünes 🙂 F"],
    "UTF-16LE": [utf16, 'a/b; x=y; charset="UTF-16LE"', "großes"],
    "ISO-8859-1": [latin1, "text/html;charset=iso-8859-1;x=y", "grünes F"],
    "the whole body": [utf8, null, text],
  };
  await testRows(t, rows, async ([bytes, contentType, part]) => {
    for (let chunkBytes = 1; chunkBytes <= bytes.length; chunkBytes += 1) {
      for (const lengthBytes of [null, bytes.length]) {
        for (const [wish, found] of [[part, true], [`${part}?`, false]] as const) {
          const search = await searchBody(bodyOf(bytes, chunkBytes), wish, { contentType, lengthBytes });
          const place = `chunks of ${chunkBytes}, declared length ${lengthBytes}`;
          assert.deepEqual(search, { found, cut: false, unknownCharset: null }, place);
        }
      }
    }
  });
});

Deno.test("readBody() finds no text that arises only at the boundary of two chunks", async () => {
  const body = ReadableStream.from(["abc", "xyz", "def"].map((piece) => new TextEncoder().encode(piece)));
  assert.equal((await searchBody(body, "cd")).found, false);
});

Deno.test("readBody() accepts any label of a charset", async (t) => {
  const rows = {
    "text/html": null,
    "text/html; charset=klingon": "klingon",
    'text/html; charset=""': "",
    // Decoders must reject it.
    "a/b; charset=hz-gb-2312": "hz-gb-2312",
    "a/b; xcharset=klingon": null,
    "a/b ; charset = utf-8 ": null,
  };
  await testRows(t, rows, async (unknownCharset, contentType) => {
    const body = bodyOf(new TextEncoder().encode("grün"), 2);
    const found = await searchBody(body, "grün", { contentType });
    assert.deepEqual(found, { found: true, cut: false, unknownCharset });
  });
});

Deno.test("readBody() decodes invalid bytes as U+FFFD", async () => {
  const body = bodyOf(Uint8Array.of(0x61, 0xff, 0x62, 0xc3), 1);
  const found = await searchBody(body, "a\ufffdb\ufffd");
  assert.equal(found.found, true);
});

Deno.test("readBody() searches the first 10 MiB and no more", async (t) => {
  const size = BODY_BYTES_MAX;
  const withNeedleAt = (end: number, length: number) => {
    const bytes = new Uint8Array(length).fill(0x2e);
    bytes.set(new TextEncoder().encode("needle"), end - 6);
    return bytes;
  };
  const rows = {
    "at the end of the searched text": { bytes: withNeedleAt(size, size + 9), found: true, cut: false },
    "a byte too late": { bytes: withNeedleAt(size + 1, size + 1), found: false, cut: true },
    "not within exactly the maximum": { bytes: new Uint8Array(size), found: false, cut: false },
  };
  await testRows(t, rows, async ({ bytes, found, cut }) => {
    const search = await searchBody(bodyOf(bytes, 65_537), "needle");
    assert.deepEqual(search, { found, cut, unknownCharset: null });
  });
});

Deno.test("readBody() throws the error of the body, and searches the bytes before it", async () => {
  const failing = () => {
    let pulled = false;
    return new ReadableStream<Uint8Array>({
      pull(controller) {
        if (pulled) return controller.error(new Error("broken"));
        pulled = true;
        controller.enqueue(new TextEncoder().encode("all is well"));
      },
    });
  };
  await assert.rejects(searchBody(failing(), "bad"), { message: "broken" });
  assert.equal((await searchBody(failing(), "well")).found, true);
});

Deno.test("readBody() searches an empty body", async () => {
  assert.equal((await searchBody(null, "x")).found, false);
  assert.equal((await searchBody(null, "")).found, true);
});

Deno.test("readBody() searches for several texts at once, and keeps the start", async () => {
  const text = "ab".repeat(100) + "needle" + "cd".repeat(100) + "pin";
  const bytes = new TextEncoder().encode(text);
  for (const chunkBytes of [1, 7, 1000]) {
    const wishes = { ...NOTHING, parts: ["pin", "a", "needlec", "pins"], keepsStart: true };
    const findings = await readBody(bodyOfStream(bodyOf(bytes, chunkBytes)), wishes);
    assert.deepEqual(findings, {
      found: [true, true, true, false],
      start: text,
      isWhole: true,
      cut: false,
      unknownCharset: null,
    });
  }
});

Deno.test("readBody() keeps only the start, and returns whether that is the whole body", async (t) => {
  for (const [length, isWhole] of [[START_LENGTH_MAX, true], [START_LENGTH_MAX + 1, false]] as const) {
    await t.step(`${length} characters`, async () => {
      const body = bodyOf(new Uint8Array(length).fill(0x61), 65_536);
      const findings = await readBody(bodyOfStream(body), { ...NOTHING, keepsStart: true });
      assert.equal(findings.start.length, START_LENGTH_MAX);
      assert.equal(findings.isWhole, isWhole);
    });
  }
});

Deno.test("readBody() reads to the end only on request", async (t) => {
  for (const readsOn of [true, false]) {
    await t.step(String(readsOn), async () => {
      let pulls = 0;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          pulls += 1;
          if (pulls > 5) return controller.close();
          controller.enqueue(new TextEncoder().encode("well"));
        },
      }, { highWaterMark: 0 });
      await readBody(bodyOfStream(body), { ...NOTHING, parts: ["well"], readsOn });
      assert.equal(pulls, readsOn ? 6 : 1);
    });
  }
});
