import { describe, expect, it } from "vitest";
import { Connection } from "../../../../shared/contract/connection.ts";
import { connectionDocument } from "../../../../worker/features/cluster-machines/connection-document.ts";
import {
  type BmcTarget,
  describeHardware,
  describeMachine,
} from "../../../../worker/features/cluster-machines/described-machine.ts";
import { fileInventory } from "../../../../worker/machines/file-inventory.ts";
import { MachineEntry } from "../../../../worker/machines/inventory-schema.ts";
import { machine, NAMESPACE, newHardware } from "./inventory-lab.ts";

type Fields = Readonly<Record<string, unknown>>;

const AT = { namespace: NAMESPACE, name: "node-1" };
const RPC = { consumerURL: "https://hooks.example/bmc" };

function describedWith(connection: Fields): BmcTarget {
  const described = describeMachine(machine("node-1", connection), AT);
  if (!described) throw new Error("a Machine is never of no concern");
  return described.content;
}

function usable(content: BmcTarget | undefined) {
  if (content?.kind !== "usable") throw new Error(`cannot be used: ${content?.problems.join("; ")}`);
  return content;
}

/** What a Machine with these fields becomes, without its secrets. */
function connectionWith(connection: Fields): Connection {
  return Connection.parse(connectionDocument(usable(describedWith(connection)).source));
}

function connectionOf(providerOptions: Fields): Connection {
  return connectionWith({ host: "192.0.2.1", providerOptions });
}

function problemsWith(connection: Fields): readonly string[] {
  const content = describedWith(connection);
  return content.kind === "unusable" ? content.problems : [];
}

describe("Rufio's options", () => {
  it("that are absent leave this project's defaults", () => {
    const connection = connectionWith({ host: "192.0.2.1", insecureTLS: false });

    expect(connection).toEqual(Connection.parse({ host: "192.0.2.1" }));
  });

  it.each<[string, Fields, Fields]>([
    ["insecureTLS", { insecureTLS: true }, { tls: { verify: false } }],
    ["port, which is that of IPMI", { port: 6_230 }, { ipmi: { port: 6_230 } }],
    ["port 0, as Go writes what is unset", { port: 0 }, { ipmi: { port: 623 } }],
    ["an IPv6 address in brackets", { host: "[2001:db8::1]" }, { host: "2001:db8::1" }],
  ])("%s", (_, fields, expected) => {
    expect(connectionWith({ host: "192.0.2.1", ...fields })).toMatchObject(expected);
  });

  it.each<[string, Fields, Fields]>([
    ["redfish.port", { redfish: { port: 8_443 } }, { redfish: { port: 8_443, auth: "auto" } }],
    ["redfish.useBasicAuth", { redfish: { useBasicAuth: true } }, { redfish: { auth: "basic" } }],
    ["redfish.systemName", { redfish: { systemName: "437XR" } }, { redfish: { system: "437XR" } }],
    ["redfish.systemName that is empty", { redfish: { systemName: "" } }, { redfish: { port: undefined } }],
    ["ipmitool.port", { ipmitool: { port: 6_231 } }, { ipmi: { port: 6_231 } }],
    ["ipmitool.cipherSuite", { ipmitool: { cipherSuite: "17" } }, { ipmi: { cipherSuite: 17 } }],
    [
      "intelAMT",
      { intelAMT: { port: 16_993, hostScheme: "https" } },
      { amt: { port: 16_993, scheme: "https" } },
    ],
    ["rpc.consumerURL", { rpc: RPC }, { rpc: { url: RPC.consumerURL, naming: "rufio" }, providers: ["rpc"] }],
    ["rpc beside a preferred order", { rpc: RPC, preferredOrder: ["gofish"] }, { providers: ["rpc"] }],
  ])("%s", (_, options, expected) => {
    expect(connectionOf(options)).toMatchObject(expected);
  });

  it.each<[string, Fields, Fields]>([
    ["request.httpMethod", { request: { httpMethod: "PUT" } }, { method: "PUT" }],
    ["request.httpContentType", { request: { httpContentType: "text/x" } }, { contentType: "text/x" }],
    ["request.timestampHeader", { request: { timestampHeader: "X-At" } }, { timestampHeader: "X-At" }],
    ["request.timestampFormat", { request: { timestampFormat: "2006" } }, { timestampFormat: "2006" }],
    [
      "request.timestampFormat by its name in Go",
      { request: { timestampFormat: "time.RFC1123Z" } },
      { timestampFormat: "Mon, 02 Jan 2006 15:04:05 -0700" },
    ],
    ["signature.headerName", { signature: { headerName: "X-Sig" } }, { signature: { header: "X-Sig" } }],
    [
      "signature.appendAlgoToHeaderDisabled",
      { signature: { appendAlgoToHeaderDisabled: true } },
      { signature: { algorithmInHeader: false, algorithmInValue: true } },
    ],
    [
      "signature.includedPayloadHeaders, each once",
      { signature: { includedPayloadHeaders: ["X-A", "X-B", "X-A"] } },
      { signature: { includedHeaders: ["X-A", "X-B"] } },
    ],
    [
      "hmac.prefixSigDisabled",
      { hmac: { prefixSigDisabled: true } },
      { signature: { algorithmInHeader: true, algorithmInValue: false } },
    ],
    [
      "experimental",
      { experimental: { customRequestPayload: '{"data":{}}', dotPath: "data.request" } },
      { embed: { payload: { data: {} }, path: "data.request" } },
    ],
    ["experimental without a path", { experimental: { customRequestPayload: "{}" } }, { embed: undefined }],
  ])("rpc.%s", (_, options, expected) => {
    expect(connectionOf({ rpc: { ...RPC, ...options } }).rpc).toMatchObject(expected);
  });

  it("rpc.request.staticHeaders stay closed, as they may be tokens", () => {
    const { rpc } = connectionOf({
      rpc: { ...RPC, request: { staticHeaders: { "X-Token": ["t1", "t2"] } } },
    });

    expect(rpc?.headers["X-Token"]?.map((value) => value.reveal())).toEqual(["t1", "t2"]);
    expect(JSON.stringify(rpc)).not.toContain("t1");
  });

  it("homeassistant: the host is Home Assistant's address, as in bmclib", () => {
    const connection = connectionWith({
      host: "http://ha.example:8123",
      providerOptions: { homeassistant: { switchEntityID: "switch.node_1", powerOperationDelaySeconds: 5 } },
    });

    expect(connection.providers).toEqual(["homeassistant"]);
    expect(connection.homeassistant).toEqual({
      url: "http://ha.example:8123",
      entity: "switch.node_1",
      powerOperationDelayMs: 5_000,
    });
  });

  it.each<[string, Fields, readonly string[]]>([
    ["nothing", {}, ["redfish", "ipmi"]],
    ["ipmitool", { preferredOrder: ["ipmitool"] }, ["ipmi", "redfish"]],
    [
      "vendors, who all speak Redfish",
      { preferredOrder: ["Dell", "OpenBMC", "GOFISH"] },
      ["redfish", "ipmi"],
    ],
    ["IntelAMT", { preferredOrder: ["IntelAMT"] }, ["amt", "redfish", "ipmi"]],
    ["options of Intel AMT alone", { intelAMT: {} }, ["redfish", "ipmi", "amt"]],
    ["both", { preferredOrder: ["asrockrack", "intelamt"], intelAMT: {} }, ["redfish", "amt", "ipmi"]],
  ])("preferredOrder: %s", (_, options, expected) => {
    expect(connectionOf(options).providers).toEqual(expected);
  });

  it("of v1alpha2 are the same, beside the boot mode", () => {
    const described = describeHardware(
      newHardware("node-1", { providerOptions: { ipmitool: { port: 6_230 } } }, { bootMode: "UEFI" }),
      AT,
    );
    const { source } = usable(described?.content);

    expect(Connection.parse(connectionDocument(source))).toMatchObject({
      bootMode: "uefi",
      ipmi: { port: 6_230 },
    });
    expect(describeHardware({ metadata: {}, spec: { bmc: { bootMode: "UEFI" } } }, AT)).toBeUndefined();
  });

  it("that are unknown are reported, and the others apply", () => {
    const content = usable(
      describedWith({
        host: "192.0.2.1",
        tlsMode: "strict",
        providerOptions: { redfish: { port: 8_443, retries: 3 }, preferredOrder: ["gofish", "newcomer"] },
      }),
    );

    expect(content.unknown).toEqual([
      "spec.connection.providerOptions.redfish.retries",
      "spec.connection.tlsMode",
      "spec.connection.providerOptions.preferredOrder.1 (newcomer)",
    ]);
    expect(Connection.parse(connectionDocument(content.source)).redfish.port).toBe(8_443);
  });

  it("have a certificate's fingerprint beside them in an annotation, which is looked at whatever insecureTLS says", () => {
    const fingerprint = "ab".repeat(32);
    const annotated = (value: string) => {
      const object = machine("node-1", { insecureTLS: true });
      const metadata = { ...object.metadata, annotations: { "pbnj-worker/tls-fingerprint": value } };
      return describeMachine({ ...object, metadata }, AT)?.content;
    };

    const { source } = usable(annotated(fingerprint.toUpperCase()));
    expect(Connection.parse(connectionDocument(source)).tls).toMatchObject({ verify: true, fingerprint });
    expect(annotated("abc")).toEqual({
      kind: "unusable",
      problems: ["metadata.annotations.pbnj-worker/tls-fingerprint is not a SHA-256 in hex"],
    });
  });
});

describe("the annotation with the desired state", () => {
  const annotated = (value: string) => {
    const object = machine("node-1");
    const metadata = { ...object.metadata, annotations: { "pbnj-worker/desired": value } };
    return usable(describeMachine({ ...object, metadata }, AT)?.content);
  };

  it("is YAML or JSON, and an empty one is none", () => {
    const desired = { power: "on", ntp: ["a", "b"], bios: { NumCores: 8 } };

    expect(annotated("power: on\nntp: [a, b]\nbios: {NumCores: 8}\n")).toMatchObject({ desired });
    expect(annotated(JSON.stringify(desired))).toMatchObject({ desired });
    expect(annotated(" \n")).not.toHaveProperty("desired");
    expect(annotated(" \n")).not.toHaveProperty("desiredProblem");
  });

  it.each<[string, string, string]>([
    [
      "has all its problems in one line",
      "power: up\nntp: []\nsize: 3",
      "power must be one of on, off; ntp is empty; size is not known",
    ],
    ["is not YAML", "power: [", "line 1: flow sequence in block collection must be sufficiently indented"],
    ["is not a map", "- power", " must be a map of keys, not a list"],
    ["is too large", `# ${"x".repeat(16 * 1_024)}`, "has more than 16384 characters"],
    [
      "names a firmware image",
      'firmware: {BIOS: {version: "2", image: "https://192.0.2.9/b"}}',
      "firmware.BIOS.image is taken only from an inventory file",
    ],
    [
      "holds a password",
      "bios: {AdminPassword: geheim}",
      "bios has a password, which the inventory must not hold",
    ],
    ["has names with escape sequences", '{"\\u001b[31mred": 1}', "red is not known"],
  ])("that %s leaves the machine usable", (_, value, problem) => {
    const { kind, desired, desiredProblem = "" } = annotated(value);

    expect([kind, desired]).toEqual(["usable", undefined]);
    expect(desiredProblem).toContain("metadata.annotations.pbnj-worker/desired: ");
    expect(desiredProblem).toContain(problem);
    expect(desiredProblem).not.toMatch(/geheim|\p{Cc}/u);
    expect(desiredProblem.length).toBeLessThan(500);
  });

  it("with a thousand problems names twenty", () => {
    const text = JSON.stringify(Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`key${n}`, 1])));

    const { desiredProblem = "" } = annotated(text);

    expect(desiredProblem).toMatch(/key19 is not known.*; and 980 more$/);
    expect(desiredProblem).not.toContain("key20 ");
  });

  it("is read from Hardware, too", () => {
    const object = newHardware("node-1");
    const metadata = { ...object.metadata, annotations: { "pbnj-worker/desired": "power: off" } };

    expect(usable(describeHardware({ ...object, metadata }, AT)?.content).desired).toEqual({ power: "off" });
  });
});

describe("a problem of an object names the field that has it", () => {
  it.each<[string, Fields, string]>([
    ["host", { host: "a b" }, "spec.connection.host must be only a name or address"],
    ["port", { port: 99_999 }, "spec.connection.port is not a port, 1 to 65535"],
    [
      "ipmitool.port",
      { providerOptions: { ipmitool: { port: -1 } } },
      "spec.connection.providerOptions.ipmitool.port is not a port, 1 to 65535",
    ],
    [
      "cipherSuite",
      { providerOptions: { ipmitool: { cipherSuite: "best" } } },
      "spec.connection.providerOptions.ipmitool.cipherSuite must be one of 3, 17",
    ],
    [
      "hostScheme",
      { providerOptions: { intelAMT: { hostScheme: "ftp" } } },
      "spec.connection.providerOptions.intelAMT.hostScheme must be one of https, http",
    ],
    ["the Secret's name", { authSecretRef: { name: "" } }, "spec.connection.authSecretRef.name is missing"],
    [
      "consumerURL",
      { providerOptions: { rpc: { consumerURL: "hooks.example" } } },
      "spec.connection.providerOptions.rpc.consumerURL is not an http or https URL",
    ],
    [
      "staticHeaders",
      { providerOptions: { rpc: { ...RPC, request: { staticHeaders: { Host: ["x"] } } } } },
      "spec.connection.providerOptions.rpc.request.staticHeaders.Host is not a header name, or is a header that the connection sets itself",
    ],
    [
      "customRequestPayload",
      { providerOptions: { rpc: { ...RPC, experimental: { customRequestPayload: "[1", dotPath: "a" } } } },
      "spec.connection.providerOptions.rpc.experimental.customRequestPayload is not a JSON object",
    ],
    [
      "an algorithm",
      { providerOptions: { rpc: { ...RPC, hmac: { secrets: { md5: [{ name: "s" }] } } } } },
      "spec.connection.providerOptions.rpc.hmac.secrets.md5 is not an algorithm: write sha256 or sha512",
    ],
    [
      "a signing Secret's name",
      { providerOptions: { rpc: { ...RPC, hmac: { secrets: { sha256: [{ namespace: "x" }] } } } } },
      "spec.connection.providerOptions.rpc.hmac.secrets.sha256.0.name is missing",
    ],
    [
      "switchEntityID",
      { host: "http://ha.example", providerOptions: { homeassistant: { switchEntityID: "light.x" } } },
      "spec.connection.providerOptions.homeassistant.switchEntityID is not a switch's ID, such as switch.node_1",
    ],
    [
      "the host of Home Assistant",
      { host: "ha.example", providerOptions: { homeassistant: { switchEntityID: "switch.x" } } },
      "spec.connection.host is not an http or https URL",
    ],
    [
      "rpc beside homeassistant",
      { host: "http://h", providerOptions: { rpc: RPC, homeassistant: { switchEntityID: "switch.x" } } },
      "spec.connection.providerOptions.homeassistant conflicts with rpc: set only one of them",
    ],
    [
      "a type",
      { providerOptions: { redfish: { port: "443" } } },
      "spec.connection.providerOptions.redfish.port must be a number, not text",
    ],
  ])("%s", (_, connection, problem) => {
    expect(problemsWith({ host: "192.0.2.1", ...connection })).toEqual([problem]);
  });

  it("and an object without any connection says that", () => {
    const described = describeMachine({ metadata: {}, spec: {} }, AT);

    expect(described?.content).toEqual({ kind: "unusable", problems: ["spec.connection is missing"] });
  });
});

describe("a machine of the cluster and one of the file are one BMC", () => {
  it.each<[string, Fields, Fields]>([
    ["by the host, however written", { host: "BMC-1.Example." }, { host: "bmc-1.example" }],
    ["by an IPv6 address", { host: "[2001:DB8:0::1]" }, { host: "2001:db8::1" }],
    ["by an unusual port of IPMI", { host: "h", port: 6_230 }, { host: "h", ipmi: { port: 6_230 } }],
    [
      "by an unusual port of Redfish",
      { host: "h", providerOptions: { redfish: { port: 8_000 } } },
      { host: "h", redfish: { port: 8_000 } },
    ],
    [
      "by a port of Intel AMT",
      { host: "h", providerOptions: { intelAMT: { port: 17_000 }, preferredOrder: ["intelamt"] } },
      { host: "h", providers: ["amt", "redfish", "ipmi"], amt: { port: 17_000 } },
    ],
    [
      "behind one webhook",
      { host: "node 7", providerOptions: { rpc: { consumerURL: "https://hooks.example/" } } },
      { host: "node 7", rpc: { url: "https://hooks.example" } },
    ],
    [
      "behind one switch",
      { host: "http://ha.example", providerOptions: { homeassistant: { switchEntityID: "switch.a" } } },
      { host: "x", homeassistant: { url: "http://ha.example/", entity: "switch.a" } },
    ],
  ])("%s", (_, connection, entry) => {
    const file = fileInventory([MachineEntry.parse({ name: "node-1", ...entry })], {});

    expect(usable(describedWith(connection)).lockKey).toBe(file.find("node-1")?.lockKey);
  });
});
