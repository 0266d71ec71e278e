/** The live page of the real program in Debian's Chromium. */
import assert from "node:assert/strict";
import { type Harness, type Program, withHarness } from "../life/program.ts";
import { type Browser, requiresBrowser, untilTrue, withBrowser } from "./browser.ts";

Deno.test({
  ...requiresBrowser(),
  name: "live page: it follows a check that fails and recovers, and keeps opened details",
  fn: () =>
    withHarness((harness) =>
      withBrowser(async (browser) => {
        const program = startService(harness);
        const origin = await originOf(program);
        await program.stdout.next("CRITICAL");
        set(harness, "fine", 0);
        await program.stdout.next(" again");
        // So small that the list has to be scrolled.
        await browser.look({ width: 600, height: 300, scheme: "light" });
        await browser.requests();
        await browser.open(`${origin}/`);
        assert.equal(
          await browser.run("return document.querySelector('h1').textContent"),
          "1 of 22 checks is not ok",
        );
        await browser.run(`
          window.isSame = true;
          const item = [...document.querySelectorAll(".r>li")].find((one) => one.querySelector("h3").textContent === "web");
          item.scrollIntoView();`);
        await untilTabbedTo(browser, `${WEB}.querySelector("summary")`);
        await press(browser, ENTER);
        assert.equal(await browser.run(`return ${IS_OPEN}`), true, "the keyboard opens details");
        const before = Number(await browser.run(`return ${TOP_OF_WEB}`));
        set(harness, "out of order", 2);
        await untilTrue(browser, `document.querySelector("h1").textContent.startsWith("2 of 22")`);
        assert.equal(await browser.run(`return ${IS_OPEN}`), true, "the details of the check stay open");
        assert.equal(await browser.run(`return ${FOCUSED}`), "web", "the focus stays");
        assert.equal(await browser.run("return document.title.startsWith('2 not ok')"), true);
        assert.equal(
          await browser.run("return document.getElementById('live').textContent"),
          "2 of 22 checks are not ok",
          "the change is announced to screen readers",
        );
        set(harness, "fine", 0);
        await untilTrue(browser, `document.querySelector("h1").textContent.startsWith("1 of 22")`);
        assert.equal(await browser.run(`return ${IS_OPEN}`), true);
        const moved = Math.abs(Number(await browser.run(`return ${TOP_OF_WEB}`)) - before);
        // Heights have fractions, scroll positions have none.
        assert.ok(moved <= 1, `what was read stays where it was: ${moved}`);
        assert.equal(await browser.run("return window.isSame"), true, "it was not loaded again");
        await browser.run(
          `document.querySelectorAll("footer,section:last-of-type").forEach((one) => one.remove())`,
        );
        await untilTrue(browser, `window.isSame === undefined && document.querySelector("footer") !== null`);
        assert.equal(
          await browser.run(`return document.querySelectorAll("main li[id]").length`),
          22,
          "it was cut",
        );
        await browser.run(`${WEB}.querySelector(".y a").click()`);
        await untilTrue(browser, `document.title.startsWith("web: monitor on ")`);
        await browser.run(`document.querySelector("li details:last-of-type").open = true`);
        set(harness, "out of order", 2);
        await untilTrue(browser, `document.title.startsWith("critical: web")`);
        assert.equal(
          await browser.run(`return document.querySelector("li details:last-of-type").open`),
          true,
        );
        set(harness, "fine", 0);
        await untilTrue(browser, `document.title.startsWith("web: monitor on ")`);
        await browser.run(`document.querySelector("nav a").click()`);
        await untilTrue(browser, `document.querySelector("h1").textContent.startsWith("1 of 22")`);
        assert.deepEqual(await browser.console(), []);
        const requests = new Set((await browser.requests()).map((url) => url.replace(/\?since=.*$/, "")));
        assert.deepEqual([...requests].filter((url) => !url.startsWith("data:")).sort(), [
          `${origin}/`,
          `${origin}/check.js`,
          `${origin}/checks/web`,
          `${origin}/live.js`,
        ]);

        program.signal("SIGTERM");
        assert.equal((await program.end()).code, 0);
        await untilTrue(
          browser,
          `document.getElementById("live").textContent.startsWith("Not updated since ")`,
        );
        const [headline, width] = await browser.run(`return [
          document.querySelector("h1").textContent.replace(/[0-9]+/, "N"),
          document.getElementById("live").offsetWidth,
        ]`) as readonly [string, number];
        assert.equal(headline, "Unknown: this page is N min old");
        assert.ok(width > 100, "it is seen");
      })
    ),
});

const TAB = { key: "Tab", code: "Tab", windowsVirtualKeyCode: 9 };
const ENTER = { key: "Enter", code: "Enter", windowsVirtualKeyCode: 13, text: "\r" };

async function press(browser: Browser, key: Readonly<Record<string, unknown>>): Promise<void> {
  await browser.command("Input.dispatchKeyEvent", { type: "keyDown", ...key });
  await browser.command("Input.dispatchKeyEvent", { type: "keyUp", ...key });
}

const TABS_MAX = 200;

async function untilTabbedTo(browser: Browser, element: string): Promise<void> {
  for (let count = 0; count < TABS_MAX; count++) {
    await press(browser, TAB);
    if (await browser.run(`return document.activeElement === ${element}`) === true) return;
  }
  assert.fail(`the Tab key does not reach ${element}`);
}

const WEB =
  `[...document.querySelectorAll(".r>li")].find((one) => one.querySelector("h3").textContent === "web")`;
const IS_OPEN = `${WEB}.querySelector("details").open`;
const TOP_OF_WEB = `Math.round(${WEB}.getBoundingClientRect().top)`;
const FOCUSED = `document.activeElement.closest(".r>li")?.querySelector("h3").textContent`;

/** 21 checks that are ok and have a history, and one with a problem; `web` has two changes. */
function startService(harness: Harness): Program {
  harness.writeScript("state", "cat state.txt; exit $(cat code.txt)");
  set(harness, "out of order", 2);
  const script = (args: readonly string[]): unknown => ({
    kind: "script",
    parameters: { path: "./state", arguments: args },
  });
  const others = Array.from(
    { length: 20 },
    (_, index) => [`check${index}`, { kind: "test", parameters: { condition: "ok" } }],
  );
  harness.writeConfig(
    { ...Object.fromEntries(others), web: script([]), zoo: { kind: "test", parameters: {} } },
    { listen: { address: "127.0.0.1:0", interval: 1 } },
  );
  return harness.start(["check"]);
}

function set(harness: Harness, text: string, code: number): void {
  Deno.writeTextFileSync(`${harness.directory}/state.txt`, `${text}\nmore of it\n`);
  Deno.writeTextFileSync(`${harness.directory}/code.txt`, String(code));
}

async function originOf(program: Program): Promise<string> {
  const line = await program.stderr.next("listening on http://");
  return /http:\/\/[\d.:]+/.exec(line)?.[0] ?? assert.fail(line);
}
