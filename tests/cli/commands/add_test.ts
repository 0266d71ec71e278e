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

/** Runs `monitor add` in a new directory with {@linkcode WRITTEN}. */
async function add(
  args: readonly string[],
  { prepare = () => {}, ...options }: MemorySystemOptions & { prepare?(system: MemorySystem): void } = {},
) {
  await using directory = await tempDirectory({ "monitor.jsonc": WRITTEN });
  const path = `${directory.path}/monitor.jsonc`;
  const system = createMemorySystem({ workingDirectory: directory.path, ...options });
  prepare(system);
  const code = await run(["add", "--config", path, ...args], system);
  return { code, text: await Deno.readTextFile(path), system };
}

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
    WRITTEN.replace(
      "} } // stays\n",
      '} }, // stays\n        "memory": { "kind": "memory", "parameters": {} }\n',
    ),
  );
  assert.equal(((await Deno.stat(real)).mode ?? 0) & 0o777, 0o640);
  assert.ok((await Deno.lstat(`${directory}/monitor.jsonc`)).isSymlink);
  assert.deepEqual([...Deno.readDirSync(directory)].map(({ name }) => name).sort(), [
    "monitor.jsonc",
    "real",
  ]);
});

Deno.test("monitor add writes nothing if the config changes while the checks run", async () => {
  const { code, text, system } = await add(["script", "/bin/sh", "arguments=-c,echo '{}' > monitor.jsonc"]);
  assert.equal(code, 74);
  assert.equal(text, "{}\n");
  assert.match(system.stderr.text(), /cannot write ".*": it was changed meanwhile/);
});

Deno.test("monitor add writes nothing if a signal aborts the checks", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  let stop = (): void => {};
  const ended = add([`:${port}`, "expect=never"], {
    prepare: (system) => stop = () => system.stop("SIGTERM"),
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

Deno.test("monitor add --dry-run connects to a port, and drops unused permissions", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepted = listener.accept().then((connection) => connection.close());
  const { port } = listener.addr as Deno.NetAddr;
  const system = createMemorySystem();
  const code = await run(["add", "--dry-run", `127.0.0.1:${port}`], system);
  await accepted;
  assert.equal(code, 0, system.stderr.text());
  assert.match(system.stdout.text(), new RegExp(`^OK +port_${port} .* connected`));
  assert.deepEqual([...system.dropped].sort(), ["env", "read", "run", "sys", "write"]);
});

Deno.test("monitor add --dry-run names the flag for a permission that a check lacks", async () => {
  const system = createMemorySystem({ isGranted: (permission) => permission !== "net" });
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepted = listener.accept().then((connection) => connection.close());
  const { port } = listener.addr as Deno.NetAddr;
  await run(["add", "--dry-run", `:${port}`], system);
  await accepted;
  assert.match(system.stderr.text(), new RegExp(`missing permission: --allow-net=127.0.0.1:${port} `));
});

Deno.test("monitor add --dry-run terminates at a signal, with its exit code", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  const system = createMemorySystem();
  const ended = run(["add", "--dry-run", `:${port}`, "expect=never"], system);
  using _connection = await listener.accept();
  system.stop("SIGINT");
  assert.equal(await ended, 130);
  assert.equal(system.stdout.text(), "");
});

Deno.test("monitor add --dry-run keeps secrets out of the result and the trace", async () => {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => new Response(request.headers.get("Authorization"), { status: 500 }),
  );
  const system = createMemorySystem({ environment: { TOKEN: "swordfish-11" } });
  const code = await run([
    "add",
    "--dry-run",
    `http://127.0.0.1:${server.addr.port}/`,
    "request.headers.Authorization=Bearer ${env:TOKEN}",
    "--trace",
  ], system);
  assert.equal(code, 2);
  assert.doesNotMatch(system.stdout.text() + system.stderr.text(), /swordfish/);
  assert.match(system.stdout.text(), /"Authorization": "Bearer \$\{env:TOKEN\}"/);
});
