import { describe, expect, it } from "vitest";
import { compose } from "../../../cli/discover/compose.ts";
import type { FoundMachine } from "../../../cli/discover/login.ts";
import type { Discovered } from "../../../cli/discover/result.ts";
import { parseYamlDocuments, readRufio } from "../../../cli/inventory/import/rufio.ts";
import { readTextFile } from "../../../shared/read-text-file.ts";
import { Secret } from "../../../shared/secret.ts";
import { describeHardwareReference } from "../../../worker/features/cluster-machines/described-machine.ts";
import { parseEntries } from "../../../worker/machines/parse-inventory.ts";

const FINGERPRINT = "ab".repeat(32);
const certificate = { fingerprint: FINGERPRINT, subject: "bmc", isTrusted: false };
const redfish = { port: 443, vendor: "Dell", product: "iDRAC", certificate };
const ipmi = { port: 623, version: "2.0" } as const;

function accepted(machine?: Partial<FoundMachine>, number = 1): Pick<Discovered, "login"> {
  const source = { username: "admin", passwordFile: `/secrets/${number}` };
  const candidate = { number, source, username: "admin", password: new Secret("calvin") };
  const full = machine && { machine: { macs: [], ...machine } };
  return { login: { state: "accepted", provider: "redfish", candidate, ...full } };
}

const OPTIONS = { namespace: "tink-system", trustOnFirstUse: true };

function inventory(found: readonly Discovered[], more: Partial<typeof OPTIONS> = {}) {
  const { text, machines } = compose(found, { ...OPTIONS, ...more, format: "inventory" });
  const parsed = parseEntries({ path: "/i.yaml", text, env: {}, readFile: readTextFile, alone: true });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  expect(parsed.value).toHaveLength(machines);
  return { text, entries: parsed.value };
}

function objects(found: readonly Discovered[]) {
  const { text } = compose(found, { ...OPTIONS, format: "objects" });
  const parsed = parseYamlDocuments("o.yaml", text);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return { text, objects: parsed.value.map(({ value }) => value) };
}

describe("the inventory of what was found", () => {
  it("has addresses, providers, ports, fingerprints, and where the credentials are", () => {
    const { text, entries } = inventory([
      { host: "192.0.2.5", redfish, ipmi, ...accepted({ serial: "ABC 123", macs: ["52:54:00:aa:bb:01"] }) },
      { host: "2001:db8::5", ipmi: { ...ipmi, port: 6_623 } },
      {
        host: "bmc-3.example",
        amt: { port: 16_993, scheme: "https", certificate },
        ...accepted(undefined, 2),
      },
      {
        host: "192.0.2.6",
        redfish: { ...redfish, port: 8_443, certificate: { ...certificate, isTrusted: true } },
      },
    ]);

    expect(entries).toMatchObject([
      {
        name: "node-abc-123",
        host: "192.0.2.5",
        providers: ["redfish", "ipmi"],
        tls: { fingerprint: FINGERPRINT },
        credentials: { username: "admin", passwordFile: "/secrets/1" },
      },
      { name: "bmc-2001-db8-5", host: "2001:db8::5", providers: ["ipmi"], ipmi: { port: 6_623 } },
      {
        name: "bmc-3.example",
        providers: ["amt"],
        amt: { scheme: "https" },
        credentials: { passwordFile: "/secrets/2" },
      },
      { name: "bmc-192-0-2-6", redfish: { port: 8_443 } },
    ]);
    expect(entries[3]?.tls.fingerprint).toBeUndefined();
    expect(text).toContain(
      "  # serial number ABC 123, MAC addresses 52:54:00:aa:bb:01\n  - name: node-abc-123\n",
    );
    expect(text).not.toContain("calvin");
  });

  it("has fingerprints only if they are trusted on first use", () => {
    const { text } = inventory([{ host: "192.0.2.5", redfish }], { trustOnFirstUse: false });

    expect(text).not.toContain(FINGERPRINT);
  });

  it("leaves out what no provider can use, and other addresses of a BMC", () => {
    const { text } = inventory([
      { host: "192.0.2.5", ipmi: { ...ipmi, version: "rmcp" } },
      { host: "192.0.2.6", ipmi: { ...ipmi, version: "1.5" } },
      { host: "192.0.2.7", redfish, login: { state: "skipped", problem: "same", sameAs: "192.0.2.8" } },
    ]);

    expect(text).toMatch(/^# Written .*\nmachines: \[\]\n$/);
  });

  it("has names of its own for BMCs with the same, a useless or a hostile serial number", () => {
    const serials = [
      "same",
      "SAME",
      "",
      "0000",
      "x".repeat(5_000),
      "../../etc\n- name: root",
      "\u202e\u0000",
      "a",
    ];
    const found = serials.map(
      (serial, index): Discovered => ({
        host: `192.0.2.${index + 1}`,
        ipmi,
        ...accepted({ serial, vendor: serial }),
      }),
    );

    const { text, entries } = inventory([...found, { host: "node-a", ipmi }]);

    expect(entries.map(({ name }) => name)).toEqual([
      ...["bmc-192-0-2-1", "bmc-192-0-2-2", "bmc-192-0-2-3", "bmc-192-0-2-4", "bmc-192-0-2-5"],
      ...["node-etc-name-root", "bmc-192-0-2-7", "node-a", "node-a-2"],
    ]);
    expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  });
});

describe("the objects of what was found", () => {
  it("are a Machine that the worker understands, and a Hardware with its MAC addresses", () => {
    const macs = ["52:54:00:aa:bb:01", "52:54:00:aa:bb:02"];
    const { text, objects: written } = objects([
      {
        host: "192.0.2.5",
        redfish: { ...redfish, port: 8_443 },
        ipmi,
        ...accepted({ serial: "ABC", macs }, 2),
      },
      { host: "192.0.2.6", ipmi, ...accepted() },
      { host: "192.0.2.7", ipmi },
    ]);

    const { machines, problems, notes } = readRufio(text, "o.yaml");

    expect([problems, notes]).toEqual([[], []]);
    expect(machines).toMatchObject([
      {
        name: "node-abc",
        entry: {
          host: "192.0.2.5",
          providers: ["redfish", "ipmi"],
          tls: { fingerprint: FINGERPRINT },
          redfish: { port: 8_443 },
        },
      },
      { name: "bmc-192-0-2-6", entry: { host: "192.0.2.6" } },
    ]);
    expect(written[0]).toMatchObject({
      spec: {
        connection: {
          insecureTLS: false,
          authSecretRef: { name: "bmc-credentials-2", namespace: "tink-system" },
        },
      },
    });
    expect(
      describeHardwareReference(written[1], { name: "node-abc", namespace: "tink-system" })?.content,
    ).toEqual({
      kind: "reference",
      machine: "node-abc",
    });
    expect(written[1]).toMatchObject({
      apiVersion: "tinkerbell.org/v1alpha1",
      kind: "Hardware",
      spec: {
        interfaces: macs.map((mac) => ({
          dhcp: { mac },
          netboot: { allowPXE: false, allowWorkflow: false },
        })),
      },
    });
    expect(written).toHaveLength(3);
    expect(text).not.toContain("calvin");
  });

  it.each([
    [
      { username: "o'neil", passwordFile: "/my secrets/rack" },
      "--from-literal='username=o'\\''neil' --from-file='password=/my secrets/rack'",
    ],
    [
      { usernameFile: "/s/user", passwordEnv: "RACK_PASSWORD" },
      '--from-file=username=/s/user --from-file=password=<(printf %s "$RACK_PASSWORD")',
    ],
    [{ directory: "/s/rack" }, "--from-file=username=/s/rack/username --from-file=password=/s/rack/password"],
  ])("begin with the command that creates the Secret from %j", (source, given) => {
    const { login } = accepted(undefined, 3);
    if (login?.state !== "accepted") throw new Error("it is accepted");
    const candidate = { ...login.candidate, source };
    const found = ["192.0.2.5", "192.0.2.6"].map((host) => ({ host, ipmi, login: { ...login, candidate } }));

    const { text } = objects(found);

    const command = `kubectl create secret generic bmc-credentials-3 --namespace tink-system ${given}`;
    expect(text.split("\n").filter((line) => line.includes("kubectl"))).toEqual([`#   ${command}`]);
  });

  it("name the Secret whose content a command prints", () => {
    const { login } = accepted(undefined, 4);
    if (login?.state !== "accepted") throw new Error("it is accepted");
    const candidate = { ...login.candidate, source: { command: ["vault", "read"] as const } };

    const { text } = objects([{ host: "192.0.2.5", ipmi, login: { ...login, candidate } }]);

    expect(text).toContain(
      "#   bmc-credentials-4 in tink-system, with keys username and password: what the command of entry 4 prints\n",
    );
  });
});
