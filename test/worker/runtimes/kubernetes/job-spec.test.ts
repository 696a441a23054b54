import type { V1PodSpec } from "@kubernetes/client-node";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LaunchRequest } from "../../../../worker/core/ports/runtime.ts";
import { jobMetadata } from "../../../../worker/runtimes/kubernetes/job-labels.ts";
import { connectionSecret, jobManifest } from "../../../../worker/runtimes/kubernetes/job-spec.ts";
import { launchName } from "../../../../worker/runtimes/launch-name.ts";
import { violationsOfRestricted } from "../../../support/pod-security.ts";
import { canary, scriptedRequest, testConnection } from "../launch-request.ts";
import { podConfig } from "./runtime-lab.ts";

const worker = { owner: "state-1", instance: "i-1", launch: "1a2b3c4d" };

interface Manifest {
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly activeDeadlineSeconds: number;
    readonly template: Pick<Manifest, "metadata"> & { readonly spec: V1PodSpec };
  };
}

function manifestOf(
  given: Partial<LaunchRequest> = {},
  pods: Partial<typeof podConfig> = {},
  secret?: string,
): Manifest {
  const { request } = scriptedRequest(["on"]);
  const whole = { ...request, ...given };
  const labels = jobMetadata(whole.action, worker, 60_000, Date.UTC(2026, 0, 1));
  const terms = { pods: { ...podConfig, ...pods }, labels, stopGraceMs: 10_000 };
  return jobManifest(whole, secret === undefined ? terms : { ...terms, secret }) as unknown as Manifest;
}

function containerOf(manifest: Manifest) {
  const [container] = manifest.spec.template.spec.containers;
  if (!container) throw new Error("no container");
  return container;
}

describe("the Job of an action", () => {
  it("meets the restricted Pod Security standard, with every limit set and no token", () => {
    const manifest = manifestOf();
    const { spec } = manifest.spec.template;

    expect(violationsOfRestricted(spec)).toEqual([]);
    expect(spec).toMatchObject({
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 10,
    });
    expect(containerOf(manifest)).toMatchObject({
      securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
      resources: {
        requests: { cpu: "50m", memory: "268435456" },
        limits: { cpu: "1000m", memory: "268435456", "ephemeral-storage": "128Mi" },
      },
    });
  });

  it("is created suspended, never creates a second pod, and ends by itself", () => {
    const { spec } = manifestOf({ timeoutMs: 30_000 }, { startTimeoutMs: 20_000 });

    expect(spec).toMatchObject({
      suspend: true,
      parallelism: 1,
      completions: 1,
      backoffLimit: 0,
      podReplacementPolicy: "Failed",
      ttlSecondsAfterFinished: 7 * 86_400,
      // Start, action, grace and slack.
      activeDeadlineSeconds: 20 + 30 + 10 + 60,
    });
  });

  it("has the pod settings and the policy's terms", () => {
    const manifest = manifestOf(
      { terms: { memoryBytes: 1_000_000, cpus: 0.02, pull: "always" } },
      {
        user: "1000:2000",
        serviceAccount: "puller",
        nodeSelector: [{ name: "kubernetes.io/arch", value: "amd64" }],
        tolerations: [{ key: "bmc", operator: "Exists", effect: "NoSchedule" }],
        pullSecrets: ["registry"],
        labels: [{ name: "team", value: "metal" }],
        annotations: [{ name: "karpenter.sh/do-not-disrupt", value: "false" }],
      },
    );
    const { metadata, spec } = manifest.spec.template;

    expect(spec).toMatchObject({
      serviceAccountName: "puller",
      nodeSelector: { "kubernetes.io/arch": "amd64" },
      tolerations: [{ key: "bmc", operator: "Exists", effect: "NoSchedule" }],
      imagePullSecrets: [{ name: "registry" }],
      securityContext: { runAsUser: 1_000, runAsGroup: 2_000, fsGroup: 2_000 },
    });
    expect(metadata.labels).toMatchObject({ team: "metal" });
    expect(manifest.metadata.labels).toMatchObject({ team: "metal" });
    expect(metadata.annotations).toMatchObject({ "karpenter.sh/do-not-disrupt": "false" });
    expect(containerOf(manifest)).toMatchObject({
      imagePullPolicy: "Always",
      resources: { requests: { cpu: "20m" }, limits: { cpu: "20m", memory: "1000000" } },
    });
  });

  it("passes text unchanged that a kubelet would expand", () => {
    const { request } = scriptedRequest(["cost: $5 $(HOME) $$(X)"], {
      action: { environment: { A: "$(B)" } },
    });

    const container = containerOf(manifestOf(request));

    expect(container.args).toEqual(["cost: $$5 $$(HOME) $$$$(X)"]);
    expect(container.env).toContainEqual({ name: "A", value: "$$(B)" });
  });

  it("has the same name for the same action, short enough for a label, for any action name", () => {
    const { request } = scriptedRequest([]);
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), fc.string({ maxLength: 80 }), (name, agentId) => {
        const action = { ...request.action, name, agentId };
        const { labels, annotations } = jobMetadata(action, worker, 1_000, 0);

        expect(launchName(action)).toMatch(/^pbnj-[a-z0-9]([a-z0-9-]*[a-z0-9])?-[0-9a-f]{16}$/);
        expect(launchName(action).length).toBeLessThanOrEqual(63);
        for (const value of Object.values(labels)) {
          expect(value).toMatch(/^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/);
        }
        expect({ ...labels, ...annotations }).toMatchObject({
          "pbnj-worker/action-name": name,
          "pbnj-worker/agent": agentId,
        });
      }),
    );
  });

  it("mounts several Secrets beside the connection file, each key under its file's name", () => {
    const files = [
      { file: "username", secret: "bmc", key: "user" },
      { file: "password", secret: "bmc", key: "pass" },
      { file: "token", secret: "vault", key: "token" },
    ];
    const manifest = manifestOf({ mounted: { document: { host: "h" }, files } });
    const volume = manifest.spec.template.spec.volumes?.find(({ name }) => name === "connection");

    expect(volume?.projected).toMatchObject({ defaultMode: 0o440 });
    expect(volume?.projected?.sources?.slice(1)).toEqual([
      {
        secret: {
          name: "bmc",
          items: [
            { key: "user", path: "username" },
            { key: "pass", path: "password" },
          ],
        },
      },
      { secret: { name: "vault", items: [{ key: "token", path: "token" }] } },
    ]);
    expect(containerOf(manifest).env).toContainEqual({
      name: "BMC_CONNECTION_FILE",
      value: "/run/pbnj-worker/connection.json",
    });
  });

  it("holds no secret, which is in the Secret alone, owned by the Job", () => {
    const connection = testConnection();
    const manifest = manifestOf({ connection }, {}, "s-1");
    const labels = jobMetadata(scriptedRequest([]).request.action, worker, 1, 0);
    const secret = connectionSecret("s-1", { name: "j", uid: "u-1" }, labels, connection) as {
      readonly data: Readonly<Record<string, string>>;
    };

    expect(JSON.stringify(manifest)).not.toContain(canary);
    expect(JSON.stringify(manifest)).not.toContain(Buffer.from(canary).toString("base64").slice(0, 12));
    const text = Buffer.from(secret.data["connection.json"] ?? "", "base64").toString();
    expect(JSON.parse(text)).toMatchObject({ password: canary });
    expect(secret).toMatchObject({
      immutable: true,
      metadata: { ownerReferences: [{ kind: "Job", uid: "u-1", blockOwnerDeletion: false }] },
    });
  });
});
