import assert from "node:assert/strict";
import { response, startAnswering, startServer, type TestServer } from "../../support/http_servers.ts";
import { observeTarget } from "../../support/http_check.ts";

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

Deno.test("askFollowing() follows redirects with the method of a browser", async (t) => {
  const rows = [
    { status: 301, method: "GET", then: "GET" },
    { status: 302, method: "GET", then: "GET" },
    { status: 303, method: "GET", then: "GET" },
    { status: 307, method: "GET", then: "GET" },
    { status: 308, method: "GET", then: "GET" },
    { status: 301, method: "POST", then: "GET" },
    { status: 302, method: "POST", then: "GET" },
    { status: 303, method: "POST", then: "GET" },
    { status: 307, method: "POST", then: "POST" },
    { status: 308, method: "POST", then: "POST" },
  ] as const;
  for (const { status, method, then } of rows) {
    await t.step(`${method} after ${status} becomes ${then}`, async () => {
      await using server = startPaths({
        "/old": response(status, { location: "/new" }, "moved"),
        "/new": response(200),
      });
      const checkResult = await observeTarget(`${server.origin}/old`, { method });
      assert.deepEqual(asked(server), [`${method} /old`, `${then} /new`]);
      assert.equal(checkResult.output, `status is 200 (redirected to ${server.origin}/new)`);
      assert.equal(checkResult.condition, "ok");
      assert.equal(checkResult.metrics["status"], 200);
      await server.untilLeft();
    });
  }
});

Deno.test("askFollowing() returns other 3xx statuses as responses", async (t) => {
  for (const status of [300, 304, 305, 306, 399]) {
    await t.step(`${status}`, async () => {
      await using server = startAnswering(response(status, { location: "/new" }));
      const checkResult = await observeTarget(`${server.origin}/`);
      assert.equal(checkResult.output, `status is ${status}, expected 200`);
      assert.equal(server.visits, 1);
    });
  }
});

Deno.test("askFollowing() returns an expected redirect", async (t) => {
  const rows = [
    { statusCode: 301, output: "status is 301", condition: "ok" },
    { statusCode: 302, output: "status is 301, expected 302", condition: "critical" },
    { statusCode: 399, output: "status is 301, expected 399", condition: "critical" },
  ];
  for (const { statusCode, output, condition } of rows) {
    await t.step(`${statusCode}`, async () => {
      const location = "https://other.example/";
      await using server = startAnswering(response(301, { location }, "moved"));
      const expectations = { statusCode, headers: { location }, bodyPart: "moved" };
      const checkResult = await observeTarget(`${server.origin}/`, expectations);
      assert.equal(checkResult.output, output);
      assert.equal(checkResult.condition, condition);
      assert.equal(server.visits, 1);
    });
  }
});

Deno.test("askFollowing() follows redirects if any status is accepted", async () => {
  await using server = startPaths({ "/old": response(302, { location: "new" }), "/new": response(503) });
  const checkResult = await observeTarget(`${server.origin}/old`, { statusCode: null });
  assert.equal(checkResult.output, `status is 503 (redirected to ${server.origin}/new)`);
  assert.equal(checkResult.condition, "ok");
});

Deno.test("askFollowing() resolves a Location relative to its own URL", async (t) => {
  const rows = [
    { location: "new", then: "/a/new" },
    { location: "/new", then: "/new" },
    { location: "../new?b=c", then: "/new?b=c" },
    { location: "?b=c", then: "/a/old?b=c" },
    { location: "new#part", then: "/a/new" },
    { location: "/grün", then: "/gr%C3%BCn" },
    { location: "/with space", then: "/with%20space" },
  ];
  for (const { location, then } of rows) {
    await t.step(location, async () => {
      await using server = startPaths({ "/a/old": response(302, { location }), [then]: response(200) });
      const checkResult = await observeTarget(`${server.origin}/a/old`);
      assert.deepEqual(asked(server), ["GET /a/old", `GET ${then}`]);
      assert.equal(checkResult.condition, "ok");
    });
  }
});

Deno.test("askFollowing() returns the error of an invalid Location", async (t) => {
  const rows = [
    { name: "empty", location: "", output: "redirect (status 302) has an empty Location" },
    {
      name: "no address",
      location: "http://[half",
      output: "redirect (status 302) has a Location that is not a URL",
    },
    {
      name: "another scheme",
      location: "file:///etc/passwd",
      output: 'redirect (status 302) leads to "file:", expected http: or https:',
    },
    {
      name: "data in the URL",
      location: "data:text/plain,all%20is%20well",
      output: 'redirect (status 302) leads to "data:", expected http: or https:',
    },
  ];
  for (const { name, location, output } of rows) {
    await t.step(name, async () => {
      await using server = startAnswering(response(302, { location }));
      for (const statusCode of [200, null]) {
        const checkResult = await observeTarget(`${server.origin}/`, { statusCode });
        assert.equal(checkResult.output, output);
        assert.equal(checkResult.condition, "critical");
        assert.deepEqual(checkResult.metrics, { status: 302 });
      }
      await server.untilLeft();
    });
  }
  await t.step("missing", async () => {
    await using server = startAnswering(response(302));
    const checkResult = await observeTarget(`${server.origin}/`);
    assert.equal(checkResult.output, "status is 302 without a Location, expected 200");
    assert.equal((await observeTarget(`${server.origin}/`, { statusCode: null })).output, "status is 302");
  });
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
    const checkResult = await observeTarget(`${server.origin}/0`);
    assert.equal(checkResult.output, `status is 200 (redirected to ${server.origin}/10)`);
    assert.equal(server.visits, 11);
  });
  await t.step("eleven", async () => {
    await using server = startChain(11);
    const checkResult = await observeTarget(`${server.origin}/0`, { asWarning: true });
    assert.equal(checkResult.output, `more than 10 redirects (redirected to ${server.origin}/10)`);
    assert.equal(checkResult.condition, "warning");
    assert.deepEqual(checkResult.metrics, { status: 302 });
    assert.equal(server.visits, 11);
    await server.untilLeft();
  });
  await t.step("a loop", async () => {
    await using server = startPaths({
      "/": response(302, { location: "/a" }),
      "/a": response(302, { location: "/b" }),
      "/b": response(307, { location: "/a#again" }),
    });
    const checkResult = await observeTarget(`${server.origin}/`);
    assert.equal(
      checkResult.output,
      `redirect loop, left after 10 redirects (redirected to ${server.origin}/b)`,
    );
    assert.equal(server.visits, 11);
    await server.untilLeft();
  });
});

Deno.test("askFollowing() keeps credentials to their origin", async (t) => {
  const authorization = (server: TestServer) =>
    server.heads.map((head) => /^authorization: (.*)\r$/im.exec(head)?.[1] ?? "none");
  const own = `Basic ${btoa("user:password")}`;
  const withCredentials = (server: TestServer) => `http://user:password@127.0.0.1:${server.port}/old`;
  await t.step("a relative Location", async () => {
    await using server = startPaths({ "/old": response(302, { location: "/new" }), "/new": response(200) });
    const checkResult = await observeTarget(withCredentials(server));
    assert.deepEqual(authorization(server), [own, own]);
    assert.equal(checkResult.output, `status is 200 (redirected to ${server.origin}/new)`);
  });
  await t.step("an absolute Location of the same origin", async () => {
    await using server = startServer(async (visitor) => {
      await visitor.readHead();
      const location = `${server.origin}/new`;
      await visitor.send(visitor.number === 0 ? response(302, { location }) : response(200));
    });
    await observeTarget(withCredentials(server));
    assert.deepEqual(authorization(server), [own, own]);
  });
  for (const relative of [false, true]) {
    await t.step(`another origin, named ${relative ? "without" : "with"} its scheme`, async () => {
      await using other = startAnswering(response(200));
      const location = `${relative ? other.origin.slice("http:".length) : other.origin}/new`;
      await using server = startAnswering(response(302, { location }));
      const checkResult = await observeTarget(withCredentials(server));
      assert.deepEqual(authorization(server), [own]);
      assert.deepEqual(authorization(other), ["none"]);
      assert.equal(checkResult.output, `status is 200 (redirected to ${other.origin}/new)`);
    });
  }
  await t.step("there and back", async () => {
    await using server = startServer(async (visitor) => {
      await visitor.readHead();
      const location = `${other.origin}/`;
      await visitor.send(visitor.number === 0 ? response(302, { location }) : response(200));
    });
    await using other = startServer(async (visitor) => {
      await visitor.readHead();
      await visitor.send(response(302, { location: `${server.origin}/new` }));
    });
    await observeTarget(withCredentials(server));
    assert.deepEqual(authorization(server), [own, "none"]);
  });
});
