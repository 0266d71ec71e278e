import assert from "node:assert/strict";
import { response, startAnswering, startServer, type TestServer } from "../../support/http_servers.ts";
import { observeAnswer, observeTarget } from "../../support/http_check.ts";
import { testRows } from "../../support/rows.ts";

/** Starts a server with a table of responses by path. */
function startPaths(paths: Readonly<Record<string, string>>): TestServer {
  return startServer(async (visitor) => {
    const [, path = ""] = (await visitor.readHead()).split(" ");
    await visitor.send(paths[path] ?? response(404));
  });
}

/** Method and path of each request that came. */
function asked(server: TestServer): readonly string[] {
  return server.heads.map((head) => head.split(" HTTP/")[0] ?? "");
}

Deno.test("askFollowing() returns other 3xx statuses as responses", async () => {
  for (const status of [300, 304, 305, 306, 399]) {
    const { output } = await observeAnswer(response(status, { location: "/new" }));
    assert.equal(output, `status is ${status}, expected 200`);
  }
});

Deno.test("askFollowing() resolves a Location relative to its own URL", async (t) => {
  const rows = {
    "new": "/a/new",
    "../new?b=c": "/new?b=c",
    "/grün": "/gr%C3%BCn",
    "/with space": "/with%20space",
  };
  await testRows(t, rows, async (then, location) => {
    await using server = startPaths({ "/a/old": response(302, { location }), [then]: response(200) });
    await observeTarget(`${server.origin}/a/old`);
    assert.deepEqual(asked(server), ["GET /a/old", `GET ${then}`]);
  });
});

Deno.test("askFollowing() returns the error of an invalid Location", async (t) => {
  const rows = {
    "": "redirect (status 302) has an empty Location",
    "http://[half": "redirect (status 302) has a Location that is not a URL",
    "file:///etc/passwd": 'redirect (status 302) leads to "file:", expected http: or https:',
  };
  await testRows(t, rows, async (expected, location) => {
    for (const statusCode of [200, null]) {
      const { condition, output, metrics } = await observeAnswer(response(302, { location }), { statusCode });
      assert.deepEqual([condition, output, metrics["status"]], ["critical", expected, 302]);
    }
  });
  const outputOf = async (run: object) => (await observeAnswer(response(302), run)).output;
  assert.equal(await outputOf({}), "status is 302 without a Location, expected 200");
  assert.equal(await outputOf({ statusCode: null }), "status is 302");
});

Deno.test("askFollowing() follows ten redirects and no more", async (t) => {
  const startChain = (length: number) =>
    startServer(async (visitor) => {
      await visitor.readHead();
      const location = `/${visitor.number + 1}`;
      await visitor.send(visitor.number < length ? response(302, { location }) : response(200));
    });
  await t.step("ten", async () => {
    await using server = startChain(10);
    const { output } = await observeTarget(`${server.origin}/0`);
    assert.equal(output, `status is 200 (redirected to ${server.origin}/10)`);
    assert.equal(server.visits, 11);
  });
  await t.step("eleven", async () => {
    await using server = startChain(11);
    const { condition, output, metrics } = await observeTarget(`${server.origin}/0`, { asWarning: true });
    assert.equal(
      `${condition}: ${output}`,
      `warning: more than 10 redirects (redirected to ${server.origin}/10)`,
    );
    assert.deepEqual([metrics, server.visits], [{ status: 302 }, 11]);
    await server.untilLeft();
  });
  await t.step("a loop", async () => {
    await using server = startPaths({
      "/": response(302, { location: "/a" }),
      "/a": response(302, { location: "/b" }),
      "/b": response(307, { location: "/a#again" }),
    });
    const { output } = await observeTarget(`${server.origin}/`);
    assert.equal(output, `redirect loop, left after 10 redirects (redirected to ${server.origin}/b)`);
    assert.equal(server.visits, 11);
    await server.untilLeft();
  });
});

Deno.test("askFollowing() keeps credentials to their origin", async (t) => {
  const authorization = (server: TestServer) =>
    server.heads.map((head) => /^authorization: (.*)\r$/im.exec(head)?.[1] ?? "none");
  const own = `Basic ${btoa("user:password")}`;
  const withCredentials = (server: TestServer) => `http://user:password@127.0.0.1:${server.port}/old`;

  /** Redirects the first request, and accepts every other one. */
  const startRedirecting = (locationOf: () => string) =>
    startServer(async (visitor) => {
      await visitor.readHead();
      await visitor.send(visitor.number === 0 ? response(302, { location: locationOf() }) : response(200));
    });
  await t.step("an absolute Location of the same origin", async () => {
    await using server = startRedirecting(() => `${server.origin}/new`);
    await observeTarget(withCredentials(server));
    assert.deepEqual(authorization(server), [own, own]);
  });
  for (const from of [0, "http:".length]) {
    await t.step(`another origin, named ${from > 0 ? "without" : "with"} its scheme`, async () => {
      await using other = startAnswering(response(200));
      await using server = startRedirecting(() => `${other.origin.slice(from)}/new`);
      const { output } = await observeTarget(withCredentials(server));
      assert.deepEqual([authorization(server), authorization(other)], [[own], ["none"]]);
      assert.equal(output, `status is 200 (redirected to ${other.origin}/new)`);
    });
  }
  await t.step("there and back", async () => {
    await using server = startRedirecting(() => `${other.origin}/`);
    await using other = startRedirecting(() => `${server.origin}/new`);
    await observeTarget(withCredentials(server));
    assert.deepEqual(authorization(server), [own, "none"]);
  });
});
