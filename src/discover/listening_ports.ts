import { isLoopback } from "../shared/ip_address.ts";
import { hostAndPort } from "../domain/runtime_permissions.ts";
import { type Discovery, printedBy, type Proposal } from "./discovery.ts";

interface Listener {
  /** Without brackets; `*`: every address. */
  readonly host: string;
  readonly port: number;
  /** Of the process; `null`: it belongs to another user. */
  readonly process: string | null;
}

/** Ports from here on are given to clients and to services that choose none. */
const EPHEMERAL_MIN = 32_768;

export async function discoverPorts(discovery: Discovery): Promise<readonly Proposal[]> {
  let isMissing = false;
  const printed = await printedBy({
    name: "ss",
    arguments: ["-H", "-l", "-n", "-t", "-p"],
    what: "listening ports",
    missing: () => isMissing = true,
  }, discovery);
  const listeners = printed !== null
    ? printed.split("\n").flatMap(readLine)
    : isMissing
    ? await readKernelTables(discovery)
    : [];
  const byPort = Map.groupBy(listeners, ({ port }) => port);
  return [...byPort].filter(([port]) => port < EPHEMERAL_MIN).sort(([one], [other]) => one - other)
    .flatMap(([port, group]) => {
      const { host, process } = group.find((listener) => listener.host === EVERY_ADDRESS) ??
        group.find((listener) => isLoopback(listener.host)) ?? group[0] ?? NONE;
      // The endpoint of the monitor itself is gone whenever it could check it.
      if (process === "monitor") return [];
      const subject = process === null ? `port ${port} is open` : `${process} listens to port ${port}`;
      const isEvery = host === EVERY_ADDRESS;
      const place = hostAndPort(isEvery ? "127.0.0.1" : host, port);
      const protocol = PROTOCOLS[port];
      const words = [protocol === undefined ? place : `${protocol}://${place}`];
      return [{ words, reason: isEvery ? subject : `${subject} at ${host}` }];
    });
}

/** Those with a greeting, by their usual ports. */
const PROTOCOLS: Readonly<Record<number, string>> = {
  21: "ftp",
  22: "ssh",
  25: "smtp",
  110: "pop3",
  143: "imap",
  587: "smtp",
  6379: "redis",
};

const EVERY_ADDRESS = "*";
const NONE = { host: EVERY_ADDRESS, process: null };

/** Parses a line of `ss`: state, two queues, the local and the other address, processes. */
function readLine(line: string): readonly Listener[] {
  const [, , , local = "", , ...rest] = line.trim().split(/\s+/);
  const [, address = "", port = ""] = /^(.*):(\d+)$/.exec(local) ?? [];
  if (port === "") return [];
  const host = address.replace(/%[^\]]*/, "").replace(/^\[(.*)\]$/, "$1").replace(/^::ffff:(?=\d+\.)/, "");
  const process = /\(\("([^"]+)"/.exec(rest.join(" "))?.[1] ?? null;
  return [{ host: ["0.0.0.0", "::"].includes(host) ? EVERY_ADDRESS : host, port: Number(port), process }];
}

/** Reads the tables of the kernel, which take every permission of the runtime. */
async function readKernelTables({ system, root = "", note }: Discovery): Promise<readonly Listener[]> {
  try {
    const paths = ["tcp", "tcp6"].map((name) => `${root}/proc/net/${name}`);
    const tables = await Promise.all(paths.map((path) => system.files.read(path)));
    return tables.flatMap((table) => new TextDecoder().decode(table).split("\n").flatMap(readRow));
  } catch {
    note("listening ports: ss is not installed");
    return [];
  }
}

/** State 0A is LISTEN (proc_net_tcp.txt of Linux). Addresses are words of four bytes, in the byte order of the machine. */
function readRow(row: string): readonly Listener[] {
  const [, address = "", port = ""] = /^\s*\d+: ([\dA-F]+):([\dA-F]{4}) \S+ 0A /.exec(row) ?? [];
  if (port === "") return [];
  const hostOf = (): string | null => {
    if (/^0+$/.test(address)) return EVERY_ADDRESS;
    if (address.length > 8) return address === LOOPBACK_V6 ? "::1" : null;
    return address.match(/../g)?.reverse().map((byte) => Number.parseInt(byte, 16)).join(".") ?? address;
  };
  const host = hostOf();
  return host === null ? [] : [{ host, port: Number.parseInt(port, 16), process: null }];
}

const LOOPBACK_V6 = `${"0".repeat(24)}01000000`;
