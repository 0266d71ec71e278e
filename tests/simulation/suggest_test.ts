/** `monitor suggest dependencies`: from the outages of the past to the config. */
import assert from "node:assert/strict";
import { simulate } from "../../testing/simulation/mod.ts";

const PATH = "/etc/monitor/monitor.jsonc";
const CONFIG = `{
  // Everything is behind the router.
  "defaults": { "threshold": 1, "schedule": { "regular_interval": 60 }, "notifications": [] },
  "checks": {
    "router": { "kind": "script", "parameters": { "path": "/bin/probe" } },
    "switch": { "kind": "script", "parameters": { "path": "/bin/probe" } },
    "web": {
      "kind": "script", // the shop
      "parameters": { "path": "/bin/probe" }
    },
    "mail": {
      "depends_on": [
        "dns" // it sends
      ],
      "kind": "script",
      "parameters": { "path": "/bin/probe" }
    },
    "dns": { "kind": "script", "parameters": { "path": "/bin/probe" } },
    "other": { "kind": "script", "parameters": { "path": "/bin/probe" } }
  }
}
`;

function outages(...times: readonly string[]): string {
  return times.map((time) => `${time} critical, ${time.slice(0, 3)}${Number(time.slice(3)) + 20} ok`).join(
    ", ",
  );
}

simulate("suggest dependencies finds checks that failed with another one, and writes them", {
  start: "2026-03-02 21:55",
  config: CONFIG,
  results: {
    router: outages("22:00", "22:30", "23:00"),
    switch: outages("22:02", "22:32", "23:02", "00:02"),
    web: outages("22:04", "22:34", "23:04", "00:04", "01:00"),
    mail: outages("22:03", "22:33", "23:03", "23:30", "00:03"),
    other: outages("22:03", "22:33", "00:30"),
  },
  actions: {
    "01:30": async (world) => {
      const machine = world.machine();
      const text = (): string => new TextDecoder().decode(machine.files.read(PATH));
      const { code, stdout, stderr } = await machine.run("suggest", "dependencies");
      assert.equal(code, 0, stdout + stderr);
      assert.match(
        stdout,
        /^"mail": "depends_on": \["switch"\]\n {2}it failed in each outage of "switch", 4 times, which failed first\n/,
      );
      assert.match(
        stdout,
        /^"switch": "depends_on": \["router"\]\n {2}it failed in each outage of "router", 3 times/m,
      );
      assert.match(stdout, /^"web": "depends_on": \["switch"\]$/m);
      assert.doesNotMatch(stdout, /^"(?:other|router|dns)": |"web": "depends_on": \["router"\]/m);
      assert.equal((await machine.run("suggest", "dependencies")).stdout, stdout, "it is the same again");
      assert.match(
        (await machine.run("suggest", "dependencies", "--times", "5")).stdout,
        /^no suggestions: /,
      );
      assert.equal(text(), CONFIG);
      const written = await machine.run("suggest", "dependencies", "--write");
      assert.match(
        written.stdout,
        /^wrote 3 dependencies to .*monitor\.jsonc\nthe running monitor uses them after: monitor reload$/m,
        written.stderr,
      );
      assert.equal(
        text(),
        CONFIG.replace(
          '"switch": { "kind": "script", "parameters": { "path": "/bin/probe" } }',
          (line) => line.replace(/ }$/, ',\n      "depends_on": ["router"]\n    }'),
        )
          .replace(
            'shop\n      "parameters": { "path": "/bin/probe" }\n',
            (line) => line.replace(/\n$/, ',\n      "depends_on": ["switch"]\n'),
          )
          .replace('"dns" // it sends\n', '"dns", // it sends\n        "switch"\n'),
      );
      assert.match((await machine.run("suggest", "dependencies")).stdout, /^no suggestions: /);
    },
  },
  until: "01:40",
  expect: {},
});
