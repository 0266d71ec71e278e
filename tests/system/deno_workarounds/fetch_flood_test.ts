/**
 * `fetch` reads any number of informational responses (1xx) before a response, all that have come in one turn of the event
 * loop, so a server that sends them without end stalls the process. `src/system/http/requests.ts` reads HTTP in clear text
 * instead, and `src/system/http/requests.ts` leaves out HTTP/2. Over TLS with HTTP/1.1 a turn reads little.
 *
 * Upstream: none was found; https://github.com/hyperium/hyper/issues/1828 limits the loop around it (in 2.7.11)
 */
import assert from "node:assert/strict";
import { startAnswering } from "../../support/http_servers.ts";

Deno.test("fetch() still reads any number of informational responses: see requests.ts if this fails", async () => {
  await using server = startAnswering(
    `${"HTTP/1.1 100 Continue\r\n\r\n".repeat(100_000)}HTTP/1.1 204 No Content\r\n\r\n`,
  );
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  assert.equal((await fetch(server.origin, { client })).status, 204);
});
