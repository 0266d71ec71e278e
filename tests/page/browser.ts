/**
 * Debian's Chromium, driven by its own driver over the W3C's WebDriver protocol. Whatever is started here ends with the
 * test.
 */
import assert from "node:assert/strict";
import { inTime, until } from "../life/in_time.ts";
import { requiresTools, startChild, tool } from "../../testing/tools.ts";

interface View {
  readonly width: number;
  readonly height: number;
  readonly scheme: "light" | "dark";
}

/** A browser with one page. */
export type Browser = ReturnType<typeof createBrowser>;

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-default-apps",
  "--disable-sync",
  "--no-first-run",
  "--hide-scrollbars",
];

/** Returns whether a test with a browser is ignored because a tool is missing. */
export function requiresBrowser(): { readonly ignore: boolean } {
  return requiresTools("chromedriver", "chromium");
}

/** Starts a browser for what uses it. */
export async function withBrowser(use: (browser: Browser) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "monitor_browser_" });
  const driver = startChild(tool("chromedriver"), ["--port=0"], {
    env: { TMPDIR: directory, HOME: directory },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
    // Every view of every state takes minutes.
    limitMs: 900_000,
  });
  const end = new AbortController();
  let draining: Promise<void> = Promise.resolve();
  try {
    const lines = driver.stdout.pipeThrough(new TextDecoderStream());
    const origin = `http://127.0.0.1:${await inTime("the driver to start", portOf(lines))}`;
    // Nothing more is wanted of it, and it must not fill its pipe.
    draining = lines.pipeTo(new WritableStream(), { signal: end.signal }).catch(() => {});
    const session = await call(`${origin}/session`, "POST", {
      capabilities: {
        alwaysMatch: {
          browserName: "chrome",
          timeouts: { script: 300_000 },
          "goog:chromeOptions": { args: [...FLAGS, `--user-data-dir=${directory}/profile`] },
          "goog:loggingPrefs": { browser: "ALL", performance: "ALL" },
        },
      },
    }) as { readonly sessionId: string };
    const place = `${origin}/session/${session.sessionId}`;
    try {
      await use(createBrowser(place));
    } finally {
      await call(place, "DELETE");
    }
  } finally {
    driver.kill("SIGTERM");
    await inTime("the end of the driver", driver.status);
    // Its children may keep the pipe open a little longer.
    end.abort();
    await inTime("the end of what the driver prints", draining);
    await Deno.remove(directory, { recursive: true });
  }
}

/**
 * Adds a test with one browser for all of its cases, which run one after the other: each browser that starts costs most
 * of a second of processor time. Returns a function that adds a case.
 */
export function browserTests(
  name: string,
): (name: string, run: (browser: Browser, context: Deno.TestContext) => Promise<void>) => void {
  const cases: Parameters<ReturnType<typeof browserTests>>[] = [];
  const run = (context: Deno.TestContext): Promise<void> =>
    withBrowser(async (browser) => {
      for (const [name, run] of cases) {
        await context.step(name, async (own) => {
          await browser.reset();
          await run(browser, own);
        });
      }
    });
  Deno.test({ ...requiresBrowser(), name, fn: run });
  return (...parts) => void cases.push(parts);
}

/** Each look costs ten milliseconds of processor time. */
const LOOK_EVERY_MS = 200;

/** Waits until an expression of the page is true, whichever page it is by then. */
export async function untilTrue(browser: Browser, expression: string): Promise<void> {
  await until(expression, async () => await browser.run(`return ${expression}`) === true, {
    everyMs: LOOK_EVERY_MS,
  });
}

async function portOf(lines: ReadableStream<string>): Promise<number> {
  let text = "";
  for await (const piece of lines.values({ preventCancel: true })) {
    text += piece;
    const port = /started successfully on port (\d+)/.exec(text)?.[1];
    if (port !== undefined) return Number(port);
  }
  return assert.fail(`the driver did not start: ${text}`);
}

function createBrowser(place: string) {
  const command = (cmd: string, params: Readonly<Record<string, unknown>>): Promise<unknown> =>
    call(`${place}/goog/cdp/execute`, "POST", { cmd, params });
  const logged = async (type: string): Promise<readonly string[]> => {
    const entries = await call(`${place}/se/log`, "POST", { type }) as readonly {
      readonly message: string;
    }[];
    return entries.map(({ message }) => message);
  };
  return {
    /** Opens a URL and waits until it is loaded. */
    open: async (url: string) => void await call(`${place}/url`, "POST", { url }),
    /** Runs the body of a function in the page; a promise is waited for. */
    run: (script: string, ...args: readonly unknown[]) =>
      call(`${place}/execute/sync`, "POST", { script, args }),
    /** Returns the console output of the page and the browser since the last call. */
    console: () => logged("browser"),
    /** Returns the requested URLs since the last call, including the page's. */
    requests: async () =>
      (await logged("performance")).flatMap((message) => {
        const { method, params } = JSON.parse(message).message;
        return method === "Network.requestWillBeSent" ? [String(params.request.url)] : [];
      }),
    /** A command of the DevTools protocol. */
    command,
    /** Forgets what pages have left: cookies and output. */
    reset: async () => {
      await call(`${place}/url`, "POST", { url: "about:blank" });
      await command("Network.clearBrowserCookies", {});
      for (const type of ["browser", "performance"]) await logged(type);
    },
    /** Sets the size of the view in CSS pixels, and the preferred colors. */
    look: async ({ width, height, scheme }: View) => {
      const size = { width, height, deviceScaleFactor: 1, mobile: width < 600 };
      await command("Emulation.setDeviceMetricsOverride", size);
      const features = [{ name: "prefers-color-scheme", value: scheme }];
      await command("Emulation.setEmulatedMedia", { features });
    },
    /** Returns a screenshot of the view, as PNG. */
    picture: async () => Uint8Array.fromBase64(String(await call(`${place}/screenshot`, "GET"))),
  };
}

async function call(address: string, method: string, body?: unknown): Promise<unknown> {
  const answering = fetch(address, {
    method,
    ...(body !== undefined &&
      { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  }).then(async (response) => ({ status: response.status, value: (await response.json()).value }));
  const { status, value } = await inTime(`the driver's answer to ${method} ${address}`, answering);
  assert.equal(status, 200, `${method} ${address}: ${value?.error}: ${value?.message}`);
  return value;
}
