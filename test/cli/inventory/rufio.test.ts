import { describe, expect, it } from "vitest";
import { readRufio } from "../../../cli/inventory/import/rufio.ts";

const machine = (
  name: string,
  connection: string,
  namespace = "tink",
) => `apiVersion: bmc.tinkerbell.org/v1alpha1
kind: Machine
metadata: {name: ${name}, namespace: ${namespace}}
spec:
  connection: ${connection}
`;
const secret = (values: string) => `apiVersion: v1
kind: Secret
metadata: {name: bmc, namespace: tink}
${values}
`;
const LOGIN = "authSecretRef: {name: bmc, namespace: tink}";

const read = (...documents: readonly string[]) => readRufio(documents.join("---\n"), "machines.yaml");
const login = ({ machines }: ReturnType<typeof read>) =>
  machines.map(({ username, password }) => [username, password?.reveal()]);

describe("Rufio's Machine objects", () => {
  it("are mapped as the worker maps them, with the Secrets of the file", () => {
    const options = "providerOptions: {preferredOrder: [ipmitool], redfish: {port: 8443}}";

    const imported = read(
      machine("node-1", `{host: 192.0.2.1, insecureTLS: true, ${LOGIN}, ${options}}`),
      secret("data: {username: YWRtaW4=, password: aHVudGVyMgo=}"),
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n",
    );

    expect(imported.problems).toEqual([]);
    expect(imported.machines).toMatchObject([
      {
        source: "machines.yaml:1",
        name: "node-1",
        entry: {
          host: "192.0.2.1",
          providers: ["ipmi", "redfish"],
          tls: { verify: false },
          redfish: { port: 8443 },
        },
      },
    ]);
    expect(login(imported)).toEqual([["admin", "hunter2"]]);
  });

  it("may be a list of kubectl, or have no Secret in the file", () => {
    const one = {
      metadata: { name: "bmc", namespace: "tink" },
      stringData: { username: "u", password: "p" },
    };
    const connection = { host: "bmc", authSecretRef: { name: "bmc" } };
    const items = [
      {
        apiVersion: "bmc.tinkerbell.org/v1alpha1",
        kind: "Machine",
        metadata: { name: "a", namespace: "tink" },
        spec: { connection },
      },
      { apiVersion: "v1", kind: "Secret", ...one },
    ];

    expect(login(read(JSON.stringify({ apiVersion: "v1", kind: "List", items })))).toEqual([["u", "p"]]);
    expect(login(read(machine("a", `{host: b, ${LOGIN}}`)))).toEqual([[undefined, undefined]]);
  });

  it("are named with their namespace if there are several", () => {
    const imported = read(machine("a", `{host: b, ${LOGIN}}`), machine("a", `{host: c, ${LOGIN}}`, "lab"));

    expect(imported.machines.map(({ name }) => name)).toEqual(["a.tink", "a.lab"]);
  });

  it("with a webhook are skipped, and unknown fields are reported", () => {
    const webhook = "{host: b, providerOptions: {rpc: {consumerURL: 'https://hook'}}}";

    const imported = read(machine("a", webhook), machine("c", `{host: d, colour: red, ${LOGIN}}`));

    expect(imported.skipped).toMatchObject([
      { source: "machines.yaml:1", message: expect.stringContaining("webhook") },
    ]);
    expect(imported.notes).toEqual(["machines.yaml:7: ignored spec.connection.colour"]);
  });

  it("are refused with their line and without their text", () => {
    const bomb = `a: &a [x]\n${[..."bcdefghi"].map((name, at) => `${name}: &${name} [${`*${"abcdefghi"[at]}, `.repeat(9)}]\n`).join("")}`;
    const wrong = machine("a", "{host: 'https://b', authSecretRef: {name: bmc}}");

    expect(read(wrong, wrong).problems.map(({ source }) => source)).toEqual([
      "machines.yaml:1",
      "machines.yaml:7",
    ]);
    expect(read("kind: Secret\n").problems).toEqual([
      { source: "machines.yaml", message: "has no Machine of bmc.tinkerbell.org/v1alpha1" },
    ]);
    expect(read("a: 1\n", "b: [\n").problems[0]?.source).toMatch(/^machines\.yaml:[34]$/);
    expect(read(bomb).problems).toHaveLength(1);
    expect(
      read(machine("a", `{host: b, ${LOGIN}}`), secret('stringData: {password: "hunter2\\n2"}')).problems,
    ).toEqual([
      { source: "machines.yaml:1", message: "Secret tink/bmc: its key password holds more than one line" },
    ]);
  });
});
