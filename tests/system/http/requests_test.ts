import { createRealClock } from "../../../testing/real_clock.ts";
import assert from "node:assert/strict";
import { createRequests } from "../../../src/system/http/requests.ts";
import { until } from "../../life/in_time.ts";
import { createCertificate } from "../../support/certificates.ts";
import { readText } from "../../support/bodies.ts";
import { response, startAnswering, startServer } from "../../support/http_servers.ts";
import { testRows } from "../../support/rows.ts";

const NEVER = new AbortController().signal;

const newRequests = () => createRequests({ clock: createRealClock() });

function get(target: string) {
  return { target, method: "GET", headers: {} };
}

/** The runtime's sanitizer of leaked resources verifies that every client is closed. */
Deno.test("createRequests() uses a new connection for each request", async () => {
  await using server = startServer(async (visitor) => {
    // It would respond to more than one request.
    while (true) {
      await visitor.readHead();
      await visitor.send(response(200, {}, "body"));
    }
  });
  const requests = newRequests();
  // As long as it is open, the others could use its client's connections.
  const first = await requests.send(get(`${server.origin}/`), NEVER);
  for (const _ of [2, 3]) {
    const { status, read, close } = await requests.send(get(`${server.origin}/`), NEVER);
    assert.equal(status, 200);
    assert.equal(await readText({ read }), "body");
    await close();
  }
  await first.close();
  assert.equal(server.visits, 3);
  await server.untilLeft();
});

Deno.test("createRequests() gives each response its own bytes, whatever was read before", async () => {
  const long = (letter: string): string => letter.repeat(100_000);
  await using server = startServer(async (visitor) => {
    const head = await visitor.readHead();
    await visitor.send(response(200, {}, long(/\/(\w)/.exec(head)?.[1] ?? "")));
  });
  const requests = newRequests();
  const texts = await Promise.all([..."abcdefghij".repeat(3)].map(async (letter, index) => {
    const given = await requests.send(get(`${server.origin}/${letter}`), NEVER);
    // Some are closed amid the body, and more than once.
    const text = index % 3 === 0 ? long(letter) : await readText(given);
    await given.close();
    await given.close();
    return text === long(letter);
  }));
  assert.deepEqual(texts, Array(30).fill(true));
  await server.untilLeft();
});

Deno.test("createRequests() aborts one of two requests without the other", async () => {
  const bothMayGoOn = Promise.withResolvers<void>();
  await using server = startServer(async (visitor) => {
    await visitor.readHead();
    await visitor.send("HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nhalf");
    await bothMayGoOn.promise;
    await visitor.send("full");
  });
  const requests = newRequests();
  const first = await requests.send(get(`${server.origin}/`), NEVER);
  const second = await requests.send(get(`${server.origin}/`), NEVER);
  await first.close();
  bothMayGoOn.resolve();
  assert.equal(await readText(second), "halffull");
  await second.close();
  await server.untilLeft();
});

Deno.test("createRequests() closes the connection when the response is closed", async (t) => {
  const rows = {
    "an unread body": { head: "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nab" },
    "an unread body until the end": { head: "HTTP/1.1 200 OK\r\n\r\nab" },
    "no body": { head: "HTTP/1.1 204 No Content\r\n\r\n" },
    "an upgrade that was not requested": {
      head: "HTTP/1.1 101 Up\r\nconnection: upgrade\r\nupgrade: a\r\n\r\n",
    },
    "a redirect": { head: "HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 10\r\n\r\nab" },
  };
  await testRows(t, rows, async ({ head }) => {
    let gone = false;
    await using server = startServer(async (visitor) => {
      await visitor.readHead();
      await visitor.send(head);
      await visitor.untilGone();
      gone = true;
    });
    const incoming = await newRequests().send(get(`${server.origin}/`), NEVER);
    await incoming.close();
    await incoming.close();
    await server.untilLeft();
    await until("the end of the connection", () => gone);
  });
});

Deno.test("createRequests() throws the reason of an abort", async (t) => {
  const reason = new Error("enough");
  await t.step("before the request", async () => {
    await using server = startAnswering(response(200));
    const sending = newRequests().send(get(`${server.origin}/`), AbortSignal.abort(reason));
    await assert.rejects(sending, reason);
    assert.equal(server.visits, 0);
  });
  for (const scheme of ["http", "https"]) {
    await t.step(`before the head, over ${scheme}`, async () => {
      const end = new AbortController();
      await using server = startServer(async (visitor) => {
        await visitor.readSome();
        end.abort(reason);
        await visitor.untilGone();
      });
      const sending = newRequests().send(
        get(`${scheme}://127.0.0.1:${server.port}/`),
        end.signal,
      );
      await assert.rejects(sending, reason);
      await server.untilLeft();
    });
  }
  await t.step("amid the body", async () => {
    const end = new AbortController();
    await using server = startServer(async (visitor) => {
      await visitor.readHead();
      await visitor.send("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nab");
      await visitor.untilGone();
    });
    const { read, close } = await newRequests().send(get(`${server.origin}/`), end.signal);
    const reading = readText({ read });
    end.abort(reason);
    await assert.rejects(reading, reason);
    await close();
    await server.untilLeft();
  });
});

Deno.test("createRequests() explains thrown errors", async () => {
  const requests = newRequests();
  const explain = async (target: string) => {
    try {
      await (await requests.send(get(target), NEVER)).close();
    } catch (error) {
      return requests.explain(error, target);
    }
    throw new Error("The request did not fail");
  };
  assert.deepEqual(await explain("https://nonexistent.invalid/"), {
    phase: "resolving",
    reason: "name does not resolve",
  });
  await using server = startServer(() => {}, { certificate: createCertificate({ isAuthority: true }) });
  assert.deepEqual(await explain(`${server.origin}/`), {
    phase: "TLS",
    reason: "certificate is not trusted (self-signed or a CA certificate)",
  });
});
