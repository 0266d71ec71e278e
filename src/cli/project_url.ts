/** The URL of the project: of its releases, its container image and the pages that `--help` links. */
export const PROJECT_URL = "https://github.com/check-monitor/monitor";
