/** The channels of docs/recipes, and checks whose outputs try to break them. */
import { type Harness } from "../life/program.ts";
import { readPages } from "./pages.ts";

/** Every channel of the recipes by its name, as it is written there: `"slack": { … }`. */
export const CHANNEL_RECIPES: ReadonlyMap<string, string> = new Map(
  readPages().filter(({ path }) => path.startsWith("docs/recipes/"))
    .flatMap(({ blocks }) => blocks.filter(({ role }) => role === "named"))
    .map(({ text }) => [/^"(\w+)"/.exec(text)?.[1] ?? "", text]),
);

const encoder = new TextEncoder();

const MENTIONS = "@everyone @here @channel @all <!channel> <!here> <@U012AB3CD> <@&1> @room @user";

/** By the name of a check: an output of a target. */
export const HOSTILE_OUTPUTS: Readonly<Record<string, Uint8Array>> = {
  empty: encoder.encode(""),
  quotes: encoder.encode('"}], "x": \'\\" </b>\n& <b> `` ```\r\n{{detail}}\r\r\n${env:HOME} $(id)'),
  mentions: encoder.encode(MENTIONS),
  long: encoder.encode("x".repeat(10_000)),
  long_markup: encoder.encode("<&@".repeat(3000)),
  emoji: encoder.encode("\u{1f600}".repeat(2500)),
  control: new Uint8Array([
    ...encoder.encode("a\u0000b\u0001\u001b[31mc\u007fd\u0085\u2028\u202e"),
    // No UTF-8.
    ...[0x61, 0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0x62],
  ]),
  'a name / with ?&#"<@> signs': encoder.encode("x"),
};

/** Writes a config whose checks print these outputs, and fail while there is no file `up`. */
export async function writeHostileConfig(
  { directory, writeScript }: Pick<Harness, "directory" | "writeScript">,
  channels: Readonly<Record<string, string>>,
): Promise<void> {
  writeScript("print", 'cat "$1"; test -e up || exit 2');
  const checks: Record<string, unknown> = {};
  for (const [index, [name, output]] of Object.entries(HOSTILE_OUTPUTS).entries()) {
    await Deno.writeFile(`${directory}/output_${index}`, output);
    const parameters = { path: "./print", arguments: [`output_${index}`] };
    checks[name] = { kind: "script", description: MENTIONS, runbook: MENTIONS.repeat(20), parameters };
  }
  const names = JSON.stringify(Object.keys(channels));
  // Each output is to arrive as a message of its own.
  const unlimited = Object.values(channels).map((text) => text.replace('"20 per hour"', '"1000 per hour"'));
  await Deno.writeTextFile(
    `${directory}/monitor.json`,
    `{ "state": "state.sqlite", "page": { "url": "https://monitor.example.org/" },
       "listen": { "address": "127.0.0.1:9797", "token": "0123456789abcdef", "actions": true },
       "channels": { ${unlimited.join(",\n")} },
       "defaults": { "threshold": 1, "notifications": ${names} }, "checks": ${JSON.stringify(checks)} }`,
    { mode: 0o600 },
  );
}
