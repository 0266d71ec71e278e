/** `monitor check` as a service. The cases mostly wait for its timers, so they all run at the same time. */
import "./agents_cases.ts";
import "./control_cases.ts";
import "./endpoint_cases.ts";
import "./output_cases.ts";
import "./stop_cases.ts";
