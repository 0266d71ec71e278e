import assert from "node:assert/strict";
import { run } from "../../../src/cli/run.ts";
import type { OutgoingRequest } from "../../../src/domain/connections.ts";
import { createMemorySystem } from "../../../testing/memory_system.ts";
import { testTable } from "../../support/rows.ts";

/** Sends a test to a URL, with no config anywhere. */
async function sendTo(url: string) {
  const sent: OutgoingRequest[] = [];
  const system = createMemorySystem({ environment: { TOKEN: "from-the-environment" } });
  const send = (request: OutgoingRequest) => {
    sent.push(request);
    return Promise.reject(new TypeError("error sending request: client error (Connect)"));
  };
  const code = await run(["notify", "--to", url], {
    ...system,
    workingDirectory: "/nowhere",
    requests: { ...system.requests, send },
  });
  return { code, sent, system };
}

Deno.test("monitor notify --to sends to the provider of a URL", async (t) => {
  const table = `
    https://ntfy.sh/my-alerts                          | https://ntfy.sh/ | "topic":"my-alerts"
    https://ntfy.sh/my-alerts?token=tk                 | https://ntfy.sh/ | Bearer tk
    ntfy:my-alerts                                     | https://ntfy.sh/ | "topic":"my-alerts"
    ntfy:http://127.0.0.1:8080/base/my-alerts          | http://127.0.0.1:8080/base/ | "topic":"my-alerts"
    https://hooks.slack.com/services/T0/B0/x           | https://hooks.slack.com/services/T0/B0/x | "text":"TEST
    slack:https://slack.example.org/x?y=%2F            | https://slack.example.org/x?y=%2F | "text":"TEST
    https://discord.com/api/webhooks/1/x?thread_id=2   | https://discord.com/api/webhooks/1/x?thread_id=2 | "content":
    teams:https://h.example/w?sig=a&sv=1.0             | https://h.example/w?sig=a&sv=1.0 | AdaptiveCard
    telegram:?token=1:a&chat=-12                       | https://api.telegram.org/bot1:a/sendMessage | "chat_id":"-12"
    https://events.eu.pagerduty.com?integration_key=k  | https://events.eu.pagerduty.com/v2/enqueue | "routing_key":"k"
    gotify:https://h.example?token=\${env:TOKEN}       | https://h.example/message | from-the-environment
    matrix:https://h.example?token=a&room=%21r:example | https://h.example/_matrix/client/v3/rooms/!r%3Aexample/send/ | Bearer a`;
  await testTable(t, table, async (url, target, part) => {
    const { code, sent: [request, ...others], system } = await sendTo(url);
    assert.equal(code, 69);
    assert.equal(others.length, 0);
    assert.ok(request !== undefined);
    assert.ok(request.target.startsWith(target), request.target);
    assert.ok(JSON.stringify(request.headers).includes(part) || request.body?.includes(part), part);
    assert.doesNotMatch(system.stdout.text() + system.stderr.text(), /from-the-environment/);
    // It needs the network, and nothing of a config or a state.
    assert.deepEqual([...system.dropped].toSorted(), ["env", "read", "run", "sys", "write"]);
  });
});
