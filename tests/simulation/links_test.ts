/** With the URL of the page, each message has a link to the page of its check. */
import assert from "node:assert/strict";
import { simulate } from "../../testing/simulation/mod.ts";

const LINK = "https://status.example.org/monitor/checks/web%20%26%20more";

simulate("messages have a link to the page of their check", {
  start: "2026-03-02 21:55",
  config: {
    page: { url: "https://status.example.org/monitor" },
    channels: {
      chat: {},
      mail: { kind: "email" },
      call: { kind: "command" },
      short: { parameters: { body: { text: "{{check}} {{url}}" } } },
    },
    checks: { "web & more": {} },
  },
  results: { "web & more": "22:00 critical" },
  until: "22:05",
  expect: { chat: "any", mail: "any", call: "any", short: "any" },
  actions: {
    "22:03": async (world) => {
      const { code } = await world.machine().run("notify", "chat");
      assert.equal(code, 0);
    },
  },
  finally: (_, { messages }) => {
    const linkOf = (name: string) => messages.find(({ channel }) => channel === name)?.items[0]?.url;
    assert.deepEqual([linkOf("chat"), linkOf("call")], [LINK, LINK]);
    const [mail] = messages.flatMap((message) => message.mail ?? []);
    assert.match(mail?.text ?? "", new RegExp(`^Page: ${LINK}$`, "m"));
    const [short] = messages.filter(({ channel }) => channel === "short");
    assert.equal(short?.request?.body, JSON.stringify({ text: `web & more ${LINK}` }));
    const test = messages.filter(({ channel }) => channel === "chat").at(-1);
    assert.equal(test?.items[0]?.url, LINK);
  },
});
