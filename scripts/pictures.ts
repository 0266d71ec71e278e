/**
 * Creates the pictures of the README from the program itself: the HTML report in both color schemes, at desktop and
 * phone width, and a terminal. Requires Chromium and `script`, both of Debian.
 *
 *     deno task pictures     docs/images/
 */
import { fileURLToPath } from "node:url";
import { runArguments } from "../testing/source.ts";

const PROJECT = new URL("../", import.meta.url);
const MAIN = fileURLToPath(new URL("main.ts", PROJECT));
const IMAGES = fileURLToPath(new URL("docs/images/", PROJECT));

const VIEWS = [
  { name: "report_light", width: 1280, height: 760, scheme: "light" },
  { name: "report_dark", width: 1280, height: 760, scheme: "dark" },
  { name: "report_phone", width: 500, height: 900, scheme: "light" },
] as const;

/** The config of the terminal's picture: real checks of this machine, one of which fails. */
const TERMINAL_CONFIG = {
  defaults: { threshold: 1 },
  checks: {
    disk: {
      title: "Root disk",
      kind: "script",
      parameters: { path: "sh", arguments: ["-c", "echo 'free 58% (58 GB of 100 GB)'"] },
    },
    backup: {
      title: "Nightly backup",
      kind: "file_timestamp",
      parameters: { path: "backup.tar", warning_age: "26 hours", critical_age: "2 days" },
    },
    database: { kind: "tcp_connect", parameters: { host: "127.0.0.1", port: 1 } },
  },
} as const;

/** A piece of a line in one color. */
export interface Piece {
  readonly text: string;
  readonly style: string;
}

const STYLES: Readonly<Record<string, string>> = {
  "1": "font-weight:bold",
  "2": "opacity:.65",
  "31": "fill:#ff7b72",
  "32": "fill:#7ee787",
  "33": "fill:#e3b341",
};

/** Splits the output for a terminal into lines and pieces (ECMA-48, select graphic rendition). */
export function piecesOf(output: string): readonly (readonly Piece[])[] {
  return output.replaceAll("\r", "").trimEnd().split("\n").map((line) => {
    const pieces: Piece[] = [];
    let styles: readonly string[] = [];
    // deno-lint-ignore no-control-regex
    for (const part of line.split(/(\u001b\[\d*m)/)) {
      // deno-lint-ignore no-control-regex
      const [, code] = /^\u001b\[(\d*)m$/.exec(part) ?? [];
      if (code === undefined) {
        if (part !== "") pieces.push({ text: part, style: styles.join(";") });
      } else {
        const style = STYLES[code];
        styles = style === undefined ? [] : [...styles, style];
      }
    }
    return pieces;
  });
}

const CHARACTER_WIDTH = 8.4;
const LINE_HEIGHT = 20;

/** Returns lines of a terminal as SVG. */
export function terminalSvg(lines: readonly (readonly Piece[])[]): string {
  const columns = Math.max(...lines.map((line) => line.reduce((sum, { text }) => sum + text.length, 0)));
  const width = Math.ceil(columns * CHARACTER_WIDTH + 40);
  const height = lines.length * LINE_HEIGHT + 34;
  const rows = lines.map((pieces, index) =>
    `<text x="20" y="${30 + index * LINE_HEIGHT}" xml:space="preserve">${
      pieces.map(({ text, style }) =>
        `<tspan${style === "" ? "" : ` style="${style}"`}>${escaped(text)}</tspan>`
      ).join("")
    }</text>`
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
    `font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14" fill="#e6edf3">` +
    `<rect width="100%" height="100%" rx="8" fill="#0d1117"/>${rows.join("")}</svg>\n`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  const { stdout } = await new Deno.Command(command, {
    args: [...args],
    cwd,
    stdin: "null",
    stderr: "inherit",
  }).output();
  return new TextDecoder().decode(stdout);
}

async function makeReport(work: string): Promise<void> {
  const history = fileURLToPath(new URL("scripts/make_history.ts", PROJECT));
  await run(Deno.execPath(), [...runArguments(), history, work, "8"], work);
  const config = JSON.parse(await Deno.readTextFile(`${work}/monitor.json`));
  const page = { title: "Status of example.org" };
  await Deno.writeTextFile(`${work}/monitor.json`, JSON.stringify({ ...config, page }));
  const monitor = [
    ...runArguments(),
    MAIN,
    "report",
    "-c",
    "monitor.json",
    "-o",
    "report.html",
  ];
  await run(Deno.execPath(), monitor, work);
  for (const { name, width, height, scheme } of VIEWS) {
    await run("chromium", [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--hide-scrollbars",
      `--user-data-dir=${work}/profile`,
      `--blink-settings=preferredColorScheme=${scheme === "dark" ? 0 : 1}`,
      `--window-size=${width},${height}`,
      `--screenshot=${IMAGES}${name}.png`,
      `file://${work}/report.html`,
    ], work);
  }
}

async function makeTerminal(work: string): Promise<void> {
  await Deno.writeTextFile(`${work}/monitor.jsonc`, JSON.stringify(TERMINAL_CONFIG));
  await Deno.writeTextFile(`${work}/backup.tar`, "");
  const command = [
    Deno.execPath(),
    ...runArguments(),
    MAIN,
    "check",
    "--once",
    "--no-notify",
    "--state",
    "none",
  ];
  const quoted = command.map((word) => `'${word}'`).join(" ");
  const output = await run("script", [
    "--quiet",
    "--return",
    "--command",
    `env -u NO_COLOR ${quoted}`,
    "/dev/null",
  ], work);
  const prompt: readonly Piece[] = [{ text: "$ monitor check --once", style: "font-weight:bold" }];
  await Deno.writeTextFile(`${IMAGES}terminal.svg`, terminalSvg([prompt, ...piecesOf(output)]));
}

if (import.meta.main) {
  const work = await Deno.makeTempDir({ prefix: "monitor_pictures_" });
  try {
    await Deno.mkdir(IMAGES, { recursive: true });
    await makeReport(work);
    await makeTerminal(work);
    for (const { name } of Deno.readDirSync(IMAGES)) console.log(`made docs/images/${name}`);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}
