import type { FaultyLayer } from "./fault.ts";

export const CONFIG: FaultyLayer = {
  layer: "config",
  tests: ["tests/config/resolve_test.ts", "tests/config", "tests/engine/window_property_test.ts"],
  files: [
    {
      file: "src/config/resolve.ts",
      faults: [
        [
          "defaults take precedence over a check",
          'of(check, "check") ?? of(defaults, "defaults")',
          'of(defaults, "defaults") ?? of(check, "check")',
        ],
        [
          "the defaults of the config take precedence over those of an included file",
          'of(defaults, "defaults") ?? (outer && of(outer, "outer"))',
          '(outer && of(outer, "outer")) ?? of(defaults, "defaults")',
        ],
        [
          "annoy of the specification is ignored",
          "otherName = view.otherNames.get(name)",
          "otherName = undefined",
        ],
        [
          "half of the locations is a majority",
          "Math.floor(locations.from.length / 2) + 1",
          "Math.ceil(locations.from.length / 2)",
        ],
        [
          "a recovery is confirmed by one result",
          "recoveryThreshold = threshold",
          "recoveryThreshold = Math.min(threshold, 1)",
        ],
        [
          "a failing check runs more often than configured",
          "attentiveIntervalMs ?? regularIntervalMs",
          "attentiveIntervalMs ?? regularIntervalMs / 2",
        ],
        [
          "the maintenance windows of a check replace those of the config",
          "own.length === 0 ? all : [...all, ...readWindows(own, this.#options)]",
          "own.length === 0 ? all : readWindows(own, this.#options)",
        ],
        [
          "filters of a named channel apply to the summary",
          "channels.map(withoutFilters)",
          "channels.map((one) => one.name === undefined ? withoutFilters(one) : one)",
        ],
        [
          "a check whose threshold this machine lacks runs with it unresolved",
          'if (found.length === 0 || setting.name === "parameters") return picked;',
          "if (found.length >= 0) return picked;",
        ],
      ],
    },
    {
      file: "src/config/named_references.ts",
      faults: [
        [
          "a cycle of dependencies is not found",
          "} else if (place !== undefined) {",
          "} else if (place !== undefined && place > 0) {",
        ],
      ],
    },
    {
      file: "src/config/threshold_rules.ts",
      faults: [["within may not be the threshold", "within < threshold", "within <= threshold"]],
    },
    {
      file: "src/config/locations.ts",
      faults: [
        [
          "all locations may not be required to agree",
          "if (agree <= from.length) return [];",
          "if (agree < from.length) return [];",
        ],
      ],
    },
    {
      file: "src/config/quantities.ts",
      faults: [
        ["a duration of an hour is rejected", "ms > DURATION_MS_MAX", "ms >= DURATION_MS_MAX"],
        ["a duration of nothing is accepted", "if (!(ms > 0))", "if (!(ms >= 0))"],
        ["a limit of 1000 messages is rejected", "count <= 1000", "count < 1000"],
        ["a limit of 100% is rejected", "Number(percent) > 100", "Number(percent) >= 100"],
        ["an objective of 100% is rejected", "percent > 100", "percent >= 100"],
        [
          "an objective over a time without history is accepted",
          "WINDOW_MS_MAX = 90 * DAY_MS",
          "WINDOW_MS_MAX = 900 * DAY_MS",
        ],
        ["a megabyte has binary units", "`${prefix}b`, 1000 ** index", "`${prefix}b`, 1024 ** index"],
      ],
    },
    {
      file: "src/config/window_rules.ts",
      tests: ["tests/engine/suppression_test.ts", "tests/config/parse_values_test.ts"],
      faults: [
        [
          "a window begins with the second of a repeated time",
          'edge === "from" ? earlier : later :',
          'edge === "from" ? later : earlier :',
        ],
      ],
    },
    {
      file: "src/config/named_references.ts",
      tests: ["tests/config/check_selectors_test.ts"],
      faults: [
        ["a name with a sign is a pattern", "!this.#byName.has(entry) && (", "("],
        ["a pattern selects the check itself", "!isSelector || name !== own", "true"],
        ["a tag makes a check depend on inactive ones", "onlyActive: true", "onlyActive: false"],
        ["a channel for a tag is for every check", ").has(name);", ").size > 0;"],
        [
          "a dependency that is no check is accepted",
          "if (found.length === 0) miss",
          "if (isSelector && found.length === 0) miss",
        ],
        [
          "a tag that nothing has is accepted",
          "if (found.length === 0) miss",
          "if (!isSelector && found.length === 0) miss",
        ],
      ],
    },
    {
      file: "src/config/config_file.ts",
      faults: [
        [
          "a file that is included twice counts twice",
          "if (real !== null && this.#seen.has(real)) return;",
          "if (real !== null && this.#seen.has(real) && isMatched) return;",
        ],
        ["every file of an included directory is read", "paths = isListed ?", "paths = !isMatched ?"],
        ["files that include each other are read for ever", "if (place >= 0) {", "if (place > 0) {"],
      ],
    },
    {
      file: "src/config/placeholders.ts",
      faults: [
        [
          "an escaped placeholder is resolved",
          "/\\$\\$\\{|\\$\\{(env|file):/g",
          "/\\$\\$\\{\\{|\\$\\{(env|file):/g",
        ],
        [
          "the newline at the end of a secret file is a part of the secret",
          '.replace(/\\r?\\n$/, "")',
          '.replace(/\\r?\\n\\n$/, "")',
        ],
      ],
    },
    {
      file: "src/config/secrets.ts",
      faults: [
        [
          "secrets of the config are printed",
          "if (isRedactable(secret)) values.add(secret);",
          "if (isRedactable(secret) && secret.length > 20) values.add(secret);",
        ],
      ],
    },
  ],
};

export const PERMISSIONS: FaultyLayer = {
  layer: "permissions",
  tests: ["tests/permissions/required_permissions_test.ts", "tests/permissions"],
  files: [
    {
      file: "src/permissions/required_permissions.ts",
      faults: [
        [
          "a channel that lacks a secret requires permissions",
          "if (channel.lack !== undefined) return;",
          'if (channel.lack !== undefined && inlineName === "") return;',
        ],
        [
          "a permission for any host is granted by one for a host",
          "(value === NET_ALL || !permissions.isGranted(permission, value))",
          "(value !== NET_ALL && !permissions.isGranted(permission, value))",
        ],
        [
          "permissions of channels are required without notifications",
          "notifies ? check.notifications : []",
          "notifies || check.active ? check.notifications : []",
        ],
        [
          "commands cannot be terminated",
          "if (starter !== undefined && killPath !== null) {",
          "if (starter !== undefined && killPath !== null && parts.length === 0) {",
        ],
        ["a path with a comma grants two paths", 'value.replaceAll(",", ",,")', "value"],
      ],
    },
    {
      file: "src/cli/commands/permissions.ts",
      tests: ["tests/permissions/sandbox_test.ts"],
      faults: [
        [
          "a command has no network in a sandbox",
          "net.length > 0 || run.some((command) => !LOCAL_COMMANDS.test(command))",
          'net.length > 0 || run.some((command) => command === "")',
        ],
        [
          "a directory with the same beginning counts as within another",
          "path.startsWith(`${directory}/`)",
          "path.startsWith(directory)",
        ],
        [
          "a sandbox limits the addresses although a command may connect anywhere",
          "commands.every((command) => LOCAL_COMMANDS.test(command))",
          'commands.every((command) => command !== "")',
        ],
      ],
    },
    {
      file: "src/cli/config_permissions.ts",
      tests: ["tests/permissions/dropped_test.ts"],
      faults: [
        [
          "the permission to start commands is not dropped",
          "if (!mayBeUsed) system.permissions.drop(permission);",
          'if (!mayBeUsed && permission !== "run") system.permissions.drop(permission);',
        ],
        [
          "a permission is dropped that a reload may use",
          "used.has(permission) || !isComplete && !READ_AT_START.has(permission)",
          "used.has(permission) || isComplete && !READ_AT_START.has(permission)",
        ],
        [
          "a reload goes on without a permission that was dropped",
          "isVital || system.permissions.isDropped(permission)",
          "isVital && system.permissions.isDropped(permission)",
        ],
      ],
    },
  ],
};

export const READY_MADE: FaultyLayer = {
  layer: "ready-made channels",
  tests: [
    "tests/config/channels_test.ts",
    "tests/config/placeholders_test.ts",
    "tests/cli/commands/notify_to_test.ts",
    "tests/docs/channel_recipes_test.ts",
  ],
  files: [
    {
      file: "src/config/load.ts",
      faults: [
        [
          "a ready-made channel of an included file alone stays as it is",
          "if (!validated.some(isNeeded)) return read;",
          "if (!isNeeded(read.main)) return read;",
        ],
      ],
    },
    {
      file: "src/config/ready_made_channels.ts",
      faults: [
        [
          "a ready-made channel has no default URL",
          "?? reader.view(schema, undefined).default",
          "?? undefined",
        ],
        [
          "a slash at the end of a URL is doubled",
          'return url.replace(/\\/+$/, "");',
          "return url;",
        ],
        [
          "a message has an empty link without a page",
          '{ "": isLeftOut, "*": value }',
          '{ "*": value }',
        ],
        [
          "a runbook mentions people in Mattermost",
          '"{{summary | no_mentions}}", " | no_mentions"',
          '"{{summary | no_mentions}}"',
        ],
        [
          "an output mentions people in Slack",
          '"{{summary | html}}", " | html"',
          '"{{summary}}", " | html"',
        ],
        [
          "a room of Matrix with a slash is another path",
          "encodeURIComponent(room)",
          "room",
        ],
        [
          "a recovery opens an alert of Opsgenie",
          "recovery_target: `${baseOf(url)}/v2/alerts/",
          "recovery_target: `${baseOf(url)}/v2/alerts?",
        ],
      ],
    },
    {
      file: "src/config/credentials.ts",
      faults: [
        [
          "the URL of a chat is hidden only as a whole",
          'if (item.format === "secret_url") yield',
          'if (item.format === "no_url") yield',
        ],
      ],
    },
    {
      file: "src/cli/typed_channel.ts",
      faults: [
        [
          "the query of a URL that is a secret is dropped",
          "if (keys.length === 1) return { url: text };",
          'if (keys.length === 1) return { url: text.split("?")[0] ?? "" };',
        ],
        [
          "the topic of a URL with a path is not found",
          'address.lastIndexOf("/") + 1',
          'address.indexOf("/", 8) + 1',
        ],
        [
          "other hosts of a provider are unknown",
          "hosts?.includes(host) === true",
          "hosts?.[0] === host",
        ],
      ],
    },
  ],
};
