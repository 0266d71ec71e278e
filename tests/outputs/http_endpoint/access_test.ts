import assert from "node:assert/strict";
import { accessOf } from "../../../src/outputs/http_endpoint/check_ins.ts";

const TOKEN = "a-token-of-20-letters";

function accessWith(
  headers: Readonly<Record<string, string>>,
  settings: { readonly token?: string; readonly public?: readonly string[] },
): string | number {
  const request = {
    method: "GET",
    target: "/",
    address: "192.0.2.1",
    header: (name: string) => headers[name] ?? null,
    readTail: () => Promise.resolve(new Uint8Array()),
  };
  const access = accessOf(request, settings);
  return typeof access === "string" ? access : access.status;
}

Deno.test("accessOf() without a token accepts only this machine's own names", () => {
  const rows: Readonly<Record<string, string | number>> = {
    "localhost": "full",
    "LOCALHOST:9797": "full",
    "127.0.0.1:9797": "full",
    "127.1.2.3": "full",
    "[::1]:9797": "full",
    "app.localhost": "full",
    "evil.example": 421,
    "127.0.0.1.evil.example": 421,
    "localhost.evil.example": 421,
    "evillocalhost": 421,
    "192.0.2.1": 421,
    "0.0.0.0": 421,
    "evil.example@127.0.0.1": 421,
    "127.0.0.1@evil.example": 421,
    "127.0.0.1, evil.example": 421,
    "": 421,
  };
  for (const [host, access] of Object.entries(rows)) assert.equal(accessWith({ host }, {}), access, host);
  assert.equal(accessWith({}, {}), "full", "HTTP/1.0 has no host");
});

Deno.test("accessOf() compares the token of both schemes, and shows public checks without one", () => {
  const basic = (login: string): string => `Basic ${btoa(login)}`;
  const rows:
    readonly (readonly [authorization: string | null, isPublic: boolean, access: string | number])[] = [
      [`Bearer ${TOKEN}`, false, "full"],
      [`bearer ${TOKEN}`, true, "full"],
      [basic(`user:${TOKEN}`), false, "full"],
      [basic(`:${TOKEN}`), true, "full"],
      [basic(`${TOKEN}:`), false, 401],
      [basic(TOKEN), false, "full"],
      [`Bearer ${TOKEN}${TOKEN}`, true, 401],
      [`Bearer ${TOKEN.slice(1)}`, true, 401],
      [`Digest ${TOKEN}`, false, 401],
      [null, false, 401],
      [null, true, "public"],
    ];
  for (const [authorization, isPublic, access] of rows) {
    const headers = { host: "evil.example", ...authorization !== null && { authorization } };
    const settings = { token: TOKEN, ...isPublic && { public: ["web"] } };
    assert.equal(accessWith(headers, settings), access, `${authorization} ${isPublic}`);
  }
  assert.equal(accessWith({ host: "evil.example" }, { public: ["web"] }), "public");
});
