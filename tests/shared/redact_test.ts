import assert from "node:assert/strict";
import { campaign } from "../../testing/seed.ts";
import fc from "../support/property.ts";
import { createRedactor, isRedactable } from "../../src/shared/redact.ts";
import { testRows } from "../support/rows.ts";

const KEY = "0123456789abcdefghijklmnop";

Deno.test("createRedactor() removes secrets from texts", async (t) => {
  const rows: Readonly<
    Record<string, { secrets: readonly string[]; text: string; expected: string; isCut?: boolean }>
  > = {
    "as it is": { secrets: ["swordfish"], text: "it is swordfish!", expected: "it is [secret]!" },
    twice: { secrets: ["swordfish"], text: "swordfishswordfish", expected: "[secret][secret]" },
    "in an address": { secrets: ["a b/c&d"], text: "?t=a%20b%2Fc%26d", expected: "?t=[secret]" },
    "in an address, some of it escaped": {
      secrets: ["a|b/c&ü"],
      text: "/a%7Cb/c&%c3%bc",
      expected: "/[secret]",
    },
    "in a form": { secrets: ["a b&c=d"], text: "t=a+b%26c%3Dd&x", expected: "t=[secret]&x" },
    "in JSON": {
      secrets: ['a"b\\c/d\u{1f511}'],
      text: String.raw`{"t":"a\"b\\c\/d\ud83d\udd11"}`,
      expected: '{"t":"[secret]"}',
    },
    "in HTML": {
      secrets: ["a<b&c\"d'e"],
      text: "<p>a&lt;b&amp;c&quot;d&#39;e</p>",
      expected: "<p>[secret]</p>",
    },
    "in base64": {
      secrets: ["user:swordfish"],
      text: "Basic dXNlcjpzd29yZGZpc2g= sent",
      expected: "Basic [secret] sent",
    },
    "in base64 for addresses": { secrets: ["a?>b?>c"], text: "YT8-Yj8-Yw", expected: "[secret]" },
    "with a sign of an address in it": {
      secrets: ["a%25b%"],
      text: "a%25b% a%2525b%25 a%25b",
      expected: "[secret] [secret] a%25b",
    },
    "with backslashes": {
      secrets: ['a\\\\"b'],
      text: 'a\\\\"b a\\\\\\\\\\"b',
      expected: "[secret] [secret]",
    },
    "as a header of UTF-8 is read": { secrets: ["über-secret"], text: "Ã¼ber-secret", expected: "[secret]" },
    "one within another": {
      secrets: ["swordfish", "swordfish-4711"],
      text: "swordfish-4711",
      expected: "[secret]",
    },
    "one across another": {
      secrets: ["abcdef", "defghi", "hijk"],
      text: "xabcdefghijky",
      expected: "x[secret]y",
    },
    "a line of several": {
      secrets: ["first line\nsecond line"],
      text: "x second line",
      expected: "x [secret]",
    },
    "other white space": {
      secrets: ["two\twords and  more"],
      text: "two words\nand more",
      expected: "[secret]",
    },
    "blanks at its ends": { secrets: ["  swordfish "], text: "<swordfish>", expected: "<[secret]>" },
    "invisible characters": {
      secrets: ["sw\u200bord\u001bfish"],
      text: "swordfish sw\u200bord\u001bfish sw ord fish",
      expected: "[secret] [secret] [secret]",
    },
    "in HTML, with other references": {
      secrets: ["d'été & co"],
      text: "d&#039;&eacute;t&#xE9;&nbsp;&amp;&#32;co",
      expected: "[secret]",
    },
    "in HTML, with names of letters that are not Latin-1": {
      secrets: ["Šœ-ΩπΣ"],
      text: "&Scaron;&oelig;-&Omega;&pi;&Sigma;",
      expected: "[secret]",
    },
    "in base64 with line breaks": {
      secrets: ["user:a long password"],
      text: "dXNlcjphIGxv\r\n  bmcgcGFz\\nc3dvcmQ=\n",
      expected: "[secret]\n",
    },
    "letters that are escaped": {
      secrets: ["swordfish"],
      text: "s%77or\\u0064f&#105;sh",
      expected: "[secret]",
    },
    "signs of patterns": { secrets: ["a.c*(d"], text: "abc a.c*(d", expected: "abc [secret]" },
    "four characters": { secrets: ["a|bc"], text: "a|bcd", expected: "[secret]d" },
    "too short to hide anything": { secrets: ["abc", " ab "], text: "abc ab ", expected: "abc ab " },
    none: { secrets: [], text: "swordfish", expected: "swordfish" },
    "hidden before": { secrets: ["secret"], text: "[secret] secret", expected: "[secret] [secret]" },
    "cut in a quotation": {
      secrets: [KEY],
      text: 'has "0123456…", expected',
      expected: 'has "[secret]…", expected',
    },
    "cut in a quotation, within a spelling": {
      secrets: ["abcd\u{1f511}x"],
      text: '"abcd%F0%9F…"',
      expected: '"[secret]…"',
    },
    "cut after three": { secrets: [KEY], text: '"012…"', expected: '"012…"' },
    "cut at the end": { secrets: [KEY], text: "x 0123", expected: "x [secret]", isCut: true },
    "cut at the end, in base64": {
      secrets: ["user:swordfish"],
      text: "dXNlcjpz",
      expected: "[secret]",
      isCut: true,
    },
    "cut at the end, after a blank": {
      secrets: ["abc def"],
      text: "abc ",
      expected: "[secret]",
      isCut: true,
    },
    "cut at the end, after three": { secrets: [KEY], text: "x 012", expected: "x 012", isCut: true },
    "a beginning where nothing is cut": { secrets: [KEY], text: "x 0123", expected: "x 0123" },
    "a beginning that goes on otherwise": {
      secrets: [KEY],
      text: "x 0123X",
      expected: "x 0123X",
      isCut: true,
    },
  };
  await testRows(
    t,
    rows,
    ({ secrets, text, expected, isCut = false }) =>
      assert.strictEqual(createRedactor(secrets)(text, { isCut }), expected),
  );
});

/** How a secret may be sent somewhere. */
const ENCODINGS: Readonly<Record<string, (secret: string) => string>> = {
  plain: (secret) => secret,
  component: encodeURIComponent,
  address: encodeURI,
  form: (secret) => new URLSearchParams({ a: secret }).toString().slice(2),
  path: (secret) => new URL(`http://h/${encodeURIComponent(secret)}`).pathname.slice(1),
  query: (secret) => new URL(`http://h/?${secret.replace(/[#\s]/g, encodeURIComponent)}`).search.slice(1),
  userinfo: (secret) => Object.assign(new URL("http://h/"), { password: secret }).password,
  JSON: (secret) => JSON.stringify(secret).slice(1, -1),
  base64: (secret) => new TextEncoder().encode(secret).toBase64(),
};

Deno.test("createRedactor() finds any secret in each form, and removes it once", () => {
  const secret = fc.string({ unit: "grapheme", minLength: 4, maxLength: 30 })
    .map((text) => text.toWellFormed()).filter(isRedactable);
  const encoding = fc.constantFrom(...Object.keys(ENCODINGS));
  fc.assert(fc.property(fc.array(secret, { minLength: 1, maxLength: 3 }), encoding, (secrets, name) => {
    const [first = ""] = secrets;
    const sent = ENCODINGS[name]?.(first) ?? "";
    const redact = createRedactor(secrets);
    const redacted = redact(`<<${sent}>>`);
    assert.ok(!redacted.includes(sent.trim()), `${redacted} holds ${sent}`);
    assert.match(redacted, /\[secret\]/);
    assert.equal(redact(redacted), redacted);
  }));
});

Deno.test("createRedactor() compares a secret that repeats itself with a long text of the same in linear time", () => {
  const redact = createRedactor([
    "a".repeat(40),
    "ab ".repeat(10),
    "%".repeat(20),
    "x".repeat(campaign(1 << 20)),
  ]);
  for (const part of ["a", "ab ", "%25", "%", "x"]) {
    assert.match(redact(part.repeat(65_536 / part.length)), /^(?:\[secret\]|[^]{1,200})+$/);
  }
});

/** The ways in which a character may be written. */
function spellingsOf(character: string): readonly string[] {
  const code = character.codePointAt(0) ?? 0;
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  const percent = Array.from(
    new TextEncoder().encode(character),
    (byte) => `%${byte.toString(16).padStart(2, "0")}`,
  );
  return [
    character,
    percent.join(""),
    percent.join("").toUpperCase(),
    units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join(""),
    `\\u{${code.toString(16)}}`,
    `&#${code};`,
    `&#0${code};`,
    `&#x${code.toString(16).toUpperCase()};`,
  ];
}

Deno.test("createRedactor() finds a secret however each of its characters is written", () => {
  const character = fc.constantFrom(..."aZ09%\\&\"+/=<;#x'éü€\u{1f511}");
  const secrets = fc.array(fc.array(character, { minLength: 4, maxLength: 12 }), {
    minLength: 1,
    maxLength: 30,
  });
  const choices = fc.array(fc.nat(7), { minLength: 12, maxLength: 12 });
  fc.assert(fc.property(secrets, choices, fc.nat(29), (secrets, choices, number) => {
    const secret = secrets[number % secrets.length] ?? [];
    const written = secret.map((one, index) => spellingsOf(one)[choices[index] ?? 0]).join("");
    const redact = createRedactor(secrets.map((one) => one.join("")));
    assert.match(redact(`, ${written} -`), /^, (?:\[secret\])+ -$/);
  }));
});

/** The plain definition: all occurrences of all secrets, those that overlap as one. */
function redactNaively(secrets: readonly string[], text: string): string {
  let redacted = "";
  let [from, to] = [0, 0];
  let done = 0;
  const flush = (): void => {
    if (to > from) redacted += `${text.slice(done, from)}[secret]`;
    done = Math.max(done, to);
  };
  for (let start = 0; start < text.length; start++) {
    const lengths = secrets.filter((secret) => text.startsWith(secret, start)).map(({ length }) => length);
    if (lengths.length === 0) continue;
    if (start >= to) {
      flush();
      [from, to] = [start, start];
    }
    to = Math.max(to, start + Math.max(...lengths));
  }
  flush();
  return redacted + text.slice(done);
}

Deno.test("createRedactor() finds what a search for each secret at each position finds", () => {
  const text = (minLength: number, maxLength: number) =>
    fc.string({ unit: fc.constantFrom("a", "b", "-"), minLength, maxLength });
  fc.assert(
    fc.property(fc.array(text(4, 8), { minLength: 1, maxLength: 8 }), text(0, 60), (secrets, text) => {
      assert.equal(createRedactor(secrets)(text), redactNaively(secrets, text));
    }),
  );
});

Deno.test("isRedactable() counts visible characters, blanks at the ends apart", () => {
  assert.deepEqual(["abcd", "a b c", " abc ", "abc\u200b", "\u200ba\u200bb\u200bc"].map(isRedactable), [
    true,
    true,
    false,
    false,
    false,
  ]);
});
