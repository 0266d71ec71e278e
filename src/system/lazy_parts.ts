/**
 * The parts of the machine that only some configs use: their modules are loaded at the first use, since loading them
 * takes longer than a run without them.
 */
import type { Clock } from "../domain/clock.ts";
import type { Connections } from "../domain/connections.ts";
import type { ControlSockets } from "../domain/control_sockets.ts";
import type { Dns } from "../domain/dns.ts";
import type { HttpServers } from "../domain/http_servers.ts";
import type { Foreground } from "../domain/foreground.ts";
import type { Mail } from "../domain/mail.ts";
import type { Processes } from "../domain/processes.ts";
import type { Requests } from "../domain/requests.ts";
import type { RequestsOptions } from "./http/requests.ts";
import { lazily } from "../shared/lazily.ts";

export function lazyProcesses(clock: Clock): Processes {
  const load = lazily(async () => (await import("./process/processes.ts")).createProcesses(clock));
  return { run: async (command, signal) => await (await load()).run(command, signal) };
}

export function lazyForeground(clock: Clock): Foreground {
  const load = lazily(async () => (await import("./process/foreground.ts")).createForeground(clock));
  return { run: async (command, options) => await (await load()).run(command, options) };
}

export function lazyDns(clock: Clock): Dns {
  const load = lazily(async () => (await import("./dns.ts")).createDns(clock));
  return {
    lookUp: async (question, signal) => await (await load()).lookUp(question, signal),
    machineServers: async () => await (await load()).machineServers(),
  };
}

export function lazyMail(clock: Clock): Mail {
  const load = lazily(async () => (await import("./mail/mail.ts")).createMail(clock));
  return { send: async (mail, options) => await (await load()).send(mail, options) };
}

export function lazyRequests(options: RequestsOptions): Requests {
  let made: Requests | null = null;
  const load = lazily(async () => made = (await import("./http/requests.ts")).createRequests(options));
  return {
    send: async (request, signal) => await (await load()).send(request, signal),
    explain: (error, target) => used(made).explain(error, target),
  };
}

export function lazyControlSockets(clock: Clock, userId: number | null): ControlSockets {
  const load = lazily(async () => (await import("./control_sockets.ts")).createControlSockets(clock, userId));
  return {
    listen: async (path, handle) => await (await load()).listen(path, handle),
    send: async (path, line) => await (await load()).send(path, line),
  };
}

export function lazyHttpServers(clock: Clock): HttpServers {
  const load = lazily(async () => (await import("./http/http_servers.ts")).createHttpServers(clock));
  return { listen: async (address, options) => await (await load()).listen(address, options) };
}

export function lazyConnections(clock: Clock): Connections {
  let made: Connections | null = null;
  const load = lazily(async () => made = (await import("./tcp/connections.ts")).createConnections(clock));
  return {
    connect: async (target, options) => await (await load()).connect(target, options),
    connectDatabase: async (target, options) => await (await load()).connectDatabase(target, options),
    resolve: async (target, signal) => await (await load()).resolve(target, signal),
    readCertificate: async (target, options) => await (await load()).readCertificate(target, options),
    explain: (error, target, phase) => used(made).explain(error, target, phase),
  };
}

/** Only a used part fails, so there is something to explain only then. */
function used<Part>(made: Part | null): Part {
  if (made === null) throw new Error("An error is explained of what was never used");
  return made;
}
