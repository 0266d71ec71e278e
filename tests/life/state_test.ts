/**
 * Several processes with one state, and missing requirements of a machine. The cases mostly wait for timers, so they
 * all run at the same time.
 */
import "./beat_cases.ts";
import "./files_cases.ts";
import "./lacks_cases.ts";
