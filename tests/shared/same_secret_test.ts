import assert from "node:assert/strict";
import { isSameSecret } from "../../src/shared/hash.ts";

Deno.test("isSameSecret() is true for the secret alone", () => {
  const secret = "0123456789abcdef";
  assert.equal(isSameSecret(secret, secret), true);
  for (const other of ["", "0", secret + secret, secret.slice(1), `${secret}0`, "0123456789abcdeF", "ü"]) {
    assert.equal(isSameSecret(other, secret), false, other);
  }
});
