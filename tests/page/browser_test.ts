/** The page in Debian's Chromium. `PAGE_PICTURES` may name a directory for screenshots. */
import assert from "node:assert/strict";
import type { Check } from "../../src/domain/check.ts";
import { CHECK_SCRIPT } from "../../src/outputs/http_endpoint/check_script.ts";
import { LIVE_SCRIPT } from "../../src/outputs/html_report/page_assets.ts";
import type { PageFacts } from "../../src/outputs/html_report/snapshot.ts";
import { truncate } from "../../src/shared/text.ts";
import { findFaults } from "./axe.ts";
import { type Browser, browserTests } from "./browser.ts";
import { inTime } from "../life/in_time.ts";
import { shortOrFull } from "../../testing/full_form.ts";
import { OTHER_PAGES, PAGE_STATES, type PageState, shown, writeState } from "./states.ts";

const VIEWS = {
  "phone-light": { width: 390, height: 844, scheme: "light" },
  "phone-dark": { width: 390, height: 844, scheme: "dark" },
  "tablet-light": { width: 800, height: 1100, scheme: "light" },
  "tablet-dark": { width: 800, height: 1100, scheme: "dark" },
  "laptop-light": { width: 1440, height: 900, scheme: "light" },
  "laptop-dark": { width: 1440, height: 900, scheme: "dark" },
  "wall-light": { width: 2560, height: 1440, scheme: "light" },
  "wall-dark": { width: 2560, height: 1440, scheme: "dark" },
} as const;
const PICTURES = Deno.env.get("PAGE_PICTURES");

const test = browserTests("page in a browser");

type View = keyof typeof VIEWS;
const EVERY_VIEW = Object.keys(VIEWS) as View[];
const ONE_OF_EACH_SIZE: readonly View[] = ["phone-light", "laptop-dark", "wall-light"];

/** Returns those of a desk if screenshots are taken; otherwise one of each size, and of the other states one in all. */
function viewsOf(state: string): readonly View[] {
  if (PICTURES !== undefined) return EVERY_VIEW.filter((view) => !view.startsWith("wall"));
  const every = EVERY_VIEW.filter((view) => !view.startsWith("tablet"));
  return shortOrFull(state === "everything" ? ONE_OF_EACH_SIZE : ["phone-light"], every);
}

test("writeReport() renders every state without findings of a browser and axe-core", async (browser, t) => {
  const look = (name: string, html: string, assertMore?: () => Promise<void>): Promise<void> =>
    withServedPage(html, async (address) => {
      for (const view of viewsOf(name)) {
        await t.step(`${name}, ${view}`, async () => {
          await openPage(browser, address, view);
          await keepPicture(`${name}-${view}`, browser);
          assert.deepEqual(await findFaults(browser), []);
          await assertMore?.();
        });
      }
    });
  for (const [name, state] of Object.entries(PAGE_STATES)) {
    const checks = state.shown.map(({ check }) => check);
    await look(name, await writeState(state), () => assertNamed(browser, checks, state));
  }
  for (const [name, write] of Object.entries(OTHER_PAGES)) await look(name, write());
});

test("writeReport() makes a file that claims nothing once it is out of date", async (browser, t) => {
  const state = PAGE_STATES["ok"] ?? assert.fail();
  const shown = async (facts: Partial<PageFacts>): Promise<unknown> => {
    const html = await writeState({ ...state, facts });
    let text: unknown;
    await withServedPage(html, async (address) => {
      await openPage(browser, address, "laptop-light");
      await keepPicture(`old-${facts.intervalMs}`, browser);
      text = await browser.run(`return [
        document.documentElement.className,
        document.querySelector("h1").textContent.replace(/[0-9]+ d old$/, "N d old"),
        document.title.slice(0, 2),
        document.querySelector("link[rel=icon]").href.includes("%3E?%3C"),
        document.getElementById("live").textContent.replace(/^(Not updated since) .*\\d\\d:\\d\\d:\\d\\d \\S+\\. .*/, "$1"),
        getComputedStyle(document.querySelector("main")).filter.includes("grayscale"),
        document.querySelector("nav").textContent.startsWith("Last known: "),
        [...document.querySelectorAll(".g>summary>h2")].every((title) => title.textContent.startsWith("Last known: ")),
      ]`);
    });
    return text;
  };
  const old = ["old", "Unknown: this page is N d old", "? ", true, "Not updated since", true, true, true];
  await t.step("renewed", async () => assert.deepEqual(await shown({ intervalMs: 3_600_000 }), old));
  await t.step("written once", async () => assert.deepEqual(await shown({ intervalMs: null }), old));
  await t.step("new", async () => {
    const facts = { nowMs: Date.now(), intervalMs: 3_600_000 };
    const [name, , title, ...rest] = await shown(facts) as readonly unknown[];
    assert.deepEqual([name, title, ...rest], ["", "4 ", false, "", false, false, false]);
  });
});

test("the page filters and sorts while the reader types, and keeps the filter in its URL", async (browser) => {
  for (const name of ["live", "everything"]) {
    await withServedPage(await writeState(PAGE_STATES[name] ?? assert.fail()), async (address) => {
      const see = async (): Promise<unknown> =>
        await browser.run(`return [
          [...document.querySelectorAll("main li[id]")].filter((row) => row.checkVisibility()).map((row) =>
            row.id.slice(6, 14)
          ).join(" "),
          document.getElementById("found").textContent,
          location.search,
        ]`);
      const type = (text: string): Promise<unknown> => browser.command("Input.insertText", { text });
      await openPage(browser, `${address}?tag=jobs`, "laptop-light");
      assert.deepEqual(await see(), ["mail backup", "2 of 16 checks", "?tag=jobs"]);
      await press(browser, ESCAPE, "input");
      assert.deepEqual((await see() as readonly string[]).slice(1), ["", ""]);
      await press(browser, SLASH);
      await type("refused condition:critical");
      assert.deepEqual(await see(), ["silenced", "1 of 16 checks", "?q=refused+condition%3Acritical"]);
      await browser.run(`document.querySelector("nav .w a").click()`);
      assert.deepEqual(await see(), ["mail maintain", "2 of 16 checks", "?q=condition%3Awarning"]);
      await browser.run(`
        const { sort } = document.querySelector("form");
        sort.value = "name";
        sort.dispatchEvent(new Event("input", { bubbles: true }));`);
      assert.deepEqual(await see(), [
        "maintain mail",
        "2 of 16 checks",
        "?q=condition%3Awarning&sort=name",
      ]);
      assert.deepEqual(await browser.console(), []);
    });
  }
});

test("a page of many checks shows the first rows of a section, the one of a link, and all on request", async (browser) => {
  const many = Array.from({ length: 300 }, (_, index) => shown(`many ${index}|||`));
  await withServedPage(await writeState({ shown: many, silences: [] }), async (address) => {
    await openPage(browser, address, "laptop-light");
    const see = async (): Promise<unknown> =>
      await browser.run(`return [
        [...document.querySelectorAll("main li[id]")].filter((row) => row.checkVisibility()).length,
        [...document.querySelectorAll("section button")].filter((one) => !one.hidden).map((one) => one.textContent).join(),
        document.getElementById("found").textContent,
      ]`);
    const type = (text: string): Promise<unknown> =>
      browser.run(`
        const { q } = document.querySelector("form");
        q.value = "${text}";
        q.dispatchEvent(new Event("input", { bubbles: true }));`);
    assert.deepEqual(await see(), [250, "Show 50 more", ""]);
    assert.deepEqual(await findFaults(browser), []);
    await type("many 29");
    assert.deepEqual(await see(), [13, "", "13 of 300 checks"]);
    await type("none of them");
    assert.deepEqual(await see(), [0, "", "0 of 300 checks"]);
    assert.equal(
      await browser.run(`return document.querySelector("section h2").checkVisibility()`),
      false,
    );
    await type("");
    await browser.run(
      `location.hash = "check-many%20299"; return new Promise((resolve) => setTimeout(resolve))`,
    );
    assert.deepEqual(await see(), [251, "Show 49 more", ""]);
    assert.equal(
      await browser.run(`return document.getElementById("check-many%20299").checkVisibility()`),
      true,
    );
    await browser.run(`document.querySelector("section button").click()`);
    assert.deepEqual(await see(), [300, "", ""]);
    assert.deepEqual(await browser.console(), []);
  });
});

test("the page of a check draws charts that keep their zoom, and copies commands", async (browser) => {
  const html = await writeState(PAGE_STATES["one_check"] ?? assert.fail());
  await withServedPage(html, async (address) => {
    for (const view of ["phone-dark", "laptop-light"] as const) {
      await openPage(browser, `${address}checks/shop`, view);
      const [charts, hidden, buttons, overflow] = await browser.run(`return [
        document.querySelectorAll("figure .uplot canvas").length,
        [...document.querySelectorAll(".plot")].every((plot) => !plot.checkVisibility()),
        document.querySelectorAll(".commands button").length,
        Math.max(0, document.documentElement.scrollWidth - innerWidth),
      ]`) as readonly unknown[];
      assert.deepEqual([charts, hidden, buttons, overflow], [3, true, 4, 0]);
      assert.deepEqual(await findFaults(browser), []);
      await browser.run("document.querySelector('#durations').scrollIntoView()");
      await keepPicture(`charts-${view}`, browser);
    }
    const zoomed = await browser.run(`
      const over = document.querySelector(".u-over");
      const { left, top, width } = over.getBoundingClientRect();
      const send = (type, part) => over.dispatchEvent(new MouseEvent(type, {
        bubbles: true, clientX: left + part * width, clientY: top + 20, button: 0,
      }));
      send("mousemove", 0.25);
      send("mousedown", 0.25);
      send("mousemove", 0.5);
      document.dispatchEvent(new MouseEvent("mousemove", { clientX: left + 0.5 * width, clientY: top + 20 }));
      document.dispatchEvent(new MouseEvent("mouseup", { clientX: left + 0.5 * width, clientY: top + 20, button: 0 }));
      const root = document.querySelector(".uplot");
      const main = document.querySelector("main");
      const fresh = new DOMParser().parseFromString(main.outerHTML, "text/html").querySelector("main");
      for (const old of fresh.querySelectorAll(".uplot,.commands button")) old.remove();
      main.replaceWith(document.adoptNode(fresh));
      return new Promise((resolve) => setTimeout(() => resolve([
        document.querySelector(".uplot") === root,
        document.querySelectorAll("figure .uplot").length,
        document.querySelectorAll(".commands button").length,
      ])));`);
    assert.deepEqual(zoomed, [true, 3, 4], "an update keeps the charts");
    await browser.command("Browser.grantPermissions", {
      permissions: ["clipboardReadWrite", "clipboardSanitizedWrite"],
    });
    const copied = await browser.run(`
      document.querySelector(".commands button").click();
      return new Promise((resolve) => setTimeout(() => navigator.clipboard.readText().then(resolve), 100));`);
    assert.equal(copied, "monitor why shop");
    assert.deepEqual(await browser.console(), []);
  });
});

const ESCAPE = { key: "Escape", code: "Escape", windowsVirtualKeyCode: 27 };
const SLASH = { key: "/", code: "Slash", windowsVirtualKeyCode: 191 };

/** Presses a key in the focused element, or in another one. */
async function press(
  browser: Browser,
  key: Readonly<Record<string, unknown>>,
  element?: string,
): Promise<void> {
  if (element !== undefined) await browser.run(`document.querySelector("${element}").focus()`);
  for (const type of ["keyDown", "keyUp"]) await browser.command("Input.dispatchKeyEvent", { type, ...key });
}

/** Opens a page, which asks for nothing else, writes nothing to the console, and fits into the window. */
async function openPage(browser: Browser, address: string, view: View): Promise<void> {
  await browser.look(VIEWS[view]);
  await browser.requests();
  await browser.open(address);
  assert.deepEqual(await browser.console(), []);
  const requests = await browser.requests();
  // The page before may have asked for something, too.
  const own = requests.slice(requests.indexOf(address)).filter((url) => !/\/(?:live|check)\.js$/.test(url));
  assert.deepEqual(own, [address], "it asks for nothing else");
  assert.equal(await browser.run(IS_DARK), VIEWS[view].scheme === "dark");
  assert.equal(await browser.run(OVERFLOW), 0, "nothing is wider than the window");
}

const IS_DARK = "return matchMedia('(prefers-color-scheme: dark)').matches";
const OVERFLOW = "return Math.max(0, document.documentElement.scrollWidth - innerWidth)";

/** Processor time of a separate process: other load of the machine is not the page's. */
async function withServedPage(html: string, use: (address: string) => Promise<void>): Promise<void> {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    ({ url }) =>
      new URL(url).pathname.endsWith("/live.js")
        ? new Response(LIVE_SCRIPT, { headers: { "content-type": "text/javascript" } })
        : new URL(url).pathname.endsWith("/check.js")
        ? new Response(CHECK_SCRIPT, { headers: { "content-type": "text/javascript" } })
        : ["/", "/checks/shop"].includes(new URL(url).pathname)
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

/** Asserts that every shown check is a heading, and that pictures describe when a check was not ok. */
async function assertNamed(
  browser: Browser,
  checks: readonly Pick<Check, "name" | "title" | "tags">[],
  { public: publicTags, facts }: PageState,
): Promise<void> {
  const hasGroups = (facts?.text?.groups.length ?? 0) > 0;
  const { nodes } = await browser.command("Accessibility.getFullAXTree", {}) as {
    readonly nodes: readonly AccessibleNode[];
  };
  const namesOf = (role: string): readonly string[] =>
    nodes.filter((node) => !node.ignored && node.role?.value === role).map(({ name }) => name?.value ?? "");
  const headings = namesOf("heading");
  const isShown = ({ tags }: Pick<Check, "tags">): boolean =>
    publicTags === undefined || tags.some((tag) => publicTags.includes(tag));
  const isPublic = publicTags !== undefined;
  for (const check of checks) {
    const title = truncate(check.title ?? check.name, 120);
    // A group of one check has the title of the group.
    const expected = isShown(check) ? hasGroups && isPublic ? null : 1 : 0;
    if (expected !== null) assert.equal(headings.filter((name) => name === title).length, expected, title);
  }
  for (const picture of namesOf("graphics-symbol")) {
    assert.match(
      picture,
      isPublic
        ? /^(Outage|Degraded|No reliable data): .*\d$/
        : /^(90 d: |24 h: |\d+ of \d+ runs )(failed runs|pending|unknown|warning|critical): .*\d$/,
    );
  }
  assert.deepEqual(namesOf("navigation"), isPublic ? [] : ["Sections"]);
}

async function keepPicture(name: string, browser: Browser): Promise<void> {
  if (PICTURES === undefined) return;
  await Deno.mkdir(PICTURES, { recursive: true });
  await Deno.writeFile(`${PICTURES}/${name}.png`, await browser.picture());
}
