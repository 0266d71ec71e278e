import assert from "node:assert/strict";
import { SOURCE_FLAGS } from "../../../testing/source.ts";
import { runChild } from "../../../testing/tools.ts";

const MODULE = new URL("../../../src/system/deno_workarounds/unknown_time_zone.ts", import.meta.url).href;

async function printed(zone: string, program: string): Promise<string> {
  const { stdout } = await runChild(Deno.execPath(), ["eval", ...SOURCE_FLAGS, program], {
    env: { TZ: zone, NO_COLOR: "1" },
  });
  return stdout.trim();
}

Deno.test("systemTimeZone() returns a zone that the runtime accepts, whatever TZ is", async (t) => {
  const program = `import { systemTimeZone } from ${JSON.stringify(MODULE)};
    const zone = systemTimeZone();
    Temporal.Now.zonedDateTimeISO(zone);
    console.log(zone);`;
  const rows: Readonly<Record<string, string>> = {
    "": "UTC",
    ":": "UTC",
    "no/such_zone": "UTC",
    "Asia/Tokyo": "Asia/Tokyo",
    ":Asia/Tokyo": "Asia/Tokyo",
  };
  for (const [zone, expected] of Object.entries(rows)) {
    await t.step(JSON.stringify(zone), async () => assert.equal(await printed(zone, program), expected));
  }
});

Deno.test("the runtime names the zone of an empty TZ Etc/Unknown: see unknown_time_zone.ts if this fails", async () => {
  assert.equal(await printed("", "console.log(Temporal.Now.timeZoneId())"), "Etc/Unknown");
});
