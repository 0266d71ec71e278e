/** The page of a check has the explanation of `monitor why`. */
import assert from "node:assert/strict";
import { simulate, type World } from "../../testing/simulation/mod.ts";

const TOKEN = "sesame-open-sesame";

/** Returns the lines of the explanation on a page. */
async function whyOf(world: World, name: string): Promise<readonly string[]> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const response = await world.machine().request(`/checks/${name}`, { headers });
  if (response === null) throw new Error("nothing listens");
  const { status, body } = response;
  assert.equal(status, 200, body);
  const [, part = ""] = /<details class=why>.*?<ul class=e>(.*?)<\/ul>/s.exec(body) ?? [];
  return part.split("<li>").slice(1).map((line) =>
    line.replaceAll(/<[^>]*>|\n/g, "").replaceAll("&quot;", '"')
  );
}

simulate("the page of a check explains why its channels were, or were not, notified", {
  start: "2026-03-02 21:55",
  config: {
    listen: { address: "127.0.0.1:9797", token: TOKEN, public: ["site"] },
    channels: { chat: {}, pager: { after: "30 minutes" } },
    checks: { web: { tags: ["site"] }, db: { tags: ["site"] } },
  },
  results: { web: "22:00 critical" },
  actions: {
    "21:59": async (world) => assert.deepEqual(await whyOf(world, "web"), []),
    "22:10": async (world) => {
      const [chat = "", pager = ""] = await whyOf(world, "web");
      assert.equal(chat, "chat notified of critical");
      assert.match(pager, /^pager problem not sent: "after": in (?:19|20) min/);
      const open = await world.machine().request("/checks/web");
      assert.equal(open?.status, 401, "the page of a check is not public");
      assert.deepEqual(await whyOf(world, "db"), []);
    },
    "22:11": "silence db --for 1h",
    "22:12": async (world) => {
      assert.deepEqual(await whyOf(world, "db"), [
        "chat nothing is due: it is ok",
        "pager nothing is due: it is ok",
      ]);
    },
  },
  until: "22:13",
  expect: { chat: ["22:00 problem web critical"] },
});
