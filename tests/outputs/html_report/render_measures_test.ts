import assert from "node:assert/strict";
import { testTable } from "../../support/rows.ts";
import { renderMeasures } from "../../../src/outputs/html_report/render_check.ts";

Deno.test("renderMeasures() shows metrics that have thresholds, with their units", async (t) => {
  const table = `
    none   | {"status":200,"total_ms":4} |
    a percentage and a size | {"free_bytes":83188420608,"free_percent":76.473,"free_percent_critical_below":5, \
      "free_bytes_warning_below":20e9} | \
      <p class=f>free <b>76.47%</b>, critical below 5%; free <b>83.2 GB</b>, warning below 20 GB</p>
    both thresholds of a time | {"round_trip_ms":1.25,"round_trip_ms_critical_above":500, \
      "round_trip_ms_warning_above":100} | \
      <p class=f>round trip <b>1.25 ms</b>, critical above 500 ms, warning above 100 ms</p>
    an age and a number | {"age_max_seconds":90,"age_max_seconds_warning_above":3600,"load1":0.5, \
      "load1_warning_above":2} | \
      <p class=f>age max <b>1 min 30 s</b>, warning above 1 h; load1 <b>0.5</b>, warning above 2</p>
    a threshold of nothing | {"free_percent_critical_below":5} |
    a name of another application | {"<b>":1,"<b>_warning_above":2} | \
      <p class=f>&lt;b&gt; <b>1</b>, warning above 2</p>`;
  await testTable(t, table, (_, metrics, html) => {
    assert.equal(renderMeasures(JSON.parse(metrics)).toString(), html);
  });
});
