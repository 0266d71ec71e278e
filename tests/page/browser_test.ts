/**
 * The page in Debian's Chromium. `PAGE_PICTURES` may name a directory for the pictures of what was seen, to be looked at by
 * people.
 */
import assert from "node:assert/strict";
import axe from "axe-core";
import { demoChecks } from "../../scripts/make_history.ts";
import { type Browser, requiresBrowser, withBrowser } from "./browser.ts";
import { inTime } from "../life/in_time.ts";
import { shortOrFull } from "../../testing/full_form.ts";
import { withDemo } from "./demo_page.ts";

const SIZES = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 900 } } as const;
const SCHEMES = ["light", "dark"] as const;
const PAGE_BYTES_MAX = 1_000_000;

for (const count of [3, shortOrFull(30, 1000)]) {
  Deno.test({
    ...requiresBrowser(),
    name: `writeReport() makes a page of ${count} checks that a browser and axe-core find nothing wrong with`,
    fn: (t) =>
      withDemo(count, async ({ page }) => {
        const html = await page();
        assert.ok(new TextEncoder().encode(html).length < PAGE_BYTES_MAX, `${html.length} characters`);
        await withServedPage(html, (address) =>
          withBrowser(async (browser) => {
            for (const [device, size] of Object.entries(SIZES)) {
              for (const scheme of SCHEMES) {
                await t.step(`${device}, ${scheme}`, async () => {
                  await browser.look({ ...size, scheme });
                  await browser.open("about:blank");
                  await browser.requests();
                  await browser.open(address);
                  await keepPicture(`${count}-${device}-${scheme}`, browser);
                  assert.deepEqual(await browser.console(), []);
                  assert.deepEqual(await browser.requests(), [address], "it asks for nothing else");
                  assert.equal(await browser.run(IS_DARK), scheme === "dark");
                  assert.equal(await browser.run(OVERFLOW), 0, "nothing is wider than the window");
                  await assertNamed(browser, count);
                  if (count === 3) assert.deepEqual(await findFaults(browser, "document", {}), []);
                  else assert.deepEqual(await findFaults(browser, SAMPLE, COLORS_ONLY), []);
                  if (count !== 3 && device === "phone" && scheme === "light") {
                    assert.deepEqual(await findFaults(browser, "document", WITHOUT_COLORS), []);
                  }
                });
              }
            }
          }));
      }),
  });
}

/**
 * To look at each color behind each text of a thousand checks takes minutes: of those, the colors of two checks of each
 * condition are looked at, and everything else of all.
 */
const SAMPLE = `{ include: [document.querySelector("header"), ...["k", "u", "w", "x"].flatMap((name) =>
  [...document.querySelectorAll(".c>." + name)].slice(0, 2))] }`;
const COLORS_ONLY = { runOnly: ["color-contrast"] };
const WITHOUT_COLORS = { rules: { "color-contrast": { enabled: false } } };

const IS_DARK = "return matchMedia('(prefers-color-scheme: dark)').matches";
const OVERFLOW = "return Math.max(0, document.documentElement.scrollWidth - innerWidth)";

/** In processor time of a process of its own: what else the machine does meanwhile is not the page's. */
async function withServedPage(html: string, use: (address: string) => Promise<void>): Promise<void> {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    ({ url }) =>
      new URL(url).pathname === "/"
        ? new Response(html, { headers: { "content-type": "text/html; charset=utf-8" } })
        : new Response(null, { status: 404 }),
  );
  try {
    await use(`http://127.0.0.1:${server.addr.port}/`);
  } finally {
    await inTime("the page's server to end", server.shutdown());
  }
}

interface AccessibleNode {
  readonly ignored: boolean;
  readonly role?: { readonly value: string };
  readonly name?: { readonly value: string };
}

/** Every check is a heading of its name, and has a picture that is described. */
async function assertNamed(browser: Browser, count: number): Promise<void> {
  const { nodes } = await browser.command("Accessibility.getFullAXTree", {}) as {
    readonly nodes: readonly AccessibleNode[];
  };
  const namesOf = (role: string): readonly string[] =>
    nodes.filter((node) => !node.ignored && node.role?.value === role).map(({ name }) => name?.value ?? "");
  const headings = namesOf("heading");
  const titles = demoChecks(count).map(({ title }) => title ?? "");
  assert.deepEqual(titles.filter((title) => headings.filter((name) => name === title).length !== 1), []);
  const pictures = namesOf("image");
  assert.equal(pictures.length, count);
  for (const picture of pictures) assert.match(picture, /^Days: \d+ .*\. Runs took \d/);
  assert.deepEqual(namesOf("navigation"), ["Sections"]);
}

/** What axe-core finds in a part of the page, in a line each. */
async function findFaults(
  browser: Browser,
  part: string,
  options: Readonly<Record<string, unknown>>,
): Promise<readonly string[]> {
  await browser.run(axe.source);
  const body = `return axe.run(${part}, { ...arguments[0], resultTypes: ["violations"] })
    .then(({ violations, passes }) => ({
      faults: violations.map(({ id, nodes }) => id + ": " + nodes[0].html + " (" + nodes.length + ")"),
      passes: passes.length,
    }))`;
  const found = await browser.run(body, options) as {
    readonly faults: readonly string[];
    readonly passes: number;
  };
  assert.ok(found.passes > 0, "it looked");
  return found.faults;
}

async function keepPicture(name: string, browser: Browser): Promise<void> {
  const directory = Deno.env.get("PAGE_PICTURES");
  if (directory === undefined) return;
  await Deno.mkdir(directory, { recursive: true });
  await Deno.writeFile(`${directory}/${name}.png`, await browser.picture());
}
