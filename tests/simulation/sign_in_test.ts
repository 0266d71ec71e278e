/** Attacks on the sign-in and the forms of the live page. Nothing may be done, and the attacker learns nothing. */
import assert from "node:assert/strict";
import { type Scenario, simulate, type World } from "../../testing/simulation/mod.ts";
import { TOKEN, Visitor } from "./visitor.ts";

const ORIGIN = "http://127.0.0.1:9797";
const LISTEN = { address: "127.0.0.1:9797", token: TOKEN, actions: true } as const;
const CONFIG = { listen: LISTEN, checks: { web: { tags: ["site"] }, db: {} } } as const;
const MORNING = { start: "2026-03-02 09:58", config: CONFIG } as const satisfies Scenario;
const MINUTE_MS = 60_000;

async function signedIn(world: World, visitor = new Visitor(world)): Promise<Visitor> {
  assert.equal((await visitor.signIn()).status, 303);
  return visitor;
}

async function silences(world: World): Promise<readonly { readonly by: string }[]> {
  return JSON.parse((await world.machine().run("status", "--format", "json")).stdout).silences;
}

simulate("forged forms do nothing", {
  ...MORNING,
  actions: {
    "10:00": async (world) => {
      const ada = await signedIn(world);
      const bob = await signedIn(world);
      const token = await ada.tokenOf("web");
      const form = { check: "web", do: "silence 1 hour", token };
      const rows: Readonly<
        Record<string, readonly [Record<string, string>, Record<string, string>, number]>
      > = {
        "another origin": [{}, { origin: "https://evil.example" }, 403],
        "another port": [{}, { origin: "http://127.0.0.1:9798" }, 403],
        "an origin that begins alike": [{}, { origin: `${ORIGIN}.evil.example` }, 403],
        "no origin": [{}, { origin: "-" }, 403],
        "the origin of a sandbox": [{}, { origin: "null" }, 403],
        "no host": [{}, { host: "-" }, 403],
        "another site": [{}, { "sec-fetch-site": "cross-site" }, 403],
        "another port of the site": [{}, { "sec-fetch-site": "same-site" }, 403],
        "no token": [{ token: "" }, {}, 303],
        "the token of another session": [{ token: await bob.tokenOf("web") }, {}, 303],
        "the token of another check": [{ token: await ada.tokenOf("db") }, {}, 303],
        "the token of the config": [{ token: TOKEN }, {}, 303],
        "no session": [{}, { cookie: "-" }, 403],
        "a session that is another's id": [{}, { cookie: `monitor_9797=${TOKEN}` }, 403],
        "the cookie of another listener": [{}, { cookie: ada.cookie.replace("9797", "9798") }, 403],
        "the token in a header, without a session": [
          {},
          { cookie: "-", authorization: `Bearer ${TOKEN}` },
          403,
        ],
        "an unknown check": [{ check: "absent" }, {}, 404],
        "a malformed check": [{ check: "%zz" }, {}, 404],
        "another type": [{}, { "content-type": "text/plain" }, 415],
        "a large body": [{ note: "x".repeat(17_000) }, {}, 413],
        "a body without a length": [{}, { "content-length": "-" }, 413],
        "a body with another length": [{}, { "content-length": "1e99" }, 413],
      };
      for (const [name, [fields, headers, status]] of Object.entries(rows)) {
        assert.equal((await ada.post("/act", { ...form, ...fields }, headers)).status, status, name);
      }
      const query = new URLSearchParams(form).toString();
      assert.equal((await ada.open(`/act?${query}`)).status, 404, "a link");
      assert.match(
        (await ada.open("/checks/web")).body,
        /role="alert"><p>Nothing was done: the page was out/,
      );
      assert.deepEqual(await silences(world), []);
      // None of that ended the session or used up the token.
      assert.equal((await ada.post("/act", form)).status, 303);
      assert.equal((await silences(world)).length, 1);
    },
  },
});

simulate("a token of a form works once, and a second tap repeats nothing", {
  ...MORNING,
  actions: {
    "10:00": async (world) => {
      const ada = await signedIn(world);
      const token = await ada.tokenOf("db");
      const form = { check: "db", do: "silence 1 hour", token };
      assert.equal((await ada.post("/act", form)).status, 303);
      await ada.act("db", "end silence");
      assert.equal((await ada.post("/act", form)).status, 303, "older than the last one");
      assert.match((await ada.open("/checks/db")).body, /role="alert"><p>Nothing was done: the page was out/);
      assert.deepEqual(await silences(world), []);
      const last = { check: "db", do: "run", token: await ada.tokenOf("db") };
      assert.equal((await ada.post("/act", last)).status, 303);
      const runs = world.runs.get("db");
      await world.advance(2_000);
      assert.equal((await ada.post("/act", last)).status, 303, "a second tap");
      assert.match((await ada.open("/checks/db")).body, /The check runs now/);
      assert.equal((await ada.post("/act", { ...last, do: "silence 1 hour" })).status, 303);
      assert.match((await ada.open("/checks/db")).body, /role="alert"><p>Nothing was done: the page was out/);
      await world.advance(2_000);
      assert.equal(world.runs.get("db"), (runs ?? 0) + 1);
      assert.deepEqual(await silences(world), []);
    },
  },
});

simulate("the form to sign in accepts the token only from its own page, and with a name", {
  ...MORNING,
  actions: {
    "10:00": async (world) => {
      const form = { by: "Ada", token: TOKEN };
      const rows: Readonly<
        Record<string, readonly [Record<string, string>, Record<string, string>, number]>
      > = {
        "another origin": [{}, { origin: "https://evil.example" }, 403],
        "no origin": [{}, { origin: "-" }, 403],
        "another site": [{}, { "sec-fetch-site": "cross-site" }, 403],
        "no token": [{ token: "" }, {}, 403],
        "the beginning of the token": [{ token: TOKEN.slice(0, -1) }, {}, 403],
        "more than the token": [{ token: `${TOKEN}x` }, {}, 403],
        "no name": [{ by: " \r\n\t\u202e" }, {}, 400],
        "another type": [{}, { "content-type": "multipart/form-data" }, 415],
        "a large body": [{ by: "x".repeat(17_000) }, {}, 413],
      };
      for (const [name, [fields, headers, status]] of Object.entries(rows)) {
        const visitor = new Visitor(world);
        const response = await visitor.post("/sign-in", { ...form, ...fields }, headers);
        assert.equal(response.status, status, name);
        assert.equal(response.headers["set-cookie"], undefined, name);
        assert.ok(!response.body.includes(TOKEN), name);
      }
      const visitor = new Visitor(world);
      assert.equal(
        (await visitor.open(`/sign-in?${new URLSearchParams(form)}`)).headers["set-cookie"],
        undefined,
      );
      const { headers } = await visitor.post("/sign-in", {
        by: 'Eve\r\nSet-Cookie: a=b\r\n\r\n<b>"',
        token: TOKEN,
        check: "..%2F..%2F%2Fevil.example",
      });
      assert.equal(headers["location"], "checks/..%2F..%2F%2Fevil.example#acknowledge");
      assert.match(
        headers["set-cookie"] ?? "",
        /^monitor_9797=[\da-f-]{72}; HttpOnly; SameSite=Strict; Max-Age=86400$/,
      );
      const page = await visitor.open("/checks/db");
      assert.match(page.body, /Signed in as Eve Set-Cookie: a=b &lt;b&gt;&quot;/);
      assert.equal(page.headers["cache-control"], "no-store");
      assert.equal(page.headers["etag"], undefined);
      for (const text of [...Object.values(page.headers), page.body]) {
        assert.ok(!text.includes(TOKEN) && !text.includes(visitor.cookie.split("=")[1] ?? ""));
      }
    },
  },
});

simulate("1,000 attempts from one address end after ten, and those from many after a hundred", {
  ...MORNING,
  log: ["too many wrong tokens, the last one from 198.51.100.1", "wrong token from 2001:db8::0"],
  actions: {
    "10:00": async (world) => {
      const ada = await signedIn(world, new Visitor(world, { address: "192.0.2.7" }));
      const statuses = new Map<number, number>();
      const attempt = async (index: number, options: { readonly address: string }): Promise<void> => {
        const { status } = await new Visitor(world, options).signIn("Eve", `guess ${index} of a token`);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      };
      for (let index = 0; index < 500; index++) await attempt(index, { address: "198.51.100.1" });
      assert.deepEqual([...statuses], [[403, 10], [429, 490]]);
      const eve = new Visitor(world, { address: "198.51.100.1" });
      const right = await eve.signIn("Eve");
      assert.equal(right.status, 429, "the right token is no different");
      assert.equal(right.headers["set-cookie"], undefined);
      assert.equal(Number(right.headers["retry-after"]) <= 900, true);
      const header = { authorization: `Bearer ${TOKEN}` };
      assert.equal((await eve.open("/api/v1/status", header)).status, 429, "in a header neither");
      // Addresses of one network are one client.
      for (let index = 0; index < 100; index++) await attempt(index, { address: `2001:db8::${index}` });
      assert.deepEqual([...statuses], [[403, 20], [429, 580]]);
      for (let index = 0; index < 400; index++) await attempt(index, { address: `203.0.113.${index % 250}` });
      assert.deepEqual([...statuses], [[403, 100], [429, 900]]);
      assert.equal((await new Visitor(world, { address: "192.0.2.99" }).signIn()).status, 429);
      // Who is known goes on, and is signed in.
      assert.match(await ada.act("db", "silence 1 hour"), /^Silenced until/);
      assert.equal((await new Visitor(world, { address: "192.0.2.7" }).signIn()).status, 303);
      await world.advance(15 * MINUTE_MS);
      assert.equal((await eve.signIn("Eve")).status, 303);
    },
  },
});

simulate("wrong tokens in headers are attempts, too", {
  ...MORNING,
  actions: {
    "10:00": async (world) => {
      const eve = new Visitor(world);
      for (let index = 0; index < 10; index++) {
        const headers = {
          authorization: index % 2 === 0 ? `Bearer guess${index}` : `Basic ${btoa(`x:${index}`)}`,
        };
        assert.equal((await eve.open("/metrics", headers)).status, 401);
      }
      assert.equal((await eve.open("/metrics", { authorization: `Bearer ${TOKEN}` })).status, 429);
      assert.equal((await eve.signIn()).status, 429);
      assert.equal((await eve.open("/healthz")).status, 200);
    },
  },
});

simulate("a session ends by signing out, after a day, and at a reload with another token", {
  ...MORNING,
  config: { ...CONFIG, defaults: { schedule: { regular_interval: "1 hour" } } },
  until: "Tue 14:00",
  actions: {
    "10:00": async (world) => {
      const ada = await signedIn(world);
      const { body } = await ada.open("/");
      const [, token = ""] = /action="sign-out">.*?name=token value="([^"]+)"/.exec(body) ?? [];
      const stolen = ada.cookie;
      const elsewhere = { origin: "https://evil.example" };
      assert.equal((await ada.post("/sign-out", { token }, elsewhere)).status, 403);
      assert.equal((await ada.post("/sign-out", { token: "x" })).status, 303);
      assert.match((await ada.open("/")).body, /Signed in as Ada/);
      const { headers } = await ada.post("/sign-out", { token });
      assert.match(headers["set-cookie"] ?? "", /^monitor_9797=; .*Max-Age=0/);
      ada.cookie = stolen;
      assert.equal((await ada.open("/")).status, 303);
      assert.equal((await ada.post("/act", { check: "db", token, do: "silence 1 hour" })).status, 403);
    },
    "10:10": async (world) => {
      const ada = await signedIn(world);
      const { files } = world.machine();
      const path = "/etc/monitor/monitor.jsonc";
      const text = new TextDecoder().decode(files.read(path));
      const reload = async (next: string): Promise<void> => {
        files.put(path, next);
        world.machine().service?.signal("SIGHUP");
        await world.advance(5_000);
      };
      await reload(text.replace('"checks"', '"page": { "title": "Shop" }, "checks"'));
      assert.equal((await ada.open("/")).status, 200, "the token is the same");
      await reload(text.replace(TOKEN, "another-token-of-the-config"));
      assert.equal((await ada.open("/")).status, 303);
      await reload(text);
      assert.equal((await ada.open("/")).status, 303, "it stays ended");
      const bob = await signedIn(world);
      await reload(text.replace('"actions": true', '"actions": false'));
      assert.equal((await bob.open("/")).status, 401);
      assert.equal((await bob.signIn()).status, 405);
      await reload(text);
      assert.equal((await bob.open("/")).status, 303);
    },
    "10:20": async (world) => {
      const ada = await signedIn(world);
      await world.advance(24 * 60 * MINUTE_MS - 60_000);
      assert.equal((await ada.open("/")).status, 200);
      await world.advance(120_000);
      assert.equal((await ada.open("/")).status, 303);
      assert.equal((await ada.post("/act", { check: "db", do: "silence 1 hour" })).status, 403);
    },
  },
});

simulate("a form whose body arrives after a reload is judged by the new config", {
  ...MORNING,
  actions: Object.fromEntries(
    Object.entries({
      "10:00": { before: TOKEN, after: "another-token-of-the-config" },
      "10:10": { before: '"actions": true', after: '"actions": false' },
    }).map(([time, { before, after }]) => [time, async (world: World) => {
      const { files } = world.machine();
      const path = "/etc/monitor/monitor.jsonc";
      const text = new TextDecoder().decode(files.read(path));
      const reload = (next: string): void => {
        files.put(path, next);
        world.machine().service?.signal("SIGHUP");
      };
      const slow = new Visitor(world, { bodyMs: 10_000 });
      world.timeline.after(2_000, () => reload(text.replace(before, after)));
      const response = await slow.signIn();
      assert.deepEqual([response.status, response.headers["set-cookie"]], [403, undefined], after);
      reload(text);
      await world.advance(5_000);
      assert.equal((await slow.open("/")).status, 303);
    }]),
  ),
});

simulate("a hundred sessions are kept, the newest ones", {
  ...MORNING,
  actions: {
    "10:00": async (world) => {
      const first = await signedIn(world);
      const second = await signedIn(world);
      for (let index = 0; index < 99; index++) await signedIn(world);
      assert.deepEqual([(await first.open("/")).status, (await second.open("/")).status], [303, 200]);
    },
  },
});

simulate("a public page has no forms, and no page of it can act", {
  ...MORNING,
  config: { ...CONFIG, listen: { ...LISTEN, public: ["site"] } },
  actions: {
    "10:00": async (world) => {
      const ada = await signedIn(world);
      await ada.act("web", "silence 1 hour", { note: "secret note" });
      const reader = new Visitor(world);
      for (const path of ["/", "/api/v1/status", "/api/v1/history/web"]) {
        const { status, body } = await reader.open(path);
        assert.equal(status, 200, path);
        assert.doesNotMatch(
          body,
          /method=post|name=token|Ada|192\.0\.2\.7|secret note|silenced|>Act</i,
          path,
        );
      }
      assert.match((await reader.open("/")).body, /<a href=sign-in>/);
      // No reader makes it render again, or learns from a filter what it hides.
      await world.advance(2_000);
      const page = await reader.open("/");
      const filtered = await reader.open("/?q=no_such_word&sort=slowest&since=x-1");
      assert.deepEqual([filtered.headers["etag"], filtered.body], [page.headers["etag"], page.body]);
      // The page of a check is never public, and one that is hidden is like none at all.
      for (const name of ["web", "db", "none"]) {
        const { status, headers } = await reader.open(`/checks/${name}`);
        assert.deepEqual([status, headers["location"]], [303, `../sign-in?check=${name}`]);
      }
      const form = { check: "web", do: "silence 4 hours", token: await ada.tokenOf("web") };
      assert.equal((await reader.post("/act", form)).status, 403);
      assert.equal((await silences(world)).length, 1);
    },
  },
});

simulate("without actions there are neither forms nor a form to sign in", {
  ...MORNING,
  config: { ...CONFIG, listen: { address: LISTEN.address, token: TOKEN, public: ["site"] } },
  actions: {
    "10:00": async (world) => {
      const visitor = new Visitor(world);
      for (const path of ["/sign-in", "/sign-out", "/act"]) {
        assert.equal((await visitor.post(path, { by: "Ada", token: TOKEN })).status, 405, path);
      }
      assert.equal((await visitor.open("/sign-in")).status, 401);
      const { body } = await visitor.open("/", { authorization: `Bearer ${TOKEN}` });
      assert.doesNotMatch(body, /method=post|sign-in/);
    },
  },
});

simulate("a link opens the form to sign in, then the page of its check", {
  ...MORNING,
  actions: {
    "10:00": async (world) => {
      const ada = new Visitor(world);
      const first = await ada.open("/checks/db");
      assert.deepEqual([first.status, first.headers["location"]], [303, "../sign-in?check=db"]);
      const form = await ada.open("/sign-in?check=db");
      assert.match(form.body, /<form [^>]*action=sign-in><input type=hidden name=check value="db">/);
      const { headers } = await ada.post("/sign-in", { by: "Ada", token: TOKEN, check: "db" });
      assert.equal(headers["location"], "checks/db#acknowledge");
      assert.match((await ada.open("/checks/db")).body, / id=acknowledge>/);
      // A link in a message on the web: the browser leaves a strict cookie out, and sends it with the next request.
      const cross = { "sec-fetch-site": "cross-site" };
      const led = await ada.open("/sign-in?check=db", { ...cross, cookie: "-" });
      assert.match(led.body, /<meta http-equiv=refresh content="0;url=sign-in\?check=db">/);
      const again = await ada.open("/sign-in?check=db", { "sec-fetch-site": "same-origin" });
      assert.equal(again.headers["location"], "checks/db#acknowledge");
    },
  },
});

simulate("only a trusted proxy decides about the address and the cookie", {
  ...MORNING,
  config: {
    ...CONFIG,
    page: { url: "https://status.example.org/monitor/" },
    listen: { ...LISTEN, trusted_proxies: ["192.0.2.1", "2001:db8::1"] },
  },
  actions: {
    "10:00": async (world) => {
      const headers = {
        "x-forwarded-for": "203.0.113.9, 198.51.100.7, 2001:DB8:0::1",
        "x-forwarded-proto": "http, https",
        origin: "https://status.example.org",
      };
      const proxied = new Visitor(world, { address: "192.0.2.1" });
      const trusted = await proxied.post("/sign-in", { by: "Ada", token: TOKEN }, headers);
      assert.match(trusted.headers["set-cookie"] ?? "", /; Secure$/);
      const token = await proxied.tokenOf("db");
      await proxied.post("/act", { check: "db", do: "silence 1 hour", token }, headers);
      const direct = new Visitor(world, { address: "192.0.2.2" });
      const untrusted = await direct.post("/sign-in", { by: "Bob", token: TOKEN }, headers);
      assert.doesNotMatch(untrusted.headers["set-cookie"] ?? "", /Secure/);
      const other = await direct.tokenOf("web");
      await direct.post("/act", { check: "web", do: "silence 2 hours", token: other }, headers);
      assert.deepEqual((await silences(world)).map(({ by }) => by), [
        "Ada from 198.51.100.7",
        "Bob from 192.0.2.2",
      ]);
      const bad = { ...headers, "x-forwarded-for": "evil\u0085<b>" };
      await proxied.post("/act", { check: "db", do: "run", token: await proxied.tokenOf("db") }, bad);
      const { stdout } = await world.machine().run("history", "db");
      assert.match(stdout, /run requested by Ada from 192\.0\.2\.1/);
    },
  },
});
