/**
 * Tests that take minutes and are therefore not part of the suite. Each part prints numbers, and fails if one is out
 * of range.
 *
 *     deno task soak
 *     deno task soak rate memory
 *     deno task soak --seconds 10 --rounds 20 rate kill
 *     deno task soak --short kill configs
 *     deno task soak --rounds 100 --seed 7 campaigns
 *     deno task soak full                   # the tests that have a short form, in full
 */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { soakConfigs } from "./soak/configs.ts";
import { soakEndpoint } from "./soak/endpoint.ts";
import { soakMemory } from "./soak/memory.ts";
import { soakRate } from "./soak/rate.ts";
import { soakServices } from "./soak/services.ts";
import { SOURCE_FLAGS } from "../testing/source.ts";
import { CAMPAIGNS, SEED } from "../testing/seed.ts";
import { startChild } from "../testing/tools.ts";
import { FULL_FORM } from "../testing/full_form.ts";

const PROJECT = new URL("..", import.meta.url);

interface SoakOptions {
  /** How long the checks of `rate` run, and those of each scenario of `endpoint`. */
  readonly seconds: number;
  /** The duration of `services` and `shared`. */
  readonly minutes: number;
  /** The number of kills of `kill` and of seeds of `chaos` and `campaigns`. */
  readonly rounds: number;
  /** The first seed of `chaos` and `campaigns`, and that of `shared`. */
  readonly seed: number;
  /** Steps of the condition machine. */
  readonly steps: number;
  /** Runs of checks on a fake clock. */
  readonly runs: number;
}

const PARTS: Readonly<Record<string, (options: SoakOptions) => Promise<void>>> = {
  rate: soakRate,
  endpoint: soakEndpoint,
  memory: soakMemory,
  services: soakServices,
  kill: ({ rounds }) =>
    runTests(["tests/life/kill_test.ts"], {
      variables: { KILL_ROUNDS: rounds },
      minutesMax: 10 + rounds / 3,
    }),
  chaos: (options) =>
    runSeeds(["tests/simulation/kills_test.ts", "tests/simulation/members_chaos_test.ts"], options),
  shared: ({ minutes, seed }) =>
    runTests(["tests/life/members_faults_test.ts"], {
      variables: { MEMBER_FAULTS_SECONDS: 60 * minutes, MEMBER_FAULTS_SEED: seed },
      minutesMax: 10 + 2 * minutes,
    }),
  campaigns: async (options) => await runSeeds(await testsWith(/\bcampaign\(/), options),
  configs: async ({ rounds }) => {
    await soakConfigs();
    await runTests(["tests/config/hostile_configs_test.ts"], {
      variables: { CONFIG_ROUNDS: 100 * rounds },
      minutesMax: 10 + rounds / 6,
    });
  },
  faults: () =>
    runTests(["tests/checks/faults_test.ts", "tests/channels/faults_test.ts", "tests/life/faults_test.ts"], {
      variables: { FAULT_PLACES: Number.MAX_SAFE_INTEGER },
      minutesMax: 240,
    }),
  full: () => runTests(FULL_FORM_FILES, { variables: { [FULL_FORM]: 1 }, minutesMax: 60 }),
};

/** The tests that have a short form and a full one. */
const FULL_FORM_FILES: readonly string[] = [
  "tests/checks/faults_test.ts",
  "tests/cli/formats",
  "tests/shared/texts_test.ts",
  "tests/config/cron_times_test.ts",
  "tests/state/postgres/protocol_fuzz_test.ts",
  "tests/config/load_test.ts",
  "tests/life/state_test.ts",
  "tests/page/browser_test.ts",
  "tests/state/alongside_test.ts",
  "tests/system/http/http_servers_test.ts",
];

/** Seeds stay short. */
const SEED_END = 1e9;

const USAGE = `deno task soak [NAME...] [OPTION...]

Parts, all unless some are named: ${Object.keys(PARTS).join(", ")}

  full runs the full form of the tests that have a short one: ten years of cron schedules, 500 scripts, a page of
  1,000 checks, 10,000 connections, texts of a megabyte, configurations of 20 MB, a flood of 1 GB

  --short       the same as --minutes 1 --rounds 2
  --minutes N   duration of services and of shared (60)
  --rounds N    how much chaos, configs, kill and campaigns do (200)
  --seed N      the seed of shared, and the first one of chaos and campaigns, one more each round (some number,
                which it prints)
  --seconds N   duration of rate and of each scenario of endpoint (60)
  --steps N     how many steps of the condition machine memory does (1000000)
  --runs N      how much memory does (100000)

What was found is printed; the exit code is 1 where something is not as it should be.`;

/** Soaks the named parts, or all; returns the exit code. */
async function soak(names: readonly string[], options: SoakOptions): Promise<number> {
  const unknown = names.find((name) => PARTS[name] === undefined);
  if (unknown !== undefined) {
    console.error(
      `soak: error: there is no part "${unknown}", expected some of ${Object.keys(PARTS).join(", ")}`,
    );
    return 64;
  }
  let exitCode = 0;
  for (const [name, run] of Object.entries(PARTS)) {
    if (names.length > 0 && !names.includes(name)) continue;
    console.log(name);
    const startedMs = performance.now();
    try {
      await run(options);
      console.log(`  done in ${((performance.now() - startedMs) / 1000).toFixed(0)} s`);
    } catch (error) {
      console.error(`soak: error: ${name}: ${error instanceof Error ? error.message : String(error)}`);
      exitCode = 1;
    }
  }
  return exitCode;
}

/** Runs all of the campaigns of some test modules, each time with another seed. */
async function runSeeds(files: readonly string[], { rounds, seed }: SoakOptions): Promise<void> {
  console.log(`  seeds ${seed} to ${seed + rounds - 1}`);
  for (let round = 0; round < rounds; round++) {
    await runTests(files, { variables: { [SEED]: seed + round, [CAMPAIGNS]: "full" }, minutesMax: 30 });
  }
}

/** Returns the test modules that have a text, or name a module that does or names one. */
async function testsWith(text: RegExp): Promise<readonly string[]> {
  const modules = await Array.fromAsync(modulesIn(new URL("tests/", PROJECT)));
  const found = new Set(modules.filter((module) => text.test(module.text)).map(({ url }) => url));
  for (const used of found) {
    modules.filter(({ uses }) => uses.includes(used)).forEach(({ url }) => found.add(url));
  }
  return [...found].filter((url) => url.endsWith("_test.ts")).map((url) => url.slice(PROJECT.href.length))
    .sort();
}

interface TestModule {
  readonly url: string;
  readonly text: string;
  /** The URLs of the modules that it names by their relative path: it imports or starts them. */
  readonly uses: readonly string[];
}

async function* modulesIn(directory: URL): AsyncGenerator<TestModule> {
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const url = new URL(isDirectory ? `${name}/` : name, directory);
    if (isDirectory) yield* modulesIn(url);
    else if (name.endsWith(".ts")) {
      const text = await Deno.readTextFile(url);
      const uses = [...text.matchAll(/"(\.[^"]+\.ts)"/g)].map(([, path = ""]) => new URL(path, url).href);
      yield { url: url.href, text, uses };
    }
  }
}

interface TestRun {
  /** Environment variables with the task and its size. */
  readonly variables: Readonly<Record<string, number | string>>;
  /** Longer than the timeouts of the tests, so that these report a hang themselves. */
  readonly minutesMax: number;
}

async function runTests(files: readonly string[], { variables, minutesMax }: TestRun): Promise<void> {
  const env = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, String(value)]));
  const tests = `the tests of ${files.join(" and ")}`;
  const { success, signal } = await startChild(
    Deno.execPath(),
    ["test", "--no-check", "--allow-all", ...SOURCE_FLAGS, ...files],
    {
      cwd: fileURLToPath(PROJECT),
      env,
      stdin: "null",
      limitMs: Math.ceil(minutesMax) * 60_000,
    },
  ).status;
  if (signal === "SIGKILL") throw new Error(`${tests} did not end within ${Math.ceil(minutesMax)} minutes`);
  if (!success) throw new Error(`${tests} failed`);
}

function readOptions(
  args: readonly string[],
): { readonly names: readonly string[]; readonly options: SoakOptions } | null {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      help: { type: "boolean" },
      short: { type: "boolean", default: false },
      seconds: { type: "string", default: "60" },
      seed: { type: "string", default: String(1 + Math.floor(Math.random() * SEED_END)) },
      minutes: { type: "string" },
      rounds: { type: "string" },
      steps: { type: "string", default: "1000000" },
      runs: { type: "string", default: "100000" },
    },
  });
  if (values.help) return null;
  const [minutes, rounds] = values.short ? ["1", "2"] : ["60", "200"];
  const counts = { minutes, rounds, ...values };
  const count = (name: keyof typeof counts): number => {
    const value = Number(counts[name]);
    if (Number.isSafeInteger(value) && value > 0) return value;
    throw new RangeError(`--${name} is "${counts[name]}", expected a whole number of 1 or more`);
  };
  const options = {
    seconds: count("seconds"),
    seed: count("seed"),
    minutes: count("minutes"),
    rounds: count("rounds"),
    steps: count("steps"),
    runs: count("runs"),
  };
  return { names: positionals, options };
}

if (import.meta.main) {
  try {
    const order = readOptions(Deno.args);
    if (order === null) console.log(USAGE);
    else Deno.exitCode = await soak(order.names, order.options);
  } catch (error) {
    console.error(`soak: error: ${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    Deno.exitCode = 64;
  }
}
