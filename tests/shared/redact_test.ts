import assert from "node:assert/strict";
import { campaign } from "../../testing/seed.ts";
import fc from "../support/property.ts";
import type { ProcessEnd } from "../../src/domain/processes.ts";
import { createRedactor, isRedactable, redactProcesses } from "../../src/shared/redact.ts";
import { type Rows, testRows } from "../support/rows.ts";
import { isSameSecret } from "../../src/shared/hash.ts";

const KEY = "0123456789abcdefghijklmnop";

Deno.test("createRedactor() removes secrets from texts", async (t) => {
  const rows: Rows<[secrets: readonly string[], text: string, expected: string, isCut?: boolean]> = {
    "with a sign of an address in it": [["a%25b%"], "a%25b% a%2525b%25 a%25b", "[secret] [secret] a%25b"],
    "as a header of UTF-8 is read": [["über-secret"], "Ã¼ber-secret", "[secret]"],
    "a line of several": [["first line\nsecond line"], "x second line", "x [secret]"],
    "other white space": [["two\twords and  more"], "two words\nand more", "[secret]"],
    "blanks at its ends": [["  swordfish "], "<swordfish>", "<[secret]>"],
    "invisible characters": [
      ["sw\u200bord\u001bfish"],
      "swordfish sw\u200bord\u001bfish sw ord fish",
      "[secret] [secret] [secret]",
    ],
    "in HTML, with other references": [
      ["d'été & co"],
      "d&#039;&eacute;t&#xE9;&nbsp;&amp;&#32;co",
      "[secret]",
    ],
    "in HTML, with names of letters that are not Latin-1": [
      ["Šœ-ΩπΣ"],
      "&Scaron;&oelig;-&Omega;&pi;&Sigma;",
      "[secret]",
    ],
    "in base64 with line breaks": [
      ["user:a long password"],
      "dXNlcjphIGxv\r\n  bmcgcGFz\\nc3dvcmQ=\n",
      "[secret]\n",
    ],
    "in base64 without padding": [["swordfish1"], "a c3dvcmRmaXNoMQ b", "a [secret] b"],
    "too short to hide anything": [["abc", " ab "], "abc ab ", "abc ab "],
    none: [[], "swordfish", "swordfish"],
    "cut in a quotation": [[KEY], 'has "0123456…", expected', 'has "[secret]…", expected'],
    "cut in a quotation, within a spelling": [["abcd\u{1f511}x"], '"abcd%F0%9F…"', '"[secret]…"'],
    "cut after three": [[KEY], '"012…"', '"012…"'],
    "cut at the end": [[KEY], "x 0123", "x [secret]", true],
    "cut at the end, in base64": [["user:swordfish"], "dXNlcjpz", "[secret]", true],
    "cut at the end, after a blank": [["abc def"], "abc ", "[secret]", true],
    "cut at the end, after three": [[KEY], "x 012", "x 012", true],
    "a beginning where nothing is cut": [[KEY], "x 0123", "x 0123"],
    "a beginning that goes on otherwise": [[KEY], "x 0123X", "x 0123X", true],
  };
  await testRows(t, rows, ([secrets, text, expected, isCut = false]) => {
    assert.strictEqual(createRedactor(secrets)(text, { isCut }), expected);
  });
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
    "x".repeat(campaign(1 << 18, 20_000)),
  ]);
  for (const part of ["a", "ab ", "%25", "%", "x"]) {
    assert.match(redact(part.repeat(campaign(65_536, 4_096) / part.length)), /^(?:\[secret\]|[^]{1,200})+$/);
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

Deno.test("redactProcesses() removes what a truncated or terminated process has printed of a secret", async () => {
  const command = {
    path: "/x",
    arguments: [],
    environment: {},
    directory: "/",
    timeoutMs: 1,
    outputBytesMax: 1,
  };
  const textOf = async (isTerminated: boolean, truncated: boolean): Promise<string> => {
    const printed = { text: `x ${KEY.slice(0, 9)}`, truncated };
    const streams = { stdout: printed, stderr: printed };
    const run = () =>
      Promise.resolve<ProcessEnd>(
        isTerminated
          ? { ended: "timed_out", survives: false, ...streams }
          : { ended: "exited", code: 0, leftovers: false, ...streams },
      );
    const processes = redactProcesses({ run }, createRedactor([KEY]));
    const end = await processes.run(command, new AbortController().signal);
    return end.ended === "not_started" ? assert.fail() : end.stdout.text;
  };
  assert.equal(await textOf(false, false), "x 012345678");
  assert.deepEqual([await textOf(false, true), await textOf(true, false)], ["x [secret]", "x [secret]"]);
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

Deno.test("isSameSecret() is true for the secret alone", () => {
  const secret = "0123456789abcdef";
  assert.equal(isSameSecret(secret, secret), true);
  for (const other of ["", "0", secret + secret, secret.slice(1), `${secret}0`, "0123456789abcdeF", "ü"]) {
    assert.equal(isSameSecret(other, secret), false, other);
  }
});
