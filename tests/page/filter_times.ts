/**
 * Prints the milliseconds that filters of a page take until they are drawn, for `deno task bench page`. Without a browser
 * it prints an empty list.
 */
import { requiresBrowser, withBrowser } from "./browser.ts";

/** Filters as a reader does who types. */
const FILTER_SCRIPT = `return (async () => {
  const input = document.querySelector("input[type=search]");
  const times = [];
  await new Promise((resolve) => requestIdleCallback(resolve));
  for (const words of ["check 1", "check 12", "check 123", "", "condition:ok check 9", "nothing at all", ""]) {
    const beganMs = performance.now();
    input.value = words;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    times.push(performance.now() - beganMs);
  }
  return times;
})()`;

const [origin = ""] = Deno.args;
// Chromium has a socket there, whose path must be short.
Deno.env.delete("TMPDIR");
const times: unknown[] = [];
if (!requiresBrowser().ignore) {
  await withBrowser(async (browser) => {
    await browser.open(origin);
    times.push(...await browser.run(FILTER_SCRIPT) as readonly unknown[]);
  });
}
console.log(JSON.stringify(times));
