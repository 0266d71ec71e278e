import { inTime } from "../life/in_time.ts";
import { startChild, tool } from "../../testing/tools.ts";
import { freePort } from "./http_servers.ts";

/** A Prometheus of the test's own. */
export interface Prometheus extends AsyncDisposable {
  /** Waits until a query returns one value, and returns it. */
  query(text: string): Promise<string>;
}

interface PrometheusOptions {
  readonly directory: string;
  /** Host and port. */
  readonly target: string;
  readonly token: string;
}

/** Starts Debian's Prometheus, which scrapes one target each second. */
export async function startPrometheus(
  { directory, target, token }: PrometheusOptions,
): Promise<Prometheus> {
  const port = freePort();
  await Deno.mkdir(directory, { recursive: true });
  await Deno.writeTextFile(
    `${directory}/prometheus.yml`,
    `scrape_configs:
  - job_name: monitor
    scrape_interval: 1s
    authorization: { credentials: ${token} }
    static_configs: [{ targets: ["${target}"] }]
`,
  );
  const child = startChild(tool("prometheus"), [
    `--config.file=${directory}/prometheus.yml`,
    `--storage.tsdb.path=${directory}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
  ], { stdout: "null", stderr: "null" });
  const ask = async (text: string): Promise<string | null> => {
    try {
      const response = await fetch(
        `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(text)}`,
      );
      return (await response.json()).data?.result[0]?.value[1] ?? null;
    } catch {
      return null; // It does not listen yet.
    }
  };
  return {
    query: (text) =>
      inTime(
        `a value of ${text}`,
        (async () => {
          for (;;) {
            const value = await ask(text);
            if (value !== null) return value;
            await new Promise((resolve) => setTimeout(resolve, 50));
          }
        })(),
      ),
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      await inTime("the end of Prometheus", child.status);
    },
  };
}
