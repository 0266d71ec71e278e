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
 */
export { World } from "./world.ts";
export type { OpenShared } from "./world.ts";
export type { CommandEnd, Machine, Ran } from "./machine.ts";
export type { Program, Signal } from "./program.ts";
export type { Fault, Outcome } from "./faults.ts";
