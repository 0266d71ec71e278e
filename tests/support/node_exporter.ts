import { inTime, until } from "../life/in_time.ts";
import { startChild, tool } from "../../testing/tools.ts";

/** A node exporter of the test's own. */
export interface NodeExporter extends AsyncDisposable {
  /** Returns the metrics that it serves now. */
  scrape(): Promise<string>;
}

/** Starts Debian's node exporter, which reads the `*.prom` files of a directory and nothing else of this machine. */
export async function startNodeExporter(directory: string): Promise<NodeExporter> {
  const child = startChild(tool("prometheus-node-exporter"), [
    "--collector.disable-defaults",
    "--collector.textfile",
    `--collector.textfile.directory=${directory}`,
    "--web.listen-address=127.0.0.1:0",
  ], { stdout: "null", stderr: "piped" });
  let log = "";
  const reading = child.stderr.pipeThrough(new TextDecoderStream()).pipeTo(
    new WritableStream({ write: (text) => void (log += text) }),
  );
  const port = await until(
    "the exporter to listen",
    () => /msg="Listening on" address=127\.0\.0\.1:(\d+)/.exec(log)?.[1] ?? null,
  );
  return {
    scrape: async () => {
      const response = await inTime("the exporter's answer", fetch(`http://127.0.0.1:${port}/metrics`));
      const text = await response.text();
      if (response.status !== 200) throw new Error(`The exporter answered ${response.status}: ${text}`);
      return text;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      await inTime("the end of the exporter", child.status.then(() => reading));
    },
  };
}
