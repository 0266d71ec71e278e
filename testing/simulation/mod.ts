/**
 * The simulated service: the real `run()` of the program on machines in memory, with one virtual clock and one seed. Hours
 * of service take milliseconds, and the same seed gives the same trace.
 *
 *     const world = await World.create({ seed, start: "2026-03-02T21:55", zone: "Europe/Zurich" });
 *     const a = world.machine("a");                       // made when it is first asked for
 *     a.files.put("/etc/monitor/monitor.jsonc", config);  // found there by every command
 *     const service = a.start("check", "--format", "ndjson");
 *     await world.advance(10 * 60_000);                   // or to(atMs), or until(isTrue, what)
 *     world.outcomes.set("web", outcome);                 // what a check's script, or its host, gives from now on
 *     const { code, stdout } = await a.run("status");     // a command to its end
 *     service.signal("SIGKILL");                          // also SIGTERM, SIGHUP, SIGSTOP, SIGCONT
 *
 * - **Time** (`timeline.ts`). Nothing happens unless time is moved on. Every event has an owner, a process or nobody: an
 *   event of a paused process waits until it goes on, an event of a dead one never happens. Latencies (`world.latency`)
 *   and the order of events of one moment come from the seed.
 * - **Machines** (`machine.ts`). Each has its own wall clock (`stepClock`), suspends (`suspend`), files with permissions,
 *   a full or read-only disk (`files.isFull`, `files.isReadOnly`), locked or damaged databases (`lockedDatabases`,
 *   `files.node(path).damage`), environment, commands, locks, control sockets, HTTP listeners (`request`), and names that
 *   it is cut off from (`cutOff`).
 * - **Processes** (`program.ts`). Everything that one does outside of itself is a step: `step` for what is done at once,
 *   `ask` for what takes time. `world.killsAt` can kill it at any of them, also between the two ends of a request or
 *   before and after the commit of a transaction.
 * - **States** (`memory_databases.ts`). A file of SQLite is a database in memory that stays with the file. A state that
 *   machines share is opened by `world.openShared`.
 * - **Servers** (`network.ts`). `world.network.add(name, { respond, accept })` for HTTP and mail, `fault` for what goes
 *   wrong (`faults.ts`).
 * - **Trace** (`trace.ts`). What happened, in order, for a failure.
 *
 * Most tests need none of that, but a scenario (`scenario.ts`): what the checks find, what servers do, what people do, and
 * all messages that must come of it.
 *
 *     simulate("an acknowledged problem does not escalate", {
 *       start: "2026-03-02 21:55",
 *       zone: "Europe/Zurich",
 *       config: { channels: { chat: {}, boss: { after: "30 minutes" } }, checks: { web: {} } },
 *       results: { web: "22:10 critical (no space), 06:20 ok" },
 *       servers: { chat: "22:05 refuse, 22:15 up" },
 *       actions: { "22:30": "acknowledge web", "23:00": "kill", "23:05": "start" },
 *       expect: { chat: ["22:15-22:16 problem web critical", "06:20 recovery web ok (acknowledged)"] },
 *     });
 *
 * - A time is `22:10`, `22:10:30`, `Tue 22:10` or `2026-03-03 22:10`, in the zone, and later than the one before it.
 * - `results`: `TIME CONDITION [slow 3s] [(OUTPUT)]` or `TIME hang` by name of a check, or of the host that it asks.
 * - `servers`: `TIME up|refuse|reset|lose|hang|slow 30s|503` by name of a channel, or of a host.
 * - `actions`: `start [ARGS]`, `stop`, `kill`, `reload`, `pause`, `continue`, `suspend 2h`, `clock +1h`, `disk full|free`,
 *   `disk read-only|writable`, `cut HOST`, `reconnect HOST`, or a command of the program with its exit code if it isn't 0:
 *   `check --once => 2`. With several machines, `b kill` is for the one named b. `{ config }` replaces the config's file,
 *   and a function is called with the world.
 * - `expect`: `TIME EVENT CHECK CONDITION` by channel, several in one message with commas; of an email its subject, of a
 *   body of the config's own the body. `TIME-TIME …` for what is up to the seed, such as a retry. A message that came
 *   before ends in `again`; `again…` stands for one or more of them.
 */
export { World } from "./world.ts";
export type { OpenShared } from "./world.ts";
export type { CommandEnd, Machine, Ran } from "./machine.ts";
export type { Program, Signal } from "./program.ts";
export type { Fault, Outcome } from "./faults.ts";
export { play, type Scenario } from "./scenario.ts";
export { playAndAssert, simulate } from "./simulate.ts";
export { ScenarioError } from "./expectations.ts";
