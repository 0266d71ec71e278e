import assert from "node:assert/strict";
import { ListenError } from "../../../src/domain/http_servers.ts";
import type { MonitorRun } from "../../../src/domain/monitor_run.ts";
import type { Store } from "../../../src/domain/store.ts";
import { run } from "../../../src/cli/run.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { createMemorySystem, type MemorySystem } from "../../../testing/memory_system.ts";
import { tempDirectory } from "../../../testing/builders.ts";

async function withDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  await using temporary = await tempDirectory();
  await use(temporary.path);
}

async function runIn(
  directory: string,
  args: readonly string[],
  change: (system: MemorySystem) => Partial<MemorySystem> = () => ({}),
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const system = createMemorySystem({ workingDirectory: directory });
  const code = await run(args, { ...system, ...change(system) });
  return { code, stdout: system.stdout.text(), stderr: system.stderr.text() };
}

const CONFIG = {
  state: "state.sqlite",
  listen: { address: "127.0.0.1:9797" },
  defaults: {},
  checks: { a: { kind: "test", parameters: {} } },
};

Deno.test("monitor check: a start that fails is no crash", () =>
  withDirectory(async (directory) => {
    Deno.writeTextFileSync(`${directory}/monitor.json`, JSON.stringify(CONFIG));
    const listen = (): Promise<never> => Promise.reject(new ListenError("cannot listen at 127.0.0.1:9797"));
    const { code, stderr } = await runIn(
      directory,
      ["check", "-c", `${directory}/monitor.json`],
      () => ({ httpServers: { listen } }),
    );
    assert.equal(code, 74, stderr);
    assert.match(
      (await runIn(directory, ["status", "-c", `${directory}/monitor.json`])).stdout,
      /; monitor stopped [^;]* ago\n$/,
    );
  }));

function keepUnlessControlled(store: Store, run: MonitorRun): Promise<void> {
  return run.controlPath === null
    ? store.keepMonitorRun(run)
    : Promise.reject(new TypeError("no such column"));
}

Deno.test("monitor check: a bug while the control socket starts ends the service with its error", () =>
  withDirectory(async (directory) => {
    Deno.writeTextFileSync(`${directory}/monitor.json`, JSON.stringify({ ...CONFIG, listen: undefined }));
    const { code, stderr } = await runIn(
      directory,
      ["check", "-c", `${directory}/monitor.json`],
      ({ stores, controlSockets }) => ({
        stores: {
          ...stores,
          openFile: async (path, how) => {
            const opened = await stores.openFile(path, how);
            const store = new Proxy(opened.store, {
              get: (target, key) => {
                if (key === "keepMonitorRun") return (run: MonitorRun) => keepUnlessControlled(target, run);
                const value = Reflect.get(target, key, target);
                return typeof value === "function" ? value.bind(target) : value;
              },
            });
            return { ...opened, store };
          },
        },
        // The process would end with its timers.
        clock: createFakeClock(),
        controlSockets: { ...controlSockets, listen: () => Promise.resolve(() => Promise.resolve()) },
      }),
    );
    assert.equal(code, 70, stderr);
    assert.match(stderr, /no such column/);
  }));

Deno.test("monitor check --once: alongside a service it hints at monitor run", () =>
  withDirectory(async (directory) => {
    Deno.writeTextFileSync(`${directory}/other.json`, JSON.stringify(CONFIG));
    const held = (system: MemorySystem): Partial<MemorySystem> => ({
      state: { ...system.state, lock: () => null, holder: () => 7 },
    });
    const { code, stderr } = await runIn(
      directory,
      ["check", "--once", "-c", `${directory}/other.json`],
      held,
    );
    assert.equal(code, 75);
    assert.match(
      stderr,
      /in use by another monitor \(process 7\)\nmonitor: hint: .* monitor run -c .+\/other\.json'? NAME/,
    );
  }));
