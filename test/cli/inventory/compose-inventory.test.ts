import { describe, expect, it } from "vitest";
import { composeInventory } from "../../../cli/inventory/import/compose-inventory.ts";
import type { ImportedMachine } from "../../../cli/inventory/import/imported-machine.ts";
import { Secret } from "../../../shared/secret.ts";
import { parseEntries } from "../../../worker/machines/parse-inventory.ts";

const machine = (name: string, more: Partial<ImportedMachine> = {}): ImportedMachine => ({
  source: `m.csv:${name}`,
  name,
  entry: { host: `bmc-${name}` },
  username: "admin",
  password: new Secret("hunter2"),
  ...more,
});

describe("an imported inventory", () => {
  it("refers to passwords and has none", () => {
    const entry = {
      host: "b",
      providers: ["ipmi"],
      bootMode: undefined,
      ipmi: { cipherSuite: 17 },
      tls: { verify: undefined },
    };

    const composed = composeInventory(
      { machines: [machine("a"), machine("b", { entry, kg: new Secret("kg-hunter2") })] },
      "../secrets",
    );

    expect(composed).toMatchObject({ ok: true, value: { withoutCredentials: 0 } });
    if (!composed.ok) return;
    expect(composed.value.text).toBe(`# Written by pbnj-worker inventory import.
defaults:
  credentials:
    passwordFile: ../secrets/{machine}/password
machines:
  - name: a
    host: bmc-a
    credentials:
      username: admin
  - name: b
    host: b
    providers:
      - ipmi
    ipmi:
      cipherSuite: 17
      kgFile: ../secrets/{machine}/kg
    credentials:
      username: admin
`);
    expect(composed.value.secrets.map(({ machine, file }) => `${machine}/${file}`)).toEqual([
      "a/password",
      "b/password",
      "b/kg",
    ]);
  });

  it("is valid with machines without credentials, and with a service that takes only a token", () => {
    const homeassistant = { url: "http://ha.example", entity: "switch.a" };
    const { username: _, password: _password, ...bare } = machine("a");
    const token = { ...bare, name: "b", entry: { host: "b", homeassistant }, password: new Secret("token") };

    const composed = composeInventory({ machines: [bare, token] }, "s");

    expect(composed).toMatchObject({ ok: true, value: { withoutCredentials: 1 } });
    if (!composed.ok) return;
    const parsed = parseEntries({
      path: "/i.yaml",
      text: composed.value.text,
      env: {},
      readFile: () => "",
      alone: true,
    });
    expect(parsed.ok && parsed.value.map(({ credentials }) => credentials.passwordFile)).toEqual([
      undefined,
      "/s/b/password",
    ]);
  });

  it("is refused with all problems and their places", () => {
    const { username: _, ...anonymous } = machine("e");

    const composed = composeInventory(
      {
        machines: [
          machine("A_1"),
          machine("../b", { entry: { host: "https://c" } }),
          machine("d"),
          machine("d", { password: new Secret("hunter2\nhunter3") }),
          anonymous,
          machine("f", { username: "admin\u200b" }),
        ],
      },
      "secrets",
    );

    expect(
      composed.ok ? [] : composed.problems.map(({ source, message }) => `${source}: ${message}`),
    ).toEqual([
      expect.stringMatching(/^m\.csv:A_1: name must be a name such as/),
      expect.stringMatching(/^m\.csv:\.\.\/b: name must be a name such as/),
      "m.csv:../b: host must not have a scheme: use only the name or address",
      "m.csv:d: the password holds more than one line",
      "m.csv:e: a password without a user name",
      "m.csv:f: has invisible characters",
      "m.csv:d: the name is taken by m.csv:d",
    ]);
    expect(JSON.stringify(composed)).not.toContain("hunter");
  });
});
