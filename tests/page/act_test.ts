/** Signing in and acting on the live page of the real program, on a phone. */
import assert from "node:assert/strict";
import { inTime } from "../life/in_time.ts";
import { type Harness, type Program, withHarness } from "../life/program.ts";
import { findFaults } from "./axe.ts";
import { type Browser, browserTests, untilTrue } from "./browser.ts";

const TOKEN = "a-token-of-20-letters";
const test = browserTests("live page");
const PHONE = { width: 390, height: 844, scheme: "light" } as const;

test("a person signs in, takes each action, undoes it and signs out", (browser) =>
  withHarness(async (harness) => {
    const { program, origin } = await startService(harness);
    await browser.look(PHONE);
    await browser.open(`${origin}/checks/shop%2Fweb`);
    assert.equal(
      await browser.run("return location.pathname + location.search"),
      "/sign-in?check=shop%2Fweb",
    );
    await assertUsable(browser);
    await fill(browser, { by: "Eve", token: "a-wrong-token-of-letters" });
    await submit(browser, ".sign button", `"This is not the token."`, "[role=alert]");
    await fill(browser, { by: "Ada", token: TOKEN });
    await click(browser, ".sign button");
    await untilTrue(browser, `location.pathname === "/checks/shop%2Fweb"`);
    assert.equal(await browser.run("return location.hash"), "#acknowledge");
    assert.equal(await browser.run("return document.cookie"), "", "scripts cannot read it");
    await assertUsable(browser);

    await fill(browser, { note: "on it" });
    await submit(
      browser,
      "#acknowledge button",
      `"Acknowledged: no reminders and no escalation until it is ok."`,
    );
    await submit(
      browser,
      ".done button",
      `"Ended: acknowledgement. What is still due is sent within half a minute."`,
    );
    for (const value of ["silence 1 hour", "silence 4 hours", "silence 08:00", "silence ok"]) {
      await submit(
        browser,
        `button[value="${value}"]`,
        STARTS("Silenced until "),
      );
    }
    await fill(browser, { for: "2 hours" });
    await submit(browser, `button[value="silence"]`, STARTS("Silenced until "));
    await submit(browser, `button[value="end silence"]`, STARTS("Ended: silence"));
    await fill(browser, { for: "2 hous" });
    await submit(browser, `button[value="silence"]`, STARTS("Nothing was done: "));
    await browser.run(`document.querySelector(".maintenance").open = true`);
    await assertUsable(browser);
    await submit(browser, `button[value="maintenance 1 hour"]`, STARTS("In maintenance until "));
    await submit(browser, `button[value="end maintenance"]`, STARTS("Ended: maintenance"));
    await submit(browser, `button[value="run"]`, `"The check runs now. Its result appears here."`);
    await assertUsable(browser);
    const history = await harness.run(["history", "shop/web"]);
    assert.match(history.stdout, /run requested by Ada from 127\.0\.0\.1/);
    assert.match(history.stdout, /acknowledged by Ada from 127\.0\.0\.1: on it/);

    // What is typed stays while the page updates.
    await browser.run(`document.querySelector(".note").focus()`);
    await browser.command("Input.insertText", { text: "half a sent" });
    await browser.run(`document.querySelector("header").dataset.made = "old"`);
    await browser.run(`document.activeElement.blur()`);
    await untilTrue(browser, `document.querySelector("header").dataset.made !== "old"`);
    assert.equal(await browser.run(`return document.querySelector(".note").value`), "half a sent");

    await browser.open(`${origin}/`);
    await browser.run(`document.querySelector(".row").open = true`);
    await assertUsable(browser);
    await click(browser, `.row button[value="silence ok"]`);
    await untilTrue(
      browser,
      `document.querySelector(".done p")?.textContent === "Silenced until it is ok."`,
    );
    const stolen = await browser.run(`return document.querySelector("#acknowledge [name=token]").value`);
    await click(browser, `footer button`);
    await untilTrue(browser, `location.pathname + location.search === "/sign-in"`);
    const forged = await fetch(`${origin}/act`, {
      method: "POST",
      headers: { origin },
      body: new URLSearchParams({ check: "shop%2Fweb", do: "silence 1 hour", token: String(stolen) }),
    });
    assert.match(await forged.text(), /you are signed out/);
    assert.equal(forged.status, 403);
    // The browser itself notes the response to the wrong token.
    assert.deepEqual(
      (await browser.console()).filter((line) => !/sign-in .* status of 403/.test(line)),
      [],
    );
    program.signal("SIGTERM");
    assert.equal((await program.end()).code, 0);
  }));

test("another site cannot act in the browser of a person who is signed in", (browser) =>
  withHarness(async (harness) => {
    const { program, origin } = await startService(harness);
    await browser.open(`${origin}/sign-in`);
    await fill(browser, { by: "Ada", token: TOKEN });
    await click(browser, ".sign button");
    await untilTrue(browser, `document.querySelector("footer .act") !== null`);
    await browser.open(`${origin}/checks/shop%2Fweb`);
    const token = await browser.run(`return document.querySelector("#acknowledge [name=token]").value`);
    const forms = (target: string): string =>
      `<!doctype html><form method=post action="${target}/act"><input name=check value="shop%2Fweb">` +
      `<input name=token value="${token}"><input name=do value="silence 1 hour"></form>`;
    // The same host with another port is the same site, so that its cookies are sent.
    const other = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => new Response(forms(origin), { headers: { "content-type": "text/html" } }),
    );
    try {
      for (const host of ["127.0.0.1", "localhost"]) {
        await browser.open(`http://${host}:${other.addr.port}/`);
        await browser.run(`document.querySelector("form").submit()`);
        await untilTrue(browser, `location.pathname === "/act"`);
        await untilTrue(
          browser,
          `document.querySelector("[role=alert]")?.textContent.startsWith("Nothing was done")`,
        );
      }
      await browser.open(`http://127.0.0.1:${other.addr.port}/`);
      const framed = await browser.run(`
        const frame = document.createElement("iframe");
        frame.src = "${origin}/checks/shop%2Fweb";
        document.body.append(frame);
        return new Promise((resolve) => frame.onload = () => {
          let text = "";
          try { text = frame.contentDocument.body.textContent; } catch { /* another origin */ }
          resolve(text.includes("Acknowledge"));
        });`);
      assert.equal(framed, false, "no other page may frame it");
    } finally {
      await inTime("the other site to end", other.shutdown());
    }
    const { silences } = JSON.parse((await harness.run(["status", "--format", "json"])).stdout);
    assert.deepEqual(silences, []);
    // A link of another site opens the page nevertheless: the session goes on.
    await browser.open(`${origin}/checks/shop%2Fweb`);
    assert.notEqual(await browser.run(`return document.getElementById("acknowledge")`), null);
    program.signal("SIGTERM");
    assert.equal((await program.end()).code, 0);
  }));

const STARTS = (text: string): string => `said.startsWith(${JSON.stringify(text)})`;

async function fill(browser: Browser, values: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(values)) {
    await browser.run(`document.querySelector("main [name=${name}]").value = arguments[0]`, value);
  }
}

async function click(browser: Browser, button: string): Promise<void> {
  await browser.run(`document.querySelector(arguments[0]).click()`, button);
}

/** Clicks a button, and waits for what the next page says: a text in quotes, or a condition on `said`. */
async function submit(browser: Browser, button: string, expected: string, place = ".done p"): Promise<void> {
  await browser.run(`window.isBefore = true`);
  await click(browser, button);
  const condition = expected.startsWith('"') ? `said === ${expected}` : expected;
  await untilTrue(
    browser,
    `window.isBefore !== true && ((said) => ${condition})(document.querySelector("${place}")?.textContent ?? "")`,
  );
}

/** Asserts that a phone can use the page: nothing is too wide, buttons and fields are large, and axe is silent. */
async function assertUsable(browser: Browser): Promise<void> {
  assert.equal(await browser.run("return Math.max(0, document.documentElement.scrollWidth - innerWidth)"), 0);
  const small = await browser.run(
    `return [...document.querySelectorAll(".act button,.act input:not([type=hidden])")]
    .filter((one) => one.checkVisibility())
    .filter((one) => one.getBoundingClientRect().height < 44 || one.getBoundingClientRect().width < 44)
    .map((one) => one.outerHTML)`,
  );
  assert.deepEqual(small, []);
  assert.deepEqual(await findFaults(browser), []);
}

/** A service with a problem, which has been sent. */
async function startService(
  harness: Harness,
): Promise<{ readonly program: Program; readonly origin: string }> {
  harness.writeConfig({
    "shop/web": { kind: "test", parameters: { condition: "critical", output: "status is 503" } },
    db: { kind: "test", parameters: {} },
  }, { state: "state.sqlite", listen: { address: "127.0.0.1:0", token: TOKEN, actions: true, interval: 1 } });
  const program = harness.start(["check"]);
  const line = await program.stderr.next("listening on http://");
  await program.stdout.next("CRITICAL");
  return { program, origin: /http:\/\/[\d.:]+/.exec(line)?.[0]?.replace(/:$/, "") ?? assert.fail(line) };
}
