import assert from "node:assert/strict";
import { findFormatProblem } from "../../src/config/formats.ts";

function problemOf(format: string, value: string | number, written: string | number = value): unknown {
  return findFormatProblem({ path: ["a"], format, value, written });
}

/** The error of a value: none, a message, or a message and a hint. */
type Verdict = null | readonly [message: string, hint?: string];

async function holds(
  t: Deno.TestContext,
  format: string,
  rows: readonly (readonly [value: string, Verdict])[],
) {
  for (const [value, verdict] of rows) {
    await t.step(JSON.stringify(value), () => {
      const expected = verdict &&
        { path: ["a"], message: verdict[0], ...(verdict[1] && { hint: verdict[1] }) };
      assert.deepEqual(problemOf(format, value), expected);
    });
  }
}

Deno.test("findFormatProblem() accepts only http and https URLs", async (t) => {
  const EXPECTED = "expected one that begins with http:// or https://";
  const SUCH_AS = "expected one such as https://example.org/health";
  await holds(t, "url", [
    ["https://example.org/a?b=c#d", null],
    ["http://[::1]:8080/", null],
    ["http://münchen.example/", null],
    ["example.org/health", [
      `the URL "example.org/health" has no scheme, ${EXPECTED}`,
      'did you mean "https://example.org/health"?',
    ]],
    ["//example.org/", [`"//example.org/" is not a URL, ${SUCH_AS}`]],
    ["http://a b/", [`"http://a b/" is not a URL, ${SUCH_AS}`]],
    ["ftp://example.org/", [`the URL "ftp://example.org/" has the scheme "ftp:", ${EXPECTED}`]],
  ]);
});

Deno.test("findFormatProblem() accepts only a single plain email address", async (t) => {
  const refused = (value: string): [string, Verdict] => [
    value,
    [`${JSON.stringify(value)} is not an email address, expected one such as admin@example.org`],
  ];
  await holds(t, "address", [
    ["admin@example.org", null],
    ["first.last+tag@sub.example.org", null],
    ["ä@ö.example", null],
    ["a@[127.0.0.1]", null],
    ...["", "admin", "@example.org", "admin@", "a@b@c", "Admin <admin@example.org>", "a@b, c@d", "a@b;c@d"]
      .map(refused),
    ...["a b@c", "a@b\n", "a@b\r\nBcc: c@d", "a\0@b", '"a"@b', "mailto:a@b"].map(refused),
  ]);
});

Deno.test("findFormatProblem() accepts only a name or an IP address as host", async (t) => {
  const refused = (value: string): [string, Verdict] => [
    value,
    [`${JSON.stringify(value)} is not a host, expected a name or IP address`],
  ];
  const port = (value: string): [string, Verdict] => [
    value,
    [`"${value}" contains a port, expected only the host`, 'write it in "port"'],
  ];
  await holds(t, "host", [
    ["mail.example.org", null],
    ["::1", null],
    ["[::1]", null],
    ["fe80::1%eth0", null],
    ["münchen.example", null],
    ...["smtp://h", "h/path", "user@h", "a b", "h?x", "h#x", "h\n"].map(refused),
    ...["mail.example.org:587", "h:"].map(port),
  ]);
});

Deno.test("findFormatProblem() rejects a NUL that the system could not accept", () => {
  for (const format of ["path", "command", "argument", "variable"]) {
    assert.equal(problemOf(format, "a b\n"), null);
    assert.deepEqual(problemOf(format, "a\0b"), {
      path: ["a"],
      message: '"a\\u0000b" contains a NUL character, expected none',
    });
  }
  assert.equal(problemOf("secret", "a\0b"), null);
});
