import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { renderConfigurationPage } from "../../scripts/configuration-page.ts";
import { addConfigOptions } from "../../worker/commands/define-commands.ts";
import { settings } from "../../worker/main/settings.ts";

const command = () => addConfigOptions(new Command("start").exitOverride(), settings);

describe("the settings", () => {
  it("share no name of a variable", () => {
    const variables = settings.flatMap(({ env, aliases = [] }) => [env, ...aliases]);

    expect(new Set(variables).size).toBe(variables.length);
  });
});

describe("the command line", () => {
  it("has exactly the settings' flags, under their names", () => {
    const options = command().options.map((option) => [option.long, option.attributeName()]);

    expect(options).toEqual(settings.filter(({ flag }) => flag).map(({ flag, name }) => [flag, name]));
  });

  it("has no flag for a password", () => {
    expect(command().options.map(({ long }) => long)).not.toContain("--registry-pass");
  });

  it("says in its help what each setting is, its variable and its default", () => {
    const help = command().configureHelp({ helpWidth: 1_000 }).helpInformation();

    for (const setting of settings.filter(({ flag }) => flag)) {
      const line = help.split("\n").find((text) => text.trim().startsWith(`${setting.flag} `));
      expect(line, setting.name).toContain(`${setting.description} (`);
      expect(line, setting.name).toContain(`env: ${setting.env})`);
      if (setting.default !== undefined)
        expect(line, setting.name).toContain(`default: ${setting.default}; `);
    }
    expect(help).toContain("Tink server:\n");
  });

  it("collects text and leaves every check to loadConfig", () => {
    const parsed = command().parse(
      ["--agent-id", "a", "--agent-id", "b,c", "--grpc-tls", "--runtime", "nonsense", "--poll-timeout=x"],
      { from: "user" },
    );

    expect(parsed.opts()).toEqual({
      agentId: ["a", "b,c"],
      grpcTls: true,
      runtime: "nonsense",
      pollTimeout: "x",
    });
  });
});

describe("the reference page", () => {
  it("has each setting once, by a name from which the others follow", () => {
    const rows = renderConfigurationPage()
      .split("\n")
      .filter((line) => line.startsWith("| `"));

    const listed = [...Map.groupBy(settings, ({ group }) => group).values()].flat();
    expect(rows).toHaveLength(listed.length);
    for (const [index, { flag, env, name, aliases = [] }] of listed.entries()) {
      const cells = rows[index]?.split(/(?<!\\)\|/).map((cell) => cell.trim()) ?? [];
      expect(cells[1]).toBe(`\`${flag ?? env}\``);
      expect(cells[2]).toBe(aliases.map((alias) => `\`${alias}\``).join(", "));
      expect(env).toBe(`PBNJ_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`);
    }
  });
});
