/**
 * The state of a container by the API of Docker, which Podman offers as well. It sends one request, for one container:
 * a process that may send others to the socket has the rights of root.
 *
 * @see https://docs.docker.com/reference/api/engine/ "Inspect a container"
 */
import { type CheckOf, type CheckResult, checkResult } from "../domain/check.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/check_kind.ts";
import { highestSeverity } from "../domain/condition.ts";
import { describeDuration } from "../domain/duration.ts";
import type { ContainerParameters } from "../domain/generated/config.ts";
import { hostAndPortOf, permissionsOfUrl } from "../domain/runtime_permissions.ts";
import { oneLine, quote, truncate } from "../shared/text.ts";
import { askJson, fieldsOf, listOf } from "./http/ask.ts";
import { evaluateMeasures, thresholdWarnings } from "./thresholds.ts";

export const containerKind: CheckKindEntry<"container"> = {
  observe: observeContainer,
  limit: "network",
  hasResponded: ({ condition }) => condition !== "unknown",
  target: {
    form: "NAME",
    parametersOf: ({ text }) => NAME.test(text) ? { name: text } : null,
    subjectsOf: ({ parameters: { name } }) => [`container ${name}`],
    textOf: ({ parameters: { name } }) => name,
    goesDown: true,
  },
  sharedBy: ({ parameters: { socket, target } }) => ({
    kind: "container host",
    value: target === undefined ? socket : hostAndPortOf(target),
    host: target === undefined ? null : new URL(target).hostname,
  }),
  warnings: ({ parameters: { restarts } }) => thresholdWarnings({ restarts }),
  errors: ({ parameters: { name } }) => {
    const message = `is "${name}", expected the name or the id of a container: letters, digits, _, . and -`;
    return NAME.test(name) ? [] : [{ path: ["name"], message }];
  },
  requiredPermissions: ({ parameters: { socket, target } }) =>
    target === undefined ? { read: [socket], write: [socket] } : permissionsOfUrl(target),
};

/** The names that Docker accepts, and ids. */
const NAME = /^[a-zA-Z0-9][\w.-]*$/;

async function observeContainer(
  check: CheckOf<"container">,
  { system, signal }: ObserveContext,
): Promise<CheckResult> {
  const { parameters, timeoutMs } = check;
  const { name, socket, target } = parameters;
  const path = `/containers/${name}/json`;
  const place = target === undefined ? socket : hostAndPortOf(target);
  const answer = await askJson(
    target === undefined
      ? { target: `http://localhost${path}`, connection: { socket }, accept: "application/json" }
      : { target: `${target.replace(/\/*$/, "")}${path}`, accept: "application/json" },
    { place, system, signal, timeoutMs },
  );
  if ("failure" in answer) return checkResult("unknown", answer.failure);
  const { status, value } = answer;
  if (status === 404) return checkResult("critical", `there is no container ${quote(name)}`);
  if (status !== 200) {
    const { message } = fieldsOf(value);
    const reason = status === 403 ? ", allow GET of /containers" : "";
    const said = typeof message === "string" ? `: ${truncate(oneLine(message), MESSAGE_LENGTH_MAX)}` : "";
    return checkResult("unknown", `${place} returned status ${status}${reason}${said}`);
  }
  return evaluate(fieldsOf(value), parameters, { place, nowMs: system.clock.wallMs() });
}

const MESSAGE_LENGTH_MAX = 300;

function evaluate(
  container: Readonly<Record<string, unknown>>,
  { name, restarts: thresholds }: ContainerParameters,
  { place, nowMs }: { readonly place: string; readonly nowMs: number },
): CheckResult {
  const state = fieldsOf(container["State"]);
  const status = state["Status"];
  const count = container["RestartCount"];
  if (typeof status !== "string") {
    return checkResult("unknown", `${place} returned no state of ${name}`);
  }
  const restarts = evaluateMeasures(
    typeof count === "number" ? [{ name: "restarts", value: count, unit: "number", thresholds }] : [],
  );
  const isUncounted = typeof count !== "number" && Object.keys(thresholds).length > 0;
  const found = status === "running" ? runningOf(state, nowMs) : stoppedOf(status, state, nowMs);
  return {
    ...checkResult(
      highestSeverity([found.condition, restarts.condition, isUncounted ? "unknown" : "ok"]),
      [
        `${name} ${found.text}`,
        ...typeof count === "number" && count > 0 ? [restarts.output] : [],
        ...isUncounted ? ["its restarts are not counted"] : [],
      ].join("; "),
      restarts.metrics,
    ),
    detail: found.detail ?? "",
  };
}

interface Found {
  readonly condition: "ok" | "unknown" | "critical";
  readonly text: string;
  readonly detail?: string;
}

/** Without a health check, running is all that is known, and expected. */
function runningOf(state: Readonly<Record<string, unknown>>, nowMs: number): Found {
  const written = state["Health"] ?? state["Healthcheck"] ?? null;
  const health = fieldsOf(written);
  const status = written === null ? "" : health["Status"];
  const since = agoOf(state["StartedAt"], nowMs);
  const span = since === null ? "" : ` for ${since}`;
  if (status === "" || status === "none") return { condition: "ok", text: `is running${span}` };
  if (status === "healthy") return { condition: "ok", text: `is healthy, running${span}` };
  if (status === "starting") {
    return { condition: "unknown", text: `is starting${span}, its health is not known yet` };
  }
  const last = fieldsOf(listOf(health["Log"]).at(-1));
  const output = typeof last["Output"] === "string" ? last["Output"].trim() : "";
  const said = output === "" ? "" : `: ${truncate(oneLine(output), MESSAGE_LENGTH_MAX)}`;
  const word = typeof status === "string" ? status : "of unknown health";
  const condition = status === "unhealthy" ? "critical" : "unknown";
  return { condition, text: `is ${word}${said}`, detail: output };
}

function stoppedOf(status: string, state: Readonly<Record<string, unknown>>, nowMs: number): Found {
  const code = state["ExitCode"];
  const ended = agoOf(state["FinishedAt"], nowMs);
  const isKilled = state["OOMKilled"] === true;
  const error = typeof state["Error"] === "string" && state["Error"] !== "" ? oneLine(state["Error"]) : null;
  const parts = [
    ...["exited", "dead", "restarting", "stopped"].includes(status) && typeof code === "number"
      ? [`exit code ${code}`]
      : [],
    ...isKilled ? ["killed for lack of memory"] : [],
    ...ended !== null && status !== "paused" && status !== "created" ? [`${ended} ago`] : [],
    ...error === null ? [] : [truncate(error, MESSAGE_LENGTH_MAX)],
  ];
  const facts = parts.length === 0 ? "" : ` (${parts.join(", ")})`;
  return { condition: "critical", text: `is ${oneLine(status)}${facts}` };
}

/** How long ago a time of the API is; `null`: there is none, which it writes as the year 1. */
function agoOf(time: unknown, nowMs: number): string | null {
  const ms = typeof time === "string" ? Date.parse(time) : NaN;
  return Number.isNaN(ms) || ms <= 0 || ms > nowMs ? null : describeDuration(nowMs - ms);
}
