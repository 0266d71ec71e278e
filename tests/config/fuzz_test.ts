import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { shortOrFull } from "../../testing/full_form.ts";
import { type Json, replaceNth } from "./damages.ts";
import { generatedConfigs } from "./configs.ts";
import { loadAnything } from "./load_anything.ts";
import { campaign } from "../../testing/seed.ts";

Deno.test("loadConfig() never prints the value of a placeholder", async () => {
  const SECRET = "sw0rdf1sh";
  const values = fc.constantFrom(
    SECRET,
    `${SECRET}://h`,
    `5 ${SECRET}`,
    `${SECRET} ${SECRET}`,
    `${SECRET}@`,
    `${SECRET}:25`,
    `http://${SECRET} /`,
    `a\0${SECRET}`,
    `\n${SECRET}`,
  );
  const written = fc.constantFrom("${env:X}", "a${env:X}", "${file:/x}", "$${${env:X}}", "${env:X}${env:X}");
  await fc.assert(
    fc.asyncProperty(
      generatedConfigs("a"),
      fc.array(fc.tuple(fc.nat(), written), { minLength: 1, maxLength: 3 }),
      values,
      fc.constantFrom("monitor", "a", "b"),
      async ({ config }, places, value, shape) => {
        const isText = (found: Json) => typeof found === "string";
        const whole = places.reduce(
          (before, [index, text]) => replaceNth(before, index, text, isText),
          config as Json,
        );
        const options = { environment: { X: value }, files: { "/x": value }, mode: 0o666, shape } as const;
        for (const text of await loadAnything(JSON.stringify(whole), options)) {
          assert.ok(!text.includes(SECRET), text);
        }
      },
    ),
    { numRuns: shortOrFull(campaign(300), 10_000) },
  );
});
