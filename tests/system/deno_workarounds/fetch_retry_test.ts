/**
 * `fetch` sends a request again, whatever its method, when the server ends the connection before a response head. No
 * option prevents that; docs/concepts/guarantees.md and src/system/http/requests.ts have it as a limitation.
 *
 * Upstream: https://github.com/denoland/deno/issues/35610 (in 2.7.11)
 */
import assert from "node:assert/strict";
import { startServer } from "../../support/http_servers.ts";

Deno.test("fetch() still sends a request again if it gets no response: delete the limitation if this fails", async () => {
  await using server = startServer(async (visitor) => void await visitor.readHead());
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  await assert.rejects(fetch(server.origin, { method: "POST", client }));
  assert.equal(server.heads.length, 2);
});
