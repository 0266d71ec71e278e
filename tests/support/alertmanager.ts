import { inTime } from "../life/in_time.ts";
import { startChild, tool } from "../../testing/tools.ts";
import { freePort } from "./http_servers.ts";

export interface ListedAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly startsAt: string;
  readonly endsAt: string;
}

export interface Alertmanager extends AsyncDisposable {
  readonly address: string;
  /** The alerts that are not resolved. */
  alerts(): Promise<readonly ListedAlert[]>;
}

/** Starts Debian's Alertmanager, and waits until it is ready. */
export async function startAlertmanager(directory: string): Promise<Alertmanager> {
  const address = `127.0.0.1:${freePort()}`;
  await Deno.mkdir(directory, { recursive: true });
  await Deno.writeTextFile(
    `${directory}/alertmanager.yml`,
    "global: { resolve_timeout: 1s }\nroute: { receiver: none }\nreceivers: [{ name: none }]\n",
  );
  const child = startChild(tool("prometheus-alertmanager"), [
    `--config.file=${directory}/alertmanager.yml`,
    `--storage.path=${directory}/data`,
    `--web.listen-address=${address}`,
    "--cluster.listen-address=",
  ], { stdout: "null", stderr: "null" });
  const get = async (path: string): Promise<unknown> => {
    const response = await fetch(`http://${address}${path}`);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return path === "/-/ready" ? null : JSON.parse(text);
  };
  await inTime(
    "Alertmanager to be ready",
    (async () => {
      for (;;) {
        try {
          return await get("/-/ready");
        } catch {
          // It does not listen yet.
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      }
    })(),
  );
  return {
    address,
    alerts: async () => await get("/api/v2/alerts") as readonly ListedAlert[],
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      await inTime("the end of Alertmanager", child.status);
    },
  };
}
