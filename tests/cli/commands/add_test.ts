import assert from "node:assert/strict";
import { run } from "../../../src/cli/run.ts";
import {
  createMemorySystem,
  type MemorySystem,
  type MemorySystemOptions,
} from "../../../testing/memory_system.ts";
import { tempDirectory } from "../../../testing/builders.ts";

/** A config written by a person: with comments, and its own indentation. */
const WRITTEN = `// Ours.
{
    "defaults": {}, /* none */
    "checks": {
        "old": { "kind": "test",   "parameters": {} } // stays
        // "later": {}
    }
}
`;

/** Runs `monitor add` in a new directory with a config; `null`: without. */
async function add(
  args: readonly string[],
  { config = WRITTEN, prepare = () => {}, ...options }: MemorySystemOptions & {
    readonly config?: string | null;
    prepare?(directory: string, system: MemorySystem): void;
  } = {},
) {
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  const path = `${directory}/monitor.jsonc`;
  if (config !== null) Deno.writeTextFileSync(path, config);
  const system = createMemorySystem({ workingDirectory: directory, ...options });
  prepare(directory, system);
  const code = await run([
    "add",
    "--config",
    path,
    ...args.map((word) => word.replace("[HERE]", directory)),
  ], system);
  const text = await Deno.readTextFile(path).catch(() => "");
  return { code, text: text.replaceAll(directory, "[HERE]"), system };
}

/** Returns {@linkcode WRITTEN} with lines after its last check. */
function writtenWith(...lines: readonly string[]): string {
  return WRITTEN.replace(
    "} } // stays\n",
    `} }, // stays\n${lines.map((line) => `        ${line}`).join(",\n")}\n`,
  );
}

Deno.test("monitor add writes a check of each target, and keeps comments and layout", async () => {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response("ok"),
  );
  const { port } = server.addr;
  const { code, text, system } = await add([
    `http://127.0.0.1:${port}/`,
    `0.0.0.0:${port}->80/tcp`,
    "/",
    "[HERE]/monitor.jsonc",
    "warning_age=2 hours",
    "memory",
    "@hourly /bin/poll",
  ]);
  assert.equal(code, 0, system.stderr.text());
  assert.equal(
    text.replaceAll(`${port}`, "PORT"),
    writtenWith(
      `"127.0.0.1_PORT": {
            "kind": "http_request",
            "parameters": { "request": { "target": "http://127.0.0.1:PORT/" } }
        }`,
      `"port_PORT": {
            "kind": "tcp_connect",
            "parameters": { "host": "127.0.0.1", "port": PORT }
        }`,
      '"disk": { "kind": "disk_space", "parameters": { "path": "/" } }',
      `"monitor.jsonc": {
            "kind": "file_timestamp",
            "parameters": {
                "path": "[HERE]/monitor.jsonc",
                "warning_age": "2 hours"
            }
        }`,
      '"memory": { "kind": "memory", "parameters": {} }',
      '"poll": { "kind": "job", "threshold": 1, "parameters": { "expected_every": "1 h" } }',
    ),
  );
  const output = system.stdout.text();
  assert.match(output, /^OK +127.0.0.1_\d+ .* status is 200$/m);
  assert.match(output, /^5 checks: /m);
  assert.match(
    output,
    /^added 6 checks to .+: 127.0.0.1_\d+, port_\d+, disk, monitor.jsonc, memory, poll$/m,
  );
  assert.match(
    output,
    /^@hourly \/usr\/local\/bin\/monitor beat --config .+\/monitor.jsonc'? poll -- \/bin\/poll$/m,
  );
});

Deno.test("monitor add keeps the permissions, the link and the byte order mark of a config", async () => {
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  const real = `${directory}/real`;
  await Deno.writeTextFile(real, `\uFEFF${WRITTEN}`, { mode: 0o640 });
  await Deno.symlink("real", `${directory}/monitor.jsonc`);
  const system = createMemorySystem({ workingDirectory: directory });
  assert.equal(await run(["add", "memory", "--config", `${directory}/monitor.jsonc`], system), 0);
  const bytes = await Deno.readFile(real);
  assert.deepEqual([...bytes.subarray(0, 3)], [0xef, 0xbb, 0xbf]);
  assert.equal(
    new TextDecoder().decode(bytes),
    writtenWith('"memory": { "kind": "memory", "parameters": {} }'),
  );
  assert.equal(((await Deno.stat(real)).mode ?? 0) & 0o777, 0o640);
  assert.ok((await Deno.lstat(`${directory}/monitor.jsonc`)).isSymlink);
  assert.deepEqual([...Deno.readDirSync(directory)].map(({ name }) => name).sort(), [
    "monitor.jsonc",
    "real",
  ]);
});

Deno.test("monitor add writes nothing if the config changes while the checks run", async () => {
  const { code, text, system } = await add([
    "script",
    "/bin/sh",
    "arguments=-c,echo '{}' > '[HERE]/monitor.jsonc'",
  ]);
  assert.equal(code, 74);
  assert.equal(text, "{}\n");
  assert.match(system.stderr.text(), /cannot write ".*": it was changed meanwhile/);
});

Deno.test("monitor add writes nothing if a signal aborts the checks", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  let stop = (): void => {};
  const ended = add([`:${port}`, "expect=never"], {
    prepare: (_, system) => stop = () => system.stop("SIGTERM"),
  });
  using _connection = await listener.accept();
  stop();
  const { code, text, system } = await ended;
  assert.deepEqual([code, text], [143, WRITTEN]);
  assert.match(system.stderr.text(), /stopped, nothing was added/);
});

Deno.test("monitor add does not change the config of another user", async () => {
  const { code, text, system } = await add(["memory"], { userId: 4711 });
  assert.deepEqual([code, text], [74, WRITTEN]);
  assert.match(system.stderr.text(), /it belongs to another user \(id \d+\)/);
});

Deno.test("monitor add drops the permissions that neither the checks nor the config require", async () => {
  const { system } = await add(["memory"]);
  assert.deepEqual([...system.dropped].sort(), ["env", "net", "run"]);
});

Deno.test("monitor add names the permissions that writing the config lacks", async () => {
  const { code, text, system } = await add(["memory"], { isGranted: (permission) => permission !== "write" });
  assert.deepEqual([code, text], [77, WRITTEN]);
  assert.match(
    system.stderr.text(),
    /^monitor: error: missing permissions to write the config\n {2}--allow-write=\/\S+ \(writing the config\)\n/,
  );
});
