import assert from "node:assert/strict";
import { SOURCE_FLAGS } from "../../../testing/source.ts";
import { requiresTools, runChild } from "../../../testing/tools.ts";

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
    console.log(zone, "of", Temporal.Now.timeZoneId());`;
  const rows: Readonly<Record<string, RegExp>> = {
    // The runtime names this zone Etc/Unknown: see unknown_time_zone.ts if this fails.
    "": /^UTC of Etc\/Unknown$/,
    "Asia/Tokyo": /^Asia\/Tokyo of/,
    ":": /^UTC of/,
    "no/such_zone": /^UTC of/,
    ":Asia/Tokyo": /^Asia\/Tokyo of/,
  };
  for (const [index, [zone, expected]] of Object.entries(rows).entries()) {
    const run = async (): Promise<void> => assert.match(await printed(zone, program), expected);
    // Each is a process.
    await t.step({ name: JSON.stringify(zone), fn: run, ...index < 2 ? {} : requiresTools("time") });
  }
});
