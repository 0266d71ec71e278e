import assert from "node:assert/strict";
import type { CheckStatus } from "../../../src/engine/check_status.ts";
import { groupChecks, type PageCheck } from "../../../src/outputs/html_report/snapshot.ts";
import { publicChecks, publicStatus } from "../../../src/outputs/html_report/public_page.ts";
import { recordOf, resultOf, silenceOf } from "../../state/records.ts";
import { testCheck } from "../../support/checks.ts";
import { PAGE_STATES, shown, writeState } from "../../page/states.ts";
import { type Rows, testRows } from "../../support/rows.ts";

function pageOf(name: string): Promise<string> {
  return writeState(PAGE_STATES[name] ?? assert.fail(name));
}

const TAGGED = (PAGE_STATES["everything"]?.shown ?? []).filter(({ check: { name } }) =>
  ["shop", "maintained", "silenced"].includes(name)
).map((one) => ({ ...one, check: { ...one.check, tags: ["website"] } }));

Deno.test("publicChecks() keeps active checks with one of the tags, and these tags alone", () => {
  const checks = Object.entries({ a: ["website", "inner"], b: ["inner"], c: [], d: ["website"], e: ["api"] })
    .map(([name, tags]) => ({ ...testCheck("ok", { name }), tags, active: name !== "d" }));
  assert.deepEqual(publicChecks(checks, ["website", "api"]).map(({ tags }) => tags), [["website"], ["api"]]);
});

Deno.test("writeReport() shows only checks with its tags on a public page, without private fields", async () => {
  const whole = await pageOf("everything");
  const hidden = ["host.example", "monitor.jsonc", "status is 503", "retry-after", "192.0.2.7", "Mail queue"]
    .concat("connection refused", ">shop<", "check-shop", "silenced", "Pending notifications", "Inactive");
  for (const name of ["public", "public_groups"]) {
    const open = await pageOf(name);
    for (const text of hidden) {
      assert.ok(whole.includes(text) || text === ">shop<", text);
      assert.ok(!open.includes(text), `${name}: ${text}`);
    }
    for (const text of ["Status of example.org", "<time>2026-01-31 09:30</time> We are looking into slow"]) {
      assert.ok(open.includes(text), text);
    }
    assert.doesNotMatch(open, /This is over/);
  }
  assert.match(await pageOf("public"), /<h3>Shop<\/h3>/);
});

/** The headline, and each service with its state, both in order; lines of a group begin with a space. */
async function servicesOf(name: string): Promise<readonly string[]> {
  const html = await pageOf(name);
  const found = html.matchAll(
    /<h1>(.*?)<\/h1>|(<li class=. id=group)|<h3>(.*?)<\/h3><p><b>(.*?)<\/b>(?: (?:since|until) <time>(.*?)<\/time>)?/g,
  );
  let isFirst = false;
  return [...found].flatMap(([, headline, begin, title, state, time]) => {
    if (headline !== undefined) return [headline];
    if (begin !== undefined) isFirst = true;
    if (title === undefined) return [];
    const line = [`${isFirst ? "" : " "}${title.slice(0, 20)}`, state, ...time === undefined ? [] : [time]];
    isFirst = false;
    return [line.join(", ")];
  });
}

Deno.test("writeReport() groups the services of a public page, with the worst state of each group", async () => {
  assert.deepEqual(await servicesOf("public"), [
    "Some services have problems",
    "Shop, Outage, 2026-01-31 09:00",
    "Flapping service, Operational",
    "anamewithoutanyspace, Outage, 2026-01-31 10:59",
    "Website, Operational",
    "API, Operational",
  ]);
  assert.deepEqual(await servicesOf("public_groups"), [
    "Some services have problems",
    "Buying, Partial outage, 2026-01-31 09:00",
    " Shop, Outage, 2026-01-31 09:00",
    " API, Operational",
    "The rest, Partial outage, 2026-01-31 10:59",
    " Flapping service, Operational",
    " anamewithoutanyspace, Outage, 2026-01-31 10:59",
    " Website, Operational",
  ]);
  assert.deepEqual(await servicesOf("public_ok"), [
    "All services are operational",
    "Buying, Operational",
    "The rest, Operational",
  ]);
});

Deno.test("groupChecks() lists each check once, those without a group in that without tags and names, or last", async (t) => {
  const checks = Object.entries({ a: ["one"], b: ["two", "one"], c: [], d: [] }).map(([name, tags]) =>
    ({ check: { name, tags } }) as unknown as PageCheck
  );
  const rows: Rows<[groups: Readonly<Record<string, string>>, expected: string]> = {
    "in order": [{ One: "one", Two: "two" }, "One a b, - c d"],
    "by the first tag that a group has": [{ Two: "two", One: "one" }, "Two b, One a, - c d"],
    "by name": [{ C: "=c", Two: "two" }, "C c, Two b, - a d"],
    "the rest first": [{ Rest: "", Two: "two" }, "Rest a c d, Two b"],
    "an empty group": [{ None: "none", Rest: "" }, "Rest a b c d"],
  };
  await testRows(t, rows, ([groups, expected]) => {
    const given = Object.entries(groups).map(([title, text]) => ({
      title,
      tags: text === "" || text.startsWith("=") ? [] : [text],
      checks: text.startsWith("=") ? [text.slice(1)] : [],
    }));
    const found = groupChecks(checks, given).map(({ group, members }) =>
      [group?.title ?? "-", ...members.map(({ check }) => check.name)].join(" ")
    );
    assert.equal(found.join(", "), expected);
  });
});

Deno.test("writeReport() claims nothing on a public page while no service runs", async () => {
  assert.deepEqual(await servicesOf("public_stopped"), [
    "There is no current data",
    "Shop, No current data",
    "In its maintenance w, No current data",
    "Website, No current data",
    "API, No current data",
  ]);
});

/** The state of services with some conditions, and the headline of their page. */
Deno.test("publicPage() turns conditions into the states of services", async (t) => {
  const rows: Rows<[lines: readonly string[], headline: string, states: readonly string[]]> = {
    "a warning": [["a|A|website|warning|5"], "All services have problems", ["Degraded"]],
    "a failure that is not confirmed": [
      ["a|A|website|pending", "b|B|website"],
      "There is no current data for some services",
      ["No current data", "Operational"],
    ],
    "no run": [["a|A|website|"], "There is no current data", ["No current data"]],
    "unknown": [["a|A|website|unknown|5"], "There is no current data", ["No current data"]],
    "nothing": [[], "There is no current data", []],
  };
  await testRows(t, rows, async ([lines, headline, states]) => {
    const html = await writeState({
      shown: lines.map((line) => shown(line)),
      public: ["website"],
      silences: [],
    });
    assert.match(html, new RegExp(`<h1>${headline}</h1>`));
    assert.deepEqual([...html.matchAll(/<p><b>(.*?)<\/b>/g)].map(([, state]) => state), states);
  });
});

Deno.test("writeReport() has the days of problems and the share of a public service, and the worst of a group", async () => {
  const bars = async (name: string): Promise<readonly string[]> =>
    [...(await pageOf(name)).matchAll(
      /<title>((?:Outage|Degraded|No reliable).*?)<|today<|<span>([\d.]+%)</g,
    )]
      .map(([, title, share]) => title ?? share ?? "|");
  const shop = "Outage: 11-05 to 11-06, 12-06 to 12-07, 01-06 to 01-07, 01-31";
  assert.deepEqual((await bars("public")).slice(0, 3), [shop, "96.53%", "|"]);
  assert.deepEqual((await bars("public_groups")).slice(0, 9), [
    ...["Outage: 11-05 to 11-08, 12-06 to 12-09, 01-06 to 01-07, 01-31", "96.53%", "|"],
    ...[shop, "96.53%", "|"],
    ...["Outage: 11-07 to 11-08, 12-08 to 12-09", "97.75%", "|"],
  ]);
});

Deno.test("writeReport() shows maintenance on a public page, without its note and which notifications were sent", async () => {
  const text = await writeState({ shown: TAGGED, public: ["website"] });
  assert.match(text, /<b>Maintenance<\/b> until <time>2026-01-31 13:00<\/time>/);
  const untilMs = Date.UTC(2026, 1, 1);
  const silences = [
    silenceOf("a", { kind: "maintenance", check: null, tag: "website", untilMs, reason: "move of racks" }),
    silenceOf("b", { check: null, kind: "acknowledgement", reason: "Ada is on it" }),
  ];
  const open = await writeState({ shown: TAGGED, silences, public: ["website"] });
  assert.match(open, /<b>Maintenance<\/b> until <time>2026-02-01 01:00<\/time>/);
  assert.doesNotMatch(open + text, /racks|Ada|acknowledged|suppressed/);
});

Deno.test("writeReport() shows started maintenance windows with their note on a private page", async () => {
  const untilMs = Date.UTC(2026, 1, 1);
  const silences = [
    silenceOf("a", { kind: "maintenance", check: null, tag: "website", untilMs, reason: "move <of> racks" }),
  ];
  const text = await writeState({ shown: TAGGED, silences });
  assert.match(text, /<em>maintenance until <time>2026-02-01 01:00<\/time> \(move &lt;of&gt; racks\)<\/em>/);
  assert.doesNotMatch(text, /<h2>Silences/);
});

Deno.test("writeReport() shows the note of an acknowledgement on a private page", async () => {
  const silences = [silenceOf("a", { check: null, kind: "acknowledgement", reason: "Ada is on it" })];
  const text = await writeState({ shown: TAGGED, silences });
  assert.match(text, /acknowledged: Ada is on it/);
  assert.match(
    text,
    /<a href=#acknowledgements>acknowledgements<[^]*<h2 id=acknowledgements>Acknowledgements \(1\)</,
  );
  assert.doesNotMatch(text, /id=silences/);
});

Deno.test("writeReport() has a link to sign in only on a live public page with a token", async () => {
  const state = PAGE_STATES["public_groups"] ?? assert.fail();
  assert.match(await writeState(state), /<a href=sign-in>Sign in</);
  for (const facts of [{ canSignIn: false }, { isLive: false }]) {
    assert.doesNotMatch(await writeState({ ...state, facts: { ...state.facts, ...facts } }), /sign-in/);
  }
});

Deno.test("writeReport() groups checks by the groups of the config on a private page", async () => {
  const text = await writeState({
    shown: PAGE_STATES["ok"]?.shown ?? [],
    facts: PAGE_STATES["public_ok"]?.facts ?? {},
  });
  assert.deepEqual([...text.matchAll(/<h2 id=group\d>(.*?)</g)].map(([, title]) => title), [
    "Buying (1)",
    "The rest (1)",
    "Nothing (1)",
    "Other checks (1)",
  ]);
});

Deno.test("publicStatus() omits notes and notifications", () => {
  const record = recordOf("web", { last: resultOf({ output: "secret", locations: [] }) });
  const status = {
    check: { description: "secret", runbook: "secret", target: "secret" },
    record: { ...record, condition: { ...record.condition, confirmed: "critical", notified: "ok" } },
    acknowledged: "secret",
    isSilenced: true,
    waitsFor: ["secret"],
  } as unknown as CheckStatus;
  const open = publicStatus(status);
  assert.equal(open.record?.condition.notified, "critical");
  assert.deepEqual([open.acknowledged, open.isSilenced, open.waitsFor], [null, false, []]);
  assert.deepEqual([open.record?.last?.output, open.record?.last?.detail], ["", ""]);
  assert.doesNotMatch(JSON.stringify(open), /secret|locations/);
});
