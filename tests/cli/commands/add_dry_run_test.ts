import assert from "node:assert/strict";
import { run } from "../../../src/cli/run.ts";
import { createMemorySystem } from "../../../testing/memory_system.ts";

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
