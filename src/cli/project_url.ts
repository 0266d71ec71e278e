/** Where the project lives. Releases, the container image and the pages that `--help` links are below it. */
export const PROJECT_URL = "https://github.com/check-monitor/monitor";
