/**
 * Members under faults of every kind, compared with the truth (member_faults/campaign.ts). `MEMBER_FAULTS_SECONDS`
 * sets the duration; without it, as in the default suite, this is no test: it takes minutes. `MEMBER_FAULTS_SEED`
 * repeats a run, as far as the machine does; `MEMBER_FAULTS` names the kinds of faults, separated by commas.
 */
import { requiresTools } from "../../testing/tools.ts";
import { runCampaign } from "./member_faults/campaign.ts";
import { testSeed } from "../../testing/seed.ts";

const SECONDS = Number(Deno.env.get("MEMBER_FAULTS_SECONDS") ?? 0);
const SEED = Number(Deno.env.get("MEMBER_FAULTS_SEED") ?? testSeed());
const ONLY = Deno.env.get("MEMBER_FAULTS") ?? "";

if (SECONDS > 0) {
  Deno.test({
    ...requiresTools("faketime", "initdb", "pg_basebackup", "pgbouncer", "postgres"),
    name: "members notify each problem once and in order, whatever fails",
    fn: () => runCampaign({ seed: SEED, seconds: SECONDS, only: ONLY === "" ? [] : ONLY.split(",") }),
  });
}
