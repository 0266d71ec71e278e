/**
 * Creates the pictures of the README and the guides from the program itself, or of every state of the page. Requires
 * Chromium, for the states also its driver (Debian's `chromium-driver`).
 *
 *     deno task pictures               # docs/images/
 *     deno task pictures DIRECTORY     # every state at 1440, 800 and 390 pixels, light and dark
 */
import { fileURLToPath } from "node:url";
import { runArguments } from "../testing/source.ts";

const PROJECT = new URL("../", import.meta.url);
const MAIN = fileURLToPath(new URL("main.ts", PROJECT));
const IMAGES = fileURLToPath(new URL("docs/images/", PROJECT));

interface View {
  readonly name: string;
  /** A path of the live page of `monitor demo`, or a file. */
  readonly of: string;
  readonly width: number;
  readonly height: number;
  readonly scheme?: "dark";
}

const VIEWS: readonly View[] = [
  { name: "page_light", of: "/", width: 1280, height: 760 },
  { name: "page_dark", of: "/", width: 1280, height: 760, scheme: "dark" },
  { name: "page_phone", of: "/", width: 500, height: 760 },
  { name: "check", of: "/checks/redis", width: 1000, height: 800 },
  { name: "report", of: "report.html", width: 1100, height: 520 },
  { name: "summary", of: "summary.html", width: 760, height: 560 },
];

async function run(command: string, args: readonly string[], cwd: string): Promise<void> {
  const { success } = await new Deno.Command(command, {
    args: [...args],
    cwd,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).output();
  if (!success) throw new Error(`Cannot run "${command} ${args.join(" ")}"`);
}

const monitor = (...args: readonly string[]): readonly string[] => [...runArguments(), MAIN, ...args];

/** Makes a report and a summary of invented checks in a directory. */
async function writeFiles(work: string): Promise<void> {
  const history = fileURLToPath(new URL("scripts/make_history.ts", PROJECT));
  await run(Deno.execPath(), [...runArguments(), history, work, "20"], work);
  await run(Deno.execPath(), monitor("report", "-c", "monitor.json", "-o", "report.html"), work);
  const summary = ["summary", "-c", "monitor.json", "--period", "30d", "--format", "html"];
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: [...monitor(...summary)], cwd: work })
    .output();
  await Deno.writeFile(`${work}/summary.html`, stdout);
}

/** Starts `monitor demo`, and returns its origin. */
async function startDemo(demo: Deno.ChildProcess): Promise<string> {
  let text = "";
  for await (const piece of demo.stdout.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const [, origin] = /listening on (http:\S+?)\/\s/.exec(text) ?? [];
    if (origin !== undefined) return origin;
  }
  throw new Error(`Cannot start the demonstration: ${text}`);
}

async function makeImages(work: string): Promise<void> {
  await writeFiles(work);
  const demo = new Deno.Command(Deno.execPath(), {
    args: [...monitor("demo", "--listen", "127.0.0.1:0")],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  try {
    const origin = await startDemo(demo);
    for (const { name, of, width, height, scheme } of VIEWS) {
      await run("chromium", [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        `--user-data-dir=${work}/profile`,
        `--blink-settings=preferredColorScheme=${scheme === "dark" ? 0 : 1}`,
        `--window-size=${width},${height}`,
        `--screenshot=${IMAGES}${name}.png`,
        of.startsWith("/") ? origin + of : `file://${work}/${of}`,
      ], work);
      console.log(`made docs/images/${name}.png`);
    }
  } finally {
    demo.kill("SIGTERM");
    await demo.status;
  }
}

/** Runs the tests of the page, which take the pictures of its states. */
async function makeStates(directory: string): Promise<void> {
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "--lock=deno.lock", "--frozen", "--quiet", "--allow-all", "tests/page/browser_test.ts"],
    cwd: fileURLToPath(PROJECT),
    env: { PAGE_PICTURES: await Deno.realPath(directory) },
  }).spawn().status;
  Deno.exitCode = code;
}

if (import.meta.main) {
  const [directory] = Deno.args;
  if (directory !== undefined) {
    await Deno.mkdir(directory, { recursive: true });
    await makeStates(directory);
  } else {
    const work = await Deno.makeTempDir({ prefix: "monitor_pictures_" });
    try {
      await Deno.mkdir(IMAGES, { recursive: true });
      await makeImages(work);
    } finally {
      await Deno.remove(work, { recursive: true });
    }
  }
}
