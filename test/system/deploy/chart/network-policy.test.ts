import { BlockList, isIPv6 } from "node:net";
import { expect, it } from "vitest";
import { z } from "zod";
import { AMT_PORTS, IpmiOptions } from "../../../../shared/contract/connection.ts";
import { describeWithHelm, renderAll } from "../../../deploy/chart/helm.ts";
import { allOf, Labels, Manifest } from "../../../deploy/chart/manifest.ts";
import { mergeValues, needed, type Values } from "../../../deploy/chart/values.ts";

const Peer = z.strictObject({
  podSelector: z.strictObject({ matchLabels: Labels.optional() }).optional(),
  ipBlock: z.strictObject({ cidr: z.string(), except: z.array(z.string()).optional() }).optional(),
});
const Ports = z.array(z.strictObject({ port: z.number(), protocol: z.enum(["TCP", "UDP"]) })).optional();
const Ingress = z.strictObject({ ports: Ports, from: z.array(Peer).optional() });
const Egress = z.strictObject({ ports: Ports, to: z.array(Peer).optional() });
type Egress = z.infer<typeof Egress>;
const Policy = Manifest.extend({
  spec: z.object({ ingress: z.array(Ingress), egress: z.array(Egress) }),
});

const base = mergeValues(needed, {
  agentIds: ["rack-1"],
  http: { auth: "auto", tokenSecret: "http-token" },
});

async function policiesFor<Name extends string>(cases: Readonly<Record<Name, Values>>) {
  const values = Object.fromEntries(
    Object.entries<Values>(cases).map(([name, more]) => [name, mergeValues(base, more)]),
  );
  const rendered = await renderAll(values, /^NetworkPolicy$/);
  const read = (name: string) => allOf(rendered[name] ?? [], ["NetworkPolicy"], Policy);
  return (name: Name) => {
    const [worker, actions] = read(name).map(({ spec }) => spec);
    if (!worker) throw new Error(`no policy for ${name}`);
    return { worker, actions };
  };
}

/** Whether one of the rules lets a packet out. */
function allows(rules: readonly Egress[], address: string, port: number, protocol = "TCP"): boolean {
  return rules.some(
    ({ to, ports }) =>
      (!ports || ports.some((open) => open.port === port && open.protocol === protocol)) &&
      (!to ||
        to.some(
          ({ ipBlock }) =>
            ipBlock &&
            isWithin(address, ipBlock.cidr) &&
            !ipBlock.except?.some((cidr) => isWithin(address, cidr)),
        )),
  );
}

function isWithin(address: string, cidr: string): boolean {
  const [network = "", prefix] = cidr.split("/");
  if (isIPv6(network) !== isIPv6(address)) return false;
  const family = isIPv6(network) ? "ipv6" : "ipv4";
  const list = new BlockList();
  list.addSubnet(network, Number(prefix), family);
  return list.check(address, family);
}

const BMC = "192.0.2.11";
const USUAL = [
  [443, "TCP"],
  [80, "TCP"],
  [IpmiOptions.parse({}).port, "UDP"],
  [AMT_PORTS.http, "TCP"],
  [AMT_PORTS.https, "TCP"],
] as const;

describeWithHelm("the network policies", () => {
  it("are there by default, and let actions reach the usual ports of BMCs and names, and nothing reach actions", async () => {
    const policies = await policiesFor({ default: {} });
    const { worker, actions } = policies("default");
    const egress = actions?.egress ?? [];

    expect(USUAL.filter(([port, protocol]) => !allows(egress, BMC, port, protocol))).toEqual([]);
    expect(allows(egress, "2001:db8::11", 443)).toBe(true);
    expect(allows(egress, "192.0.2.53", 53, "UDP")).toBe(true);
    // A cloud's metadata service, an SSH server, the kubelet, the tink server.
    expect(allows(egress, "169.254.169.254", 80)).toBe(false);
    expect(allows(egress, "fd00:ec2::254", 80)).toBe(false);
    expect([22, 10_250, 42_113].filter((port) => allows(egress, BMC, port))).toEqual([]);
    expect(actions?.ingress).toEqual([]);
    // With Jobs, the worker itself speaks to no BMC.
    expect(allows(worker.egress, BMC, 623, "UDP")).toBe(false);
    expect([53, 443, 6443, 42_113].filter((port) => !allows(worker.egress, "192.0.2.1", port))).toEqual([]);
  });

  it("let the worker reach BMCs where it speaks to them itself", async () => {
    const policies = await policiesFor({
      process: { runtime: { kind: "process" } },
      rufio: { rufio: { enabled: true } },
      drift: { config: { driftInterval: "1h" } },
      attributes: { config: { agentAttributes: true } },
    });

    for (const name of ["process", "rufio", "drift", "attributes"] as const)
      expect(allows(policies(name).worker.egress, BMC, 623, "UDP"), name).toBe(true);
    expect(policies("process").actions).toBeUndefined();
  });

  it("open the ports that machines of the inventory's text name", async () => {
    const machines = [
      { name: "a", host: BMC, redfish: { port: 8443, sshHostKey: "SHA256:x" }, amt: { port: 17_000 } },
      { name: "b", host: "b", rpc: { url: "https://hook.example:9443/power" } },
      { name: "c", host: "c", homeassistant: { url: "http://[2001:db8::1]:8123", entity: "switch.c" } },
      { name: "d", ironic: { url: "http://ironic.example" } },
    ];
    const file = JSON.stringify({ defaults: { ipmi: { port: 6230 } }, machines });
    const policies = await policiesFor({
      text: { inventory: { file } },
      odd: { inventory: { file: "machines: {a: [1]}\ndefaults: [2]" } },
    });
    const egress = policies("text").actions?.egress ?? [];

    expect([8443, 22, 17_000, 9443, 8123, 80].filter((port) => !allows(egress, BMC, port))).toEqual([]);
    expect(allows(egress, BMC, 6230, "UDP")).toBe(true);
    expect(allows(egress, BMC, 6230)).toBe(false);
    expect(policies("odd").actions?.egress).toHaveLength(2);
  });

  it("are narrowed to networks and ports of the values", async () => {
    const bmcNetworks = ["192.0.2.0/24"];
    const policies = await policiesFor({
      networks: { networkPolicy: { bmcNetworks, actionDns: false } },
      everyPort: { networkPolicy: { bmcNetworks, bmcPorts: [] } },
      ports: { networkPolicy: { bmcPorts: [{ port: 8443, protocol: "TCP" }] } },
    });
    const open = (name: "networks" | "everyPort" | "ports", address: string, port: number) =>
      allows(policies(name).actions?.egress ?? [], address, port);

    expect([open("networks", BMC, 443), open("networks", BMC, 22)]).toEqual([true, false]);
    expect([open("networks", "198.51.100.1", 443), open("networks", BMC, 53)]).toEqual([false, false]);
    expect([open("everyPort", BMC, 22), open("everyPort", "198.51.100.1", 443)]).toEqual([true, false]);
    expect([open("ports", BMC, 8443), open("ports", BMC, 443)]).toEqual([true, false]);
  });

  it("let the worker send traces to the collector that its environment names", async () => {
    const extraEnv = [
      { name: "OTEL_EXPORTER_OTLP_ENDPOINT", value: "http://collector:4318" },
      { name: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", value: "https://traces.example/v1/traces" },
      { name: "VAULT_ADDR", value: "http://vault:8200" },
    ];
    const policies = await policiesFor({
      traces: { extraEnv, runtime: { kind: "in-process" } },
    });
    const { egress } = policies("traces").worker;

    expect([4318, 443, 8200].map((port) => allows(egress, "192.0.2.9", port))).toEqual([true, true, false]);
  });

  it("let everyone in who must have credentials, and without credentials only those whom the values list", async () => {
    const pods = [{ podSelector: { matchLabels: { app: "prometheus" } } }];
    const policies = await policiesFor({
      credentials: { pbnj: { enabled: true, jwtKeySecret: "keys" } },
      listed: {
        networkPolicy: { ingressFrom: pods, pbnjFrom: pods },
        pbnj: { enabled: true, jwtKeySecret: "keys" },
      },
      none: { http: { auth: "none", tokenSecret: "" } },
    });
    const http = [{ port: 42_180, protocol: "TCP" }];
    const pbnj = [{ port: 50_051, protocol: "TCP" }];
    const helmTest = { podSelector: { matchLabels: expect.objectContaining({}) } };

    expect(policies("credentials").worker.ingress).toEqual([{ ports: http }, { ports: pbnj }]);
    expect(policies("listed").worker.ingress).toEqual([
      { ports: http, from: [helmTest, ...pods] },
      { ports: pbnj, from: pods },
    ]);
    expect(policies("none").worker.ingress).toEqual([{ ports: http, from: [helmTest] }]);
  });
});
