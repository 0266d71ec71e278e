import assert from "node:assert/strict";
import { anchorsOf, linksOf, type Page, PROJECT, readPages } from "./pages.ts";

const PAGES = readPages();

for (const page of PAGES) {
  Deno.test(`every link of ${page.path} leads somewhere`, () => {
    assert.deepEqual(linksOf(page).filter((link) => isBroken(page, link)), []);
  });
}

Deno.test("every file of the project that a page names exists", () => {
  const named = PAGES.flatMap(({ path, prose }) =>
    [...prose.matchAll(/`((?:src|scripts|tests|testing|schemas|examples|bench|docs)\/[\w/.-]+)`/g)]
      .map(([, file = ""]) => ({ path, file }))
  );
  assert.ok(named.length > 50);
  assert.deepEqual(named.filter(({ file }) => !exists(file)), []);
});

Deno.test("each file and symbol that ARCHITECTURE.md names exists", () => {
  const { prose } = PAGES.find(({ path }) => path === "ARCHITECTURE.md") ?? assert.fail();
  const files = ["src", "tests", "testing", "scripts"].flatMap(filesBelow).concat("main.ts", "program.ts");
  const filesAt = (named: string): readonly string[] =>
    files.filter((path) => `/${path}`.endsWith(`/${named}`));
  const named = [...prose.matchAll(/`([\w./-]+\.ts)`/g)].map(([, file = ""]) => file);
  assert.deepEqual(named.filter((file) => filesAt(file).length === 0), []);
  const symbols = [...prose.matchAll(/`(#?\w+)` in `([\w./-]+\.ts)`/g)];
  assert.ok(symbols.length > 25);
  const missing = symbols.filter(([, symbol = "", file = ""]) =>
    !filesAt(file).some((path) => Deno.readTextFileSync(`${PROJECT}${path}`).includes(symbol))
  );
  assert.deepEqual(missing.map(([text]) => text), []);
});

function filesBelow(path: string): readonly string[] {
  if (!Deno.lstatSync(`${PROJECT}${path}`).isDirectory) return [path];
  return [...Deno.readDirSync(`${PROJECT}${path}`)].flatMap(({ name }) => filesBelow(`${path}/${name}`));
}

Deno.test("README.md and docs/README.md link to every page", () => {
  const linked = new Set(
    PAGES.filter(({ path }) => path.endsWith("README.md")).flatMap((page) =>
      linksOf(page).map((link) => withoutDots(page.path.replace(/[^/]*$/, "") + link.replace(/#.*/, "")))
    ),
  );
  const pages = PAGES.map(({ path }) => path).filter((path) => path !== "README.md");
  assert.deepEqual(pages.filter((path) => !linked.has(path)), []);
});

/** URLs of the web are not requested: no test uses a network. */
function isBroken(page: Page, link: string): boolean {
  if (/^https?:/.test(link)) return false;
  const [file = "", anchor] = link.split("#");
  const path = file === "" ? page.path : withoutDots(`${page.path.replace(/[^/]*$/, "")}${file}`);
  const target = PAGES.find((candidate) => candidate.path === path);
  if (anchor !== undefined) return target === undefined || !anchorsOf(target).has(anchor);
  return target === undefined && !exists(path);
}

function withoutDots(path: string): string {
  return new URL(path, "file:///").pathname.slice(1);
}

function exists(path: string): boolean {
  try {
    Deno.statSync(PROJECT + path);
    return true;
  } catch {
    return false;
  }
}
