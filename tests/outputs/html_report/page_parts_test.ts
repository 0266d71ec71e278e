/** The parts of the page beyond the checks themselves. */
import assert from "node:assert/strict";
import { PAGE_STATES, writeState } from "../../page/states.ts";

function pageOf(name: string): Promise<string> {
  return writeState(PAGE_STATES[name] ?? assert.fail(name));
}

async function textOf(name: string): Promise<string> {
  const html = await pageOf(name);
  return html.slice(html.indexOf("<header ")).replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
}

Deno.test("writeReport() shows title, description and announcements of the config, the latest first", async () => {
  const html = await pageOf("everything");
  assert.match(html, /<title>10 not ok: Status of example\.org<\/title>/);
  const text = await textOf("everything");
  assert.match(text, /^ Status of example\.org 10 of 16 checks are not ok 4 critical .* Shop, API and jobs/);
  assert.match(
    text,
    / Announcements 2026-01-31 09:30 We are looking into slow responses of the shop\. 2026-01-30 The database moves to a new server on Sunday\. Problems/,
  );
  assert.doesNotMatch(text, /This is over/);
  assert.doesNotMatch(await textOf("ok"), /Announcements/);
});

Deno.test("writeReport() shows problems first, then failures that are not confirmed, then groups by the first tag", async () => {
  const text = await textOf("everything");
  const headings = [
    "Problems (9)",
    "Pending (1)",
    "Failing, not confirmed (1)",
    " إنتاج (1)",
    " website (2)",
    " jobs (1)",
    "Other checks (1)",
    "Pending notifications (1)",
    "Silences (1)",
    "Latest incidents",
    "Inactive (1)",
  ];
  assert.deepEqual(headings.toSorted((one, other) => text.indexOf(one) - text.indexOf(other)), headings);
  assert.match(
    text,
    /Ok Flapping service last critical, 1 of 3: connection refused 90 d.*? flapping \u00b7 website Ok since .{16} critical, not confirmed /,
  );
  assert.match(
    text,
    /Pending Never succeeded critical, 1 of 3: connection refused \u00b7 2 min .*? starting Pending since /,
  );
  assert.match(
    text,
    /Critical A silenced problem [^\u00b7]* \u00b7 3 d \u00b7 silenced .*? silenced Critical since .{16} , for 3 d silenced /,
  );
  assert.match(
    text,
    /Warning In its maintenance window restarting .*?\u00b7 10 min \u00b7 maintenance .*? maintenance until 2026-01-31 13:00 /,
  );
});

Deno.test("writeReport() lists the latest incidents by day, each with a link to its check", async () => {
  const html = await pageOf("ok");
  assert.match(
    html,
    /<h2 id=incidents>Latest incidents<\/h2>[^]*<h3>\d{4}-\d\d-\d\d<\/h3><ul[^]*<a href="#check-web">Website<\/a> <b>critical<\/b>, its end was not observed: /,
  );
});

Deno.test("writeReport() shows checks without a confirmed condition as pending, and nothing as ok", async () => {
  const html = await pageOf("pending");
  assert.match(html, /<title>2 pending: monitor on host\.example<\/title>/);
  assert.match(html, /<link rel=icon href="data:image\/svg\+xml,[^"]*%232f9ab5/);
  assert.match(html, /<h1>2 of 2 checks are pending<\/h1>/);
  assert.match(
    html,
    /<nav aria-label=Sections><span class=p><a [^>]*data-q="condition:pending">2 pending<\/a><\/span><\/nav>/,
  );
  assert.equal(html.match(/<li class=p /g)?.length, 2);
  assert.match(html, /<path class=p /);
  const text = html.slice(html.indexOf("<main>"), html.indexOf("<footer>")).replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\s+/g, " ");
  assert.doesNotMatch(text, /(?<!not )\bok\b/i);
  const one = await writeState({ shown: (PAGE_STATES["pending"]?.shown ?? []).slice(0, 1) });
  assert.match(one, /<h1>The check is pending<\/h1>/);
  const ok = PAGE_STATES["ok"]?.shown ?? [];
  const mixed = await writeState({ shown: [...ok, ...PAGE_STATES["pending"]?.shown ?? []] });
  assert.match(mixed, /<h1>2 of 6 checks are pending<\/h1>/);
});

Deno.test("writeReport() reloads a file at its interval, and a live page only without JavaScript", async () => {
  const [file, live] = [await pageOf("everything"), await pageOf("live")];
  assert.match(
    file,
    /<\/style>\n<meta http-equiv=refresh content=60>\n<p id=live role=status><\/p>\n<header /,
  );
  assert.match(live, /<noscript><meta http-equiv=refresh content=60><\/noscript>/);
  const once = await writeState({ ...PAGE_STATES["ok"] ?? assert.fail(), facts: { intervalMs: null } });
  assert.doesNotMatch(once, /refresh/);
});

Deno.test("writeReport() links each check of a live page to its own page", async () => {
  const live = await pageOf("live");
  assert.match(live, /<h3>🛒 Shop.*?<a href="checks\/emoji%20%F0%9F%9B%92">/);
  const one = await pageOf("one_check");
  assert.match(one, /<title>critical: Shop: monitor on host\.example<\/title>/);
  assert.match(one, /<nav aria-label=Sections><a href=\.\.\/>All checks<\/a><\/nav>/);
  assert.match(
    one,
    /<summary>Last 50 runs<\/summary><ul class=e><li><time>2026-01-31 11:00<\/time> <b>critical<\/b> /,
  );
});
