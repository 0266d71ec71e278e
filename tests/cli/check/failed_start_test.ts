import assert from "node:assert/strict";
import { ListenError } from "../../../src/domain/http_servers.ts";
import { run } from "../../../src/cli/run.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { createMemorySystem, type MemorySystem } from "../../../testing/memory_system.ts";
import { tempDirectory } from "../../../testing/builders.ts";

const CONFIG = {
  state: "state.sqlite",
  listen: { address: "127.0.0.1:9797" },
  defaults: {},
  checks: { a: { kind: "test", parameters: {} } },
};

/** Returns a function that runs a command on a config in a new directory, on a system with a fault. */
async function installed(config: Partial<typeof CONFIG>) {
  const directory = await tempDirectory({ "monitor.json": JSON.stringify(config) });
  const runCommand = async (
    args: readonly string[],
    change: (system: MemorySystem) => Partial<MemorySystem> = () => ({}),
  ) => {
    const system = createMemorySystem({ workingDirectory: directory.path });
    const code = await run([...args, "-c", `${directory.path}/monitor.json`], {
      ...system,
      ...change(system),
    });
    return { code, stdout: system.stdout.text(), stderr: system.stderr.text() };
  };
  return { run: runCommand, [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose]() };
}

Deno.test("monitor check: a start that fails is no crash", async () => {
  await using installation = await installed(CONFIG);
  const listen = (): Promise<never> => Promise.reject(new ListenError("cannot listen at 127.0.0.1:9797"));
  const { code, stderr } = await installation.run(["check"], () => ({ httpServers: { listen } }));
  assert.equal(code, 74, stderr);
  assert.match((await installation.run(["status"])).stdout, /; monitor stopped [^;]* ago\n$/);
});

Deno.test("monitor check: a bug while the control socket starts ends the service with its error", async () => {
  const { listen: _, ...config } = CONFIG;
  await using installation = await installed(config);
  const { code, stderr } = await installation.run(["check"], ({ stores, controlSockets }) => ({
    stores: {
      ...stores,
      openFile: async (path, how) => {
        const opened = await stores.openFile(path, how);
        const keep = opened.store.keepMonitorRun.bind(opened.store);
        opened.store.keepMonitorRun = (run) =>
          run.controlPath === null ? keep(run) : Promise.reject(new TypeError("no such column"));
        return opened;
      },
    },
    // The process would end with its timers.
    clock: createFakeClock(),
    controlSockets: { ...controlSockets, listen: () => Promise.resolve(() => Promise.resolve()) },
  }));
  assert.equal(code, 70, stderr);
  assert.match(stderr, /no such column/);
});

Deno.test("monitor check --once: alongside a service it hints at monitor run", async () => {
  await using installation = await installed(CONFIG);
  const { code, stderr } = await installation.run(["check", "--once"], ({ state }) => ({
    state: { ...state, lock: () => null, holder: () => 7 },
  }));
  assert.equal(code, 75);
  assert.match(
    stderr,
    /in use by another monitor \(process 7\)\nmonitor: hint: .* monitor run -c .+\/monitor\.json'? NAME/,
  );
});
