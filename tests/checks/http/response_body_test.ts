import assert from "node:assert/strict";
import { BODY_BYTES_MAX, readBody, START_LENGTH_MAX } from "../../../src/checks/http/response_body.ts";
import { bodyOfStream } from "../../support/bodies.ts";
import { fieldsOf, type Rows, testRows, testTable } from "../../support/rows.ts";
import { readHeader } from "../../../src/checks/http/captures.ts";
import type { IncomingResponse } from "../../../src/domain/connections.ts";
import { httpRequestKind } from "../../../src/checks/http_request.ts";
import type { HttpExpectationCertificate } from "../../../src/domain/generated/config.ts";
import { createAuthority, createCertificate } from "../../support/certificates.ts";
import { observeInOwnProcess } from "../../support/connection_check.ts";
import { httpCheck, type HttpExpectations, observeAnswer, observeTarget } from "../../support/http_check.ts";
import { beSilent } from "../../support/hostile_servers.ts";
import { response, startAnswering, startServer } from "../../support/http_servers.ts";
import { DAY_MS } from "../../../src/shared/time_units.ts";
import { problemTexts } from "../../support/observe_check.ts";
import { tempDirectory } from "../../../testing/builders.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { requiresTools } from "../../../testing/tools.ts";

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

Deno.test("readHeader() decodes UTF-8, and other bytes as Latin-1", async (t) => {
  const rows: Rows<[bytes: string, expected: string]> = {
    "ASCII": ["plain", "plain"],
    "UTF-8": ["gr\u00c3\u00bcn", "grün"],
    "ISO-8859-1": ["gr\u00fcn", "gr\u00fcn"],
    "a byte-order mark": ["\u00ef\u00bb\u00bfx", "\ufeffx"],
    "UTF-8 that is cut short": ["gr\u00c3", "gr\u00c3"],
  };
  await testRows(t, rows, ([bytes, expected]) => {
    assert.equal(readHeader(responseWith([["x-a", bytes]]), "X-A"), expected);
  });
});

Deno.test("readHeader() distinguishes a missing header from an empty one", () => {
  const response = responseWith([["x-a", ""]]);
  assert.equal(readHeader(response, "x-a"), "");
  assert.equal(readHeader(response, "x-b"), null);
});

Deno.test("readHeader() joins a repeated header", () => {
  const response = responseWith([["x-a", "1"], ["x-a", "2"], ["set-cookie", "a"], ["set-cookie", "b"]]);
  assert.equal(readHeader(response, "x-a"), "1, 2");
  assert.equal(readHeader(response, "set-cookie"), "a, b");
});

function responseWith(fields: [name: string, value: string][]): Pick<IncomingResponse, "header"> {
  const headers = new Headers(fields);
  return { header: (name) => headers.get(name) };
}

const CERTIFICATE: HttpExpectationCertificate = {
  warningBeforeExpiryMs: 14 * DAY_MS,
  criticalBeforeExpiryMs: 3 * DAY_MS,
};

Deno.test("observeHttpRequest() compares the time until expiry of the certificate with its limits", async (t) => {
  const authority = createAuthority();
  await using directory = await tempDirectory({ "ca.pem": authority.cert });
  const caFile = `${directory.path}/ca.pem`;
  const trusting = { request: { tls: { caFile } } };
  const little = 'certificate expires in 8 d 23 h (…), issued by "test authority"';
  const table = `
    enough      | 60 |                | ok: status is 200
    little      | 9  |                | warning: ${little}
    very little as a warning | 2 | asWarning=true | warning: ${little.replace("8 d", "1 d")}
    little with another status | 9 | statusCode=500 | critical: status is 200, expected 500; ${little}`;
  await testTable(t, table, async (_, days, expectations, expected) => {
    const toDay = Number(days);
    const certificate = createCertificate({ authority, toDay });
    const run = { ...trusting, ...fieldsOf<HttpExpectations>(expectations), certificate: CERTIFICATE };
    const { condition, output, metrics } = await observeAnswer(response(200), run, { certificate });
    assert.strictEqual(`${condition}: ${output.replace(/\(.*?\)/, "(…)")}`, expected);
    assert.ok(Math.abs((metrics["certificate_left_seconds"] ?? NaN) - toDay * 86_400) < 600);
  });
  await t.step("a server that hangs when it is asked again", async () => {
    const tls = createCertificate({ authority, toDay: 60 });
    await using real = startAnswering(response(200), { certificate: tls });
    // The first connection goes through to the real server, every other one nowhere.
    const clock = createFakeClock();
    await using front = startServer(async (visitor) => {
      await visitor.readSome();
      void clock.advance(1500);
      await beSilent(visitor);
    });
    await using relay = startRelay(real.port, front.port);
    const run = { ...trusting, clock, certificate: CERTIFICATE, timeoutMs: 1500 };
    const { condition, output } = await observeTarget(`https://127.0.0.1:${relay.port}/`, run);
    const place = `127.0.0.1:${relay.port}`;
    assert.deepStrictEqual([condition, output], [
      "critical",
      `reading the certificate: timeout after 1.5 s during the TLS handshake with ${place}`,
    ]);
  });
  await t.step("no TLS", async () => {
    const { condition, output } = await observeAnswer(response(200), { certificate: CERTIFICATE });
    assert.deepStrictEqual([condition, output], [
      "critical",
      "the target is not https:, so it has no certificate",
    ]);
  });
  const apart = async (): Promise<void> => {
    const tls = createCertificate({ authority, toDay: 60 });
    await using server = startAnswering(response(200), { certificate: tls });
    const check = httpCheck(`https://localhost:${server.port}/`, { certificate: CERTIFICATE });
    const found = await observeInOwnProcess(check, {
      flags: ["--allow-read", "--allow-env", "--allow-sys", `--allow-net=localhost:${server.port}`],
      environment: { DENO_CERT: caFile },
    });
    assert.deepStrictEqual([found.condition, found.output], ["ok", "status is 200"]);
  };
  const name = "with the CAs of the environment, and no permission but the target's";
  await t.step({ name, fn: apart, ...requiresTools("time") });
});

/** Leads the first connection to one port, and every other one to another. */
function startRelay(firstPort: number, otherPort: number): ReturnType<typeof startServer> {
  return startServer(async (visitor) => {
    const port = visitor.number === 0 ? firstPort : otherPort;
    await visitor.exchange(await Deno.connect({ hostname: "127.0.0.1", port }));
  });
}

Deno.test("httpRequestKind warns of a certificate without TLS, and of limits in the wrong order", () => {
  const warned = (target: string, certificate: HttpExpectationCertificate) =>
    problemTexts(httpRequestKind.warnings?.(httpCheck(target, { certificate })));
  assert.deepStrictEqual(warned("https://a.example/", CERTIFICATE), []);
  assert.deepStrictEqual(warned("http://a.example/", CERTIFICATE), [
    "response.certificate: the target is not https:, so it has no certificate",
  ]);
  const crossed = { ...CERTIFICATE, criticalBeforeExpiryMs: 30 * DAY_MS };
  assert.deepStrictEqual(warned("https://a.example/", crossed), [
    'response.certificate.critical_before_expiry: is longer than warning_before_expiry (30 d, not 14 d), so it is never "warning"',
  ]);
});
