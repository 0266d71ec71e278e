/** What `monitor check` notifies of. The cases mostly wait for its timers, so they all run at the same time. */
import "./due_cases.ts";
import "./notifications_cases.ts";
