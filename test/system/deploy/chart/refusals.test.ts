import { expect, it, test } from "vitest";
import { describeWithHelm, runHelm, template } from "../../../deploy/chart/helm.ts";
import { mergeValues, needed, type Values } from "../../../deploy/chart/values.ts";

const base = mergeValues(needed, { agentIds: ["rack-1"] });
const pbnj = { enabled: true, auth: "none" };
const inventory = { file: "machines: []" };

/** Values of a wrong type or shape: one run says all of them, each with where it is. */
const misshapen: readonly (readonly [Values, string])[] = [
  [{ replicas: "2" }, "'/replicas': got string, want integer"],
  [{ wakeUp: "maybe" }, "'/wakeUp': value must be one of 'auto', 'on', 'off', true, false"],
  [
    { runtime: { kind: "docker" } },
    "'/runtime/kind': value must be one of 'kubernetes', 'in-process', 'process'",
  ],
  [
    { runtime: { pods: { nodeSelector: { ssd: true } } } },
    "'/runtime/pods/nodeSelector/ssd': got boolean, want string",
  ],
  [{ runtime: { pods: { annotations: { list: "a,b" } } } }, "'/runtime/pods/annotations/list'"],
  [{ runtime: { pods: { tolerations: [{ operator: "Exists" }] } } }, "'/runtime/pods/tolerations/0'"],
  [{ tink: { adress: "tinkerbell" } }, "'/tink': additional properties 'adress' not allowed"],
  [{ tink: { address: "https://tinkerbell" } }, "'/tink/address'"],
  [{ image: { digest: "0a0a" } }, "'/image/digest'"],
  [{ config: { polltimeout: "90s" } }, "'/config': additional properties 'polltimeout' not allowed"],
  [
    { config: { dockerSocket: "/run/docker.sock" } },
    "'/config': additional properties 'dockerSocket' not allowed",
  ],
  [{ inventory: { kubernetes: ["servers"] } }, "'/inventory/kubernetes/0'"],
  [{ inventory: { credentials: [{ machine: "node-1", password: "secret" }] } }, "'/inventory/credentials/0'"],
  [{ agentIdPattern: "bmc" }, "'/agentIdPattern'"],
  [{ shutdownGrace: "soon" }, "'/shutdownGrace'"],
  [{ leaderElection: { lease: "Workers" } }, "'/leaderElection/lease'"],
  [{ networkPolicy: { bmcNetworks: ["192.0.2.1"] } }, "'/networkPolicy/bmcNetworks/0'"],
  [{ networkPolicy: { bmcPorts: [443] } }, "'/networkPolicy/bmcPorts/0': got number, want object"],
  [{ networkPolicy: { bmcPorts: [{ port: 623 }] } }, "'/networkPolicy/bmcPorts/0'"],
  [{ watchNamespace: "a,b" }, "'/watchNamespace'"],
  [
    { metrics: { serviceMonitor: { enabled: "yes" } } },
    "'/metrics/serviceMonitor/enabled': got string, want boolean",
  ],
  [{ state: { persistence: { size: 1 } } }, "'/state/persistence/size': got number, want string"],
  [{ rufio: { image: "registry.example/power-on" } }, "'/rufio/image'"],
];

/** Values that are right one by one and wrong together. */
const contradicting: readonly (readonly [Values, string])[] = [
  [{ image: { repository: "" } }, "image.repository is missing"],
  [{ tink: { address: "" } }, "tink.address is missing"],
  [{ agentIds: [] }, "agentIds is empty, and so are inventory.file"],
  [{ tink: { tls: { serverName: "tink" } } }, "tink.tls.serverName has no effect without TLS"],
  [
    { tink: { tls: { enabled: true, insecure: true, ca: { secret: "ca" } } } },
    "tink.tls.insecure accepts any certificate",
  ],
  [
    { tink: { tls: { enabled: true, ca: { secret: "ca", configMap: "ca" } } } },
    "tink.tls.ca.configMap and tink.tls.ca.secret are both set",
  ],
  [
    { inventory: { ...inventory, existing: { secret: "machines" } } },
    "inventory.file and inventory.existing.secret are both set",
  ],
  [
    { policy: { existing: { configMap: "rules", secret: "rules" } } },
    "policy.existing.configMap and policy.existing.secret are both set",
  ],
  [
    { inventory: { credentials: [{ machine: "a", secret: "b" }] } },
    "inventory.credentials are for machines of a file",
  ],
  [
    {
      inventory: {
        ...inventory,
        credentials: [
          { machine: "a", secret: "b" },
          { machine: "a", secret: "c" },
        ],
      },
    },
    "inventory.credentials names a machine twice",
  ],
  [
    { inventory: { secretNamespaces: ["passwords"] } },
    "inventory.secretNamespaces is for machines of the cluster",
  ],
  [
    { inventory: { kubernetes: ["machines"] }, watchNamespace: "*" },
    "inventory.secretNamespaces is missing: with watchNamespace * the worker could read every Secret of the cluster",
  ],
  [
    { inventory: { kubernetes: ["machines"], secretNamespaces: ["*"] } },
    "inventory.secretNamespaces is *, which needs watchNamespace *",
  ],
  [
    { inventory: { kubernetes: ["machines"] }, rufio: { enabled: true, api: "v1alpha2" } },
    "inventory.kubernetes has machines, but with rufio.api v1alpha2 a Job names a Hardware",
  ],
  [{ agentIds: ["rufio"], rufio: { enabled: true } }, "agentIds holds rufio"],
  [{ replicas: 2, runtime: { kind: "process" } }, "replicas is 2, but with runtime.kind process"],
  [{ replicas: 3, leaderElection: { enabled: "off" } }, "replicas is 3, but leaderElection.enabled is off"],
  [{ replicas: 3, shards: 2 }, "replicas is 3, but must be a multiple of shards, which is 2"],
  [
    { leaderElection: { enabled: true }, runtime: { kind: "in-process" } },
    "leaderElection.enabled needs runtime.kind kubernetes",
  ],
  [{ state: { persistence: { existingClaim: "state" } } }, "state.persistence.existingClaim has no effect"],
  [
    { replicas: 2, state: { persistence: { enabled: true, existingClaim: "state" } } },
    "state.persistence.existingClaim is for one replica",
  ],
  [{ inventory, runtime: { copySecrets: false } }, "runtime.copySecrets is off"],
  [
    {
      ...{ watchNamespace: "*", runtime: { copySecrets: "off" } },
      inventory: { kubernetes: ["machines"], secretNamespaces: ["*"] },
    },
    "runtime.copySecrets is off",
  ],
  [{ policy: { file: "images: ['**']" } }, "policy.file has no trustedImages"],
  [
    { networkPolicy: { bmcPorts: [] } },
    "networkPolicy.bmcNetworks and networkPolicy.bmcPorts are both empty",
  ],
  [{ metrics: { serviceMonitor: { enabled: true } } }, "networkPolicy.ingressFrom is empty"],
  [{ http: { auth: "auto" } }, "http.tokenSecret is missing"],
  [{ http: { tokenSecret: "token" } }, "http.auth is none, so http.tokenSecret has no effect"],
  [{ http: { auth: "auto", clientCaSecret: "ca" } }, "http.clientCaSecret needs TLS"],
  [
    {
      http: { auth: "auto", clientCaSecret: "ca", tlsSecret: "tls" },
      metrics: { serviceMonitor: { enabled: true } },
    },
    "metrics.serviceMonitor.tlsConfig is empty",
  ],
  [{ pbnj: { enabled: true } }, "pbnj.jwtKeySecret is missing"],
  [{ pbnj: { issuer: "issuer" } }, "pbnj.issuer has no effect without PBnJ's API"],
  [
    { pbnj: { ...pbnj, clientCaSecret: "ca", tlsSecret: "tls" } },
    "pbnj.auth is none, so pbnj.clientCaSecret has no effect",
  ],
  [{ pbnj: { enabled: true, clientCaSecret: "ca" } }, "pbnj.clientCaSecret needs TLS"],
  [{ pbnj: { ...pbnj, audience: "pbnj" } }, "pbnj.issuer and pbnj.audience have no effect without tokens"],
  [{ pbnj, agentIds: ["pbnj"] }, "agentIds holds pbnj"],
  [{ pbnj, replicas: 2, shards: 2 }, "shards is 2, but pbnj.enabled needs one shard"],
  [{ pbnj: { ...pbnj, port: 42180 } }, "pbnj.port and service.port are both 42180"],
  [{ pbnj }, "networkPolicy.pbnjFrom is empty"],
  [{ pbnj, tink: { address: "" } }, "agentIds has no effect without a tink server"],
  [{ pbnj, tink: { address: "", tls: { enabled: true } } }, "tink.tls.enabled has no effect without a tink"],
  [{ pbnj, tink: { address: "" }, wakeUp: "on" }, "wakeUp on has no effect without a tink server"],
  [{ config: { pbnjAddress: "0.0.0.0:50051" } }, "config.pbnjAddress belongs elsewhere: set pbnj.enabled"],
  [{ config: { runtime: "process" } }, "config.runtime belongs elsewhere: set runtime.kind"],
];

describeWithHelm("values that are refused", () => {
  test.each(misshapen)("%j", async (wrong, said) => {
    const { ok, text } = await template(mergeValues(base, wrong));

    expect(ok).toBe(false);
    expect(text).toContain(said);
  });

  test.each(contradicting)("together: %j", async (wrong, said) => {
    const { ok, text } = await template(mergeValues(base, wrong));

    expect(ok).toBe(false);
    expect(text).toContain(`  - ${said}`);
  });

  it("are all said at once", async () => {
    const { text } = await template({ replicas: 2, runtime: { kind: "process" } });

    expect(text.match(/^ {2}- /gm)?.length).toBe(5);
  });
});

describeWithHelm("helm", () => {
  it("finds nothing in the chart to complain of", async () => {
    const { ok, text } = await runHelm(["lint", "--strict", "--quiet"], base);

    expect(ok, text).toBe(true);
    expect(text.trim()).toBe("");
  });
});
