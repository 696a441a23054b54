import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { createCertificate } from "../../../simulators/certificate.ts";
import type { Dimensions, Row } from "./pairwise.ts";
import { mergeValues, needed, type Values } from "./values.ts";

const inventoryText = `defaults:
  credentials: {directory: "/etc/bmc/{machine}"}
machines:
  - name: node-1
    host: 192.0.2.11
  - name: node-2
    host: 192.0.2.12
`;
const policyText = `trustedImages:
  - registry.example/pbnj-worker/*
  - registry.example/other/*
  - registry.example:5000/*
`;
const authority = createCertificate({ commonName: "authority", authority: true });
const client = createCertificate({ commonName: "worker", issuer: authority });

const issuer = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" }).toString();

/** What is in the cluster before the chart, as `kind/name/key`. */
export const present: Readonly<Record<string, string>> = {
  "configMap/machines/list.yaml": inventoryText,
  "secret/machines/inventory.yaml": inventoryText,
  "configMap/rules/policy.yaml": policyText,
  "secret/rules/rules.yaml": policyText,
  "configMap/authorities/ca.crt": authority.cert,
  "secret/authorities/bundle.pem": authority.cert,
  "secret/tink-client/tls.crt": client.cert,
  "secret/tink-client/tls.key": client.key,
  "secret/http-token/token": `${"0123456789abcdef".repeat(2)}\n`,
  "secret/http-tls/tls.crt": client.cert,
  "secret/http-tls/tls.key": client.key,
  "secret/http-ca/ca.crt": authority.cert,
  "secret/pbnj-jwt/keys": issuer,
  "secret/pbnj-hs256/secret": `${"0123456789abcdef".repeat(2)}\n`,
  ...Object.fromEntries(
    ["node-1", "node-2"].flatMap((name) => [
      [`secret/bmc-${name}/username`, "admin\n"],
      [`secret/bmc-${name}/password`, "secret\n"],
    ]),
  ),
};

const restricted = (name: string) => ({
  name,
  image: "registry.example/sidecar:v1",
  securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
});

/** Every value of the chart takes part, most with more than one option. */
export const dimensions: Dimensions<Values> = {
  runtime: {
    jobs: {},
    inProcess: { runtime: { kind: "in-process" } },
    process: { runtime: { kind: "process" } },
  },
  agentIds: { none: {}, some: { agentIds: ["rack-1", "rack-2"], agentIdPattern: "bmc-{machine}" } },
  fileInventory: {
    none: {},
    text: { inventory: { file: inventoryText } },
    configMap: { inventory: { existing: { configMap: "machines", key: "list.yaml" } } },
    secret: { inventory: { existing: { secret: "machines" } } },
  },
  credentials: {
    none: {},
    mounted: {
      inventory: {
        credentials: [
          { machine: "node-1", secret: "bmc-node-1" },
          { machine: "node-2", secret: "bmc-node-2" },
        ],
      },
    },
  },
  clusterInventory: {
    none: {},
    machines: { inventory: { kubernetes: ["machines"] } },
    hosts: { inventory: { kubernetes: ["baremetalhosts"] }, metal3: { managed: "via-host" } },
    both: { inventory: { kubernetes: ["machines", "hardware"], secretNamespaces: ["bmc-secrets"] } },
  },
  otherClusters: {
    none: {},
    two: {
      inventory: {
        sources: [
          { name: "edge", identityRef: { name: "edge-kubeconfig" }, prefix: "edge-" },
          {
            name: "lab",
            identityRef: { name: "lab-kubeconfig", contextName: "admin" },
            inventory: ["hardware"],
            watchNamespace: "*",
            prefix: "lab-",
            workflowNamespaces: ["team-*"],
          },
        ],
      },
    },
  },
  watched: {
    own: {},
    other: { watchNamespace: "machines" },
    all: { watchNamespace: "*", inventory: { secretNamespaces: ["*"] } },
  },
  copies: { auto: {}, on: { runtime: { copySecrets: true } }, off: { runtime: { copySecrets: "off" } } },
  wakeUp: { auto: {}, on: { wakeUp: true }, off: { wakeUp: "off" } },
  rufio: {
    off: {},
    on: { rufio: { enabled: true } },
    new: { rufio: { enabled: true, api: "v1alpha2" } },
    set: {
      rufio: {
        enabled: true,
        image: "registry.example/other/{action}:{version}",
        statusInterval: 0,
        hardware: false,
        leaseNamespace: "rufio-system",
        alone: true,
      },
    },
  },
  leader: {
    alone: {},
    three: { replicas: 3 },
    named: { leaderElection: { enabled: "on", lease: "bmc-workers" } },
    shards: { replicas: 4, shards: 2 },
    off: { leaderElection: { enabled: false } },
  },
  tls: {
    off: { tink: { api: "legacy" } },
    insecure: { tink: { tls: { enabled: true, insecure: true } } },
    verified: {
      tink: { tls: { enabled: true, serverName: "tink.example.org", ca: { configMap: "authorities" } } },
    },
    mutual: {
      tink: {
        address: "[2001:db8::1]:4443",
        tls: { enabled: true, ca: { secret: "authorities", key: "bundle.pem" }, clientSecret: "tink-client" },
      },
    },
  },
  policy: {
    none: {},
    text: { policy: { file: policyText } },
    configMap: { policy: { existing: { configMap: "rules" } } },
    secret: { policy: { existing: { secret: "rules", key: "rules.yaml" } } },
  },
  pods: {
    default: {},
    set: {
      runtime: {
        pods: {
          startTimeout: "90s",
          pullPolicy: "always",
          user: "1000:1000",
          memoryLimit: "512Mi",
          cpuLimit: 0.5,
          serviceAccount: "puller",
          pullSecrets: ["registry", "mirror"],
          nodeSelector: { "kubernetes.io/arch": "amd64", "example.org/bmc-network": "" },
          tolerations: [
            { key: "bmc" },
            { key: "bmc", operator: "Exists", effect: "NoExecute" },
            { key: "rack", value: "r1", effect: "NoSchedule" },
          ],
          labels: { team: "metal" },
          annotations: { "example.org/note": "one = two: three" },
        },
      },
    },
  },
  state: {
    default: {},
    claim: {
      state: {
        persistence: { enabled: true, storageClass: "fast", size: "5Gi", accessModes: ["ReadWriteOncePod"] },
      },
    },
    existing: { state: { persistence: { enabled: true, existingClaim: "worker-state" } } },
    larger: { state: { sizeLimit: "2Gi", persistence: { whenDeleted: "Delete" } } },
  },
  network: {
    default: {},
    open: { networkPolicy: { enabled: false } },
    allPorts: { networkPolicy: { bmcNetworks: ["192.0.2.0/24"], bmcPorts: [] } },
    set: {
      networkPolicy: {
        bmcNetworks: ["192.0.2.0/24", "2001:db8:1::/64"],
        bmcPorts: [{ port: 8443, protocol: "TCP" }],
        ingressFrom: [
          { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } } },
        ],
        dnsTo: [],
        apiServerTo: [{ ipBlock: { cidr: "198.51.100.1/32" } }],
        apiServerPorts: [6443],
        tinkServerTo: [{ podSelector: { matchLabels: { app: "tinkerbell" } } }],
        actionDns: false,
        extraEgress: [{ ports: [{ port: 4318 }] }],
        extraActionEgress: [{ ports: [{ port: 443 }] }],
      },
    },
  },
  http: {
    open: {},
    token: { http: { auth: "auto", tokenSecret: "http-token" } },
    tls: {
      http: { auth: "auto", tokenSecret: "http-token", tlsSecret: "http-tls", clientCaSecret: "http-ca" },
    },
    certificates: {
      http: { auth: "auto", tlsSecret: "http-tls", clientCaSecret: "http-ca" },
      metrics: { serviceMonitor: { tlsConfig: { insecureSkipVerify: true } } },
    },
  },
  metrics: {
    none: {},
    all: {
      networkPolicy: { ingressFrom: [{ podSelector: {} }] },
      metrics: {
        serviceMonitor: {
          enabled: true,
          interval: "15s",
          labels: { release: "prometheus" },
          scrapeTimeout: "10s",
          relabelings: [{ targetLabel: "site", replacement: "north" }],
          metricRelabelings: [{ action: "labeldrop", regex: "pod" }],
        },
        prometheusRule: {
          enabled: true,
          labels: { release: "prometheus" },
          runbookBase: "https://manuals.example/pbnj-worker/",
        },
        dashboards: {
          enabled: true,
          labels: { dashboards: "on" },
          annotations: { grafana_folder: "Tinkerbell" },
        },
      },
    },
  },
  disruption: {
    any: {},
    one: { podDisruptionBudget: { enabled: true } },
    half: { podDisruptionBudget: { enabled: true, maxUnavailable: "50%" } },
  },
  account: {
    made: {},
    named: { serviceAccount: { name: "worker", annotations: { "example.org/role": "bmc" } } },
    existing: { serviceAccount: { create: false, name: "existing" } },
    default: { serviceAccount: { create: false }, rbac: { create: false } },
  },
  placing: {
    anywhere: {},
    set: {
      nodeSelector: { "kubernetes.io/os": "linux" },
      tolerations: [{ key: "control-plane", operator: "Exists" }],
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { a: "b" } } },
          ],
        },
      },
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "ScheduleAnyway" },
        {
          maxSkew: 2,
          topologyKey: "zone",
          whenUnsatisfiable: "DoNotSchedule",
          labelSelector: { matchLabels: { a: "b" } },
        },
      ],
      updateStrategy: { type: "RollingUpdate" },
      priorityClassName: "system-cluster-critical",
      resources: { requests: { cpu: "1" }, limits: { memory: "2Gi", cpu: "2" } },
    },
  },
  extras: {
    none: {},
    set: {
      podLabels: { team: "metal", "app.kubernetes.io/component": "mine" },
      podAnnotations: { "example.org/note": "hello" },
      extraEnv: [
        { name: "OTEL_EXPORTER_OTLP_ENDPOINT", value: "http://collector:4318" },
        { name: "VAULT_TOKEN", valueFrom: { secretKeyRef: { name: "vault", key: "token" } } },
      ],
      extraVolumes: [{ name: "authorities", configMap: { name: "authorities" } }],
      extraVolumeMounts: [{ name: "authorities", mountPath: "/etc/bmc-authorities", readOnly: true }],
      initContainers: [restricted("wait-for-vault")],
      extraContainers: [restricted("proxy")],
      hostAliases: [{ ip: "192.0.2.7", hostnames: ["bmc-7"] }],
      dnsConfig: { nameservers: ["192.0.2.53"], options: [{ name: "ndots", value: "1" }] },
    },
  },
  hostNetwork: { off: {}, on: { hostNetwork: true } },
  config: {
    none: {},
    set: {
      config: {
        logLevel: "debug",
        pollTimeout: 90,
        actionLogMaxSize: 268435456,
        actionLogDays: 3,
        maxActions: 12,
        reloadInterval: "5s",
      },
      shutdownGrace: "1h1m30s",
      stopGrace: 20,
    },
  },
  image: {
    tag: { image: { tag: "v1.2.3-rc.1", pullPolicy: "Always", pullSecrets: ["registry"] } },
    digest: { image: { repository: "registry.example:5000/worker", digest: `sha256:${"0a".repeat(32)}` } },
    default: {},
  },
  // After `tls`: the one that serves only PBnJ's API has no tink server.
  pbnj: {
    off: {},
    open: {
      pbnj: { enabled: true, auth: "none", port: 50052 },
      networkPolicy: { pbnjFrom: [{ podSelector: {} }] },
    },
    alone: {
      tink: { address: "" },
      pbnj: {
        enabled: true,
        jwtKeySecret: "pbnj-jwt",
        jwtSecretSecret: "pbnj-hs256",
        issuer: "https://issuer.example",
        audience: "pbnj",
        tlsSecret: "http-tls",
        clientCaSecret: "http-ca",
        image: "registry.example/other/{action}:{version}",
      },
    },
  },
  service: { default: {}, set: { service: { host: "::", port: 80, annotations: { "example.org/a": "b" } } } },
  name: {
    default: {},
    set: { fullnameOverride: "bmc" },
    part: { nameOverride: "power", commonLabels: { team: "metal", "app.kubernetes.io/component": "mine" } },
  },
};

export function valuesOf(row: Row): Values {
  const fragments = Object.entries(row).map(([name, option]) => dimensions[name]?.[option] ?? {});
  return mergeValues(needed, ...fragments);
}

/** What goes together, said in another way than the chart says it. */
export function isAllowed(row: Row): boolean {
  const {
    runtime,
    agentIds,
    fileInventory,
    credentials,
    clusterInventory,
    otherClusters,
    watched,
    copies,
    rufio,
    leader,
    state,
    tls,
    wakeUp,
    pbnj,
  } = row;
  const isAlone = pbnj === "alone";
  const hasFile = fileInventory !== "none";
  const hasCluster = clusterInventory !== "none" || rufio !== "off";
  const hasMachines = clusterInventory === "machines" || clusterInventory === "both";
  const isElsewhere = watched !== "own" || clusterInventory === "both";
  const hasOthers = otherClusters !== "none";
  const hasHosts = clusterInventory === "hosts";
  const mustCopy = runtime === "jobs" && (hasFile || hasOthers || hasHosts || (hasCluster && isElsewhere));
  return (
    (isAlone || agentIds === "some" || hasFile || hasCluster || hasOthers) &&
    (credentials === "none" || hasFile) &&
    (rufio !== "new" || !hasMachines) &&
    (runtime === "jobs" || leader === "alone" || leader === "off") &&
    (pbnj === "off" || leader !== "shards") &&
    (!isAlone || (agentIds === "none" && tls === "off" && wakeUp !== "on")) &&
    ((leader !== "three" && leader !== "shards") || state !== "existing") &&
    (copies !== "off" || !mustCopy)
  );
}

/** A variable that the image itself sets. */
export const imageEnvironment: Readonly<Record<string, string>> = Object.fromEntries(
  [...readFileSync("Dockerfile.worker", "utf8").matchAll(/(PBNJ_[A-Z_]+)=(\S+)/g)].map(
    ([, name = "", value = ""]) => [name, value],
  ),
);
