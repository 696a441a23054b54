import { beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { dimensions, isAllowed, valuesOf } from "../../../deploy/chart/cases.ts";
import { describeWithHelm, RELEASE, renderAll } from "../../../deploy/chart/helm.ts";
import { configIn, loadIn } from "../../../deploy/chart/loaded-config.ts";
import { allOf, Manifest, selects, workloadOf } from "../../../deploy/chart/manifest.ts";
import { mountedFiles } from "../../../deploy/chart/mounted-files.ts";
import { pairwise } from "../../../deploy/chart/pairwise.ts";
import { mergeValues, needed } from "../../../deploy/chart/values.ts";

const Service = Manifest.extend({ spec: z.object({ ports: z.array(z.object({ targetPort: z.string() })) }) });

const { rows } = pairwise(dimensions, isAllowed);
const cases = Object.fromEntries(rows.map((row, index) => [`row ${index}`, valuesOf(row)]));

/** The ports of the pod that the Service leads to. */
function servicePorts(manifests: readonly Manifest[]): readonly string[] {
  const [service] = allOf(manifests, ["Service"], Service);
  return service?.spec.ports.map(({ targetPort }) => targetPort) ?? [];
}

describeWithHelm("the settings that the chart gives the worker", () => {
  let rendered: Readonly<Record<string, readonly Manifest[]>>;
  beforeAll(async () => {
    rendered = await renderAll(cases);
  });

  it("are taken without a complaint, for each pair of features", () => {
    for (const [name, manifests] of Object.entries(rendered)) {
      const loaded = loadIn(manifests);
      const said = loaded.ok ? loaded.warnings : loaded.problems;
      const row = rows[Number(name.slice(4))] ?? {};
      const others = said
        .map(({ message }) => message)
        .filter((message) => row["http"] !== "token" || !message.includes("is used without TLS"))
        .filter((message) => row["tls"] !== "insecure" || !message.includes("accepts any certificate"))
        .filter(
          (message) =>
            row["credentials"] !== "none" || !/credentials\.directory .* does not exist$/.test(message),
        );

      expect(loaded.ok, `${name}: ${JSON.stringify(said)}`).toBe(true);
      expect(others, name).toEqual([]);
    }
  });

  it("fit the pod: where it listens, keeps its state, and how long it has to end", () => {
    for (const manifests of Object.values(rendered)) {
      const config = configIn(manifests);
      const { spec } = workloadOf(manifests).spec.template;
      const [{ ports, volumeMounts, startupProbe, livenessProbe, readinessProbe }] = spec.containers;

      const pbnj = config.pbnj && { name: "pbnj", containerPort: config.pbnj.address.port };
      expect(ports).toEqual([{ name: "http", containerPort: config.http?.port }, ...(pbnj ? [pbnj] : [])]);
      expect(servicePorts(manifests)).toEqual(ports.map(({ name }) => name));
      if (config.pbnj) expect(config.pbnj.address.host).toBe(config.http?.host);
      expect(["0.0.0.0", "::"]).toContain(config.http?.host);
      const scheme = config.http?.files.certificate ? "HTTPS" : "HTTP";
      for (const probe of [startupProbe, livenessProbe, readinessProbe])
        expect(probe.httpGet).toMatchObject({ port: "http", scheme });
      expect(volumeMounts).toContainEqual(
        expect.objectContaining({ name: "state", mountPath: config.stateDirectory }),
      );
      expect(config.actionLog?.directory.startsWith(`${config.stateDirectory}/`)).toBe(true);
      expect(spec.terminationGracePeriodSeconds * 1_000).toBe(
        config.shutdownGraceMs + config.stopGraceMs + 60_000,
      );
    }
  });

  it("label the pods of actions so that their network policy finds them, and not the worker's", () => {
    let found = 0;
    for (const manifests of Object.values(rendered)) {
      const config = configIn(manifests);
      if (config.runtime.kind !== "kubernetes") continue;
      const labels = Object.fromEntries(config.runtime.labels.map(({ name, value }) => [name, value]));
      const selectors = manifests
        .filter(({ kind }) => kind === "NetworkPolicy")
        .map(
          (policy) => policy as unknown as { spec: { podSelector: { matchLabels: Record<string, string> } } },
        )
        .map(({ spec }) => spec.podSelector.matchLabels);
      const worker = workloadOf(manifests).spec.template.metadata.labels;

      if (selectors.length === 0) continue;
      found += 1;
      expect(selectors.map((selector) => selects(selector, labels))).toEqual([false, true]);
      expect(selectors.map((selector) => selects(selector, worker))).toEqual([true, false]);
    }
    expect(found).toBeGreaterThan(0);
  });
});

describeWithHelm("each value", () => {
  it("becomes the setting that it is about", async () => {
    const row = Object.fromEntries(
      Object.entries({
        ...{
          runtime: "jobs",
          agentIds: "some",
          fileInventory: "text",
          credentials: "mounted",
          copies: "auto",
        },
        ...{ clusterInventory: "both", watched: "other", wakeUp: "off", rufio: "set", leader: "named" },
        ...{ tls: "mutual", policy: "secret", pods: "set", config: "set", service: "set" },
      }),
    );
    const { all } = await renderAll({ all: valuesOf(row) });
    const config = configIn(all);

    expect(config).toMatchObject({
      fixedAgentIds: ["rack-1", "rack-2"],
      agentIds: ["rack-1", "rack-2", "bmc-node-1", "bmc-node-2"],
      backoffMaxIntervalMs: 30_000,
      maxActions: 12,
      reloadIntervalMs: 5_000,
      stopGraceMs: 20_000,
      shutdownGraceMs: 3_690_000,
      actionLog: { maxBytes: 268_435_456, maxAgeMs: 3 * 86_400_000 },
      log: { level: "debug" },
      server: {
        server: "[2001:db8::1]:4443",
        tls: true,
        insecureTls: false,
        pollTimeoutMs: 90_000,
        api: "auto",
      },
      runtime: {
        kind: "kubernetes",
        startTimeoutMs: 90_000,
        pullPolicy: "always",
        user: "1000:1000",
        memoryBytes: 512 * 1_024 ** 2,
        cpus: 0.5,
        serviceAccount: "puller",
        pullSecrets: ["registry", "mirror"],
        nodeSelector: [
          { name: "example.org/bmc-network", value: "" },
          { name: "kubernetes.io/arch", value: "amd64" },
        ],
        tolerations: [
          { key: "bmc", operator: "Equal", value: "" },
          { key: "bmc", operator: "Exists", effect: "NoExecute" },
          { key: "rack", operator: "Equal", value: "r1", effect: "NoSchedule" },
        ],
        annotations: [{ name: "example.org/note", value: "one = two: three" }],
      },
      kubernetes: { watchNamespace: "machines" },
      machineSources: [{ inventory: ["machines", "hardware"] }],
      wakeUp: false,
      rufio: {
        api: "v1alpha1",
        image: "registry.example/other/{action}:{version}",
        statusIntervalMs: 0,
        hardware: false,
        leaseNamespace: "rufio-system",
        alone: true,
      },
      leaderElection: { group: "bmc-workers", lease: "bmc-workers" },
      watched: { inventory: { path: "/etc/pbnj-worker/inventory.yaml" } },
    });
    expect(config.server).toHaveProperty("clientKey");
  });

  it("becomes one of Metal3's hosts", async () => {
    const hosts = { inventory: { kubernetes: ["baremetalhosts"] }, metal3: { managed: "via-host" } };
    const { via } = await renderAll({ via: mergeValues(needed, hosts) });

    expect(configIn(via)).toMatchObject({
      machineSources: [{ inventory: ["baremetalhosts"] }],
      managedHosts: "via-host",
    });
  });

  it("has a default with which machines of the cluster are enough", async () => {
    const machines = mergeValues(needed, { inventory: { kubernetes: ["machines"] } });
    const rendered = await renderAll({
      one: machines,
      many: mergeValues(machines, { replicas: 3, rufio: { enabled: true } }),
    });

    expect(configIn(rendered.one).shutdownGraceMs).toBe(30_000);
    expect(configIn(rendered.one).kubernetes).toEqual({});
    expect(configIn(rendered.one)).toMatchObject({
      machineSources: [{ name: "local", inventory: ["machines"] }],
      wakeUp: true,
    });
    expect(configIn(rendered.one).policy).toMatchObject({
      images: ["registry.example/pbnj-worker/*"],
      trustedImages: ["registry.example/pbnj-worker/*"],
    });
    expect(configIn(rendered.many)).toMatchObject({
      leaderElection: { lease: `${RELEASE}-pbnj-worker` },
      rufio: {
        api: "v1alpha1",
        image: "registry.example/pbnj-worker/{action}:v{version}",
        statusIntervalMs: 180_000,
        hardware: true,
      },
    });
  });
});

describeWithHelm("without a policy", () => {
  const machines = mergeValues(needed, { inventory: { kubernetes: ["machines"] } });

  it("trusts what does Rufio's work as well, wherever that is", async () => {
    const image = "registry.example:5000/rufio/{action}:{version}";
    const { all } = await renderAll({ all: mergeValues(machines, { rufio: { enabled: true, image } }) });

    expect(configIn(all).policy.trustedImages).toEqual([
      "registry.example/pbnj-worker/*",
      "registry.example:5000/rufio/*",
    ]);
  });

  it("trusts what corrects machines as well, beside the worker's image or wherever that is", async () => {
    const driftImage = "registry.example:5000/drift/{action}:{version}";
    const rendered = await renderAll({
      beside: mergeValues(machines, { config: { driftInterval: "1h" } }),
      other: mergeValues(machines, { config: { driftInterval: "1h", driftImage } }),
    });

    const trusted = ["registry.example/pbnj-worker/*"];
    expect(configIn(rendered.beside)).toMatchObject({
      drift: { intervalMs: 3_600_000, image: "registry.example/pbnj-worker/{action}:v{version}" },
      policy: { trustedImages: trusted },
    });
    expect(configIn(rendered.other)).toMatchObject({
      drift: { image: driftImage },
      policy: { trustedImages: [...trusted, "registry.example:5000/drift/*"] },
    });
  });

  it("trusts every image only where the values say so, with a warning", async () => {
    const { all } = await renderAll({ all: mergeValues(machines, { config: { unsafeAnyImage: true } }) });
    const loaded = loadIn(all);

    expect(loaded).toMatchObject({ ok: true, config: { policy: { trustedImages: ["**"] } } });
    expect(loaded.ok && loaded.warnings.map(({ message }) => message)).toEqual([
      expect.stringContaining("trusts every image"),
    ]);
  });
});

describeWithHelm("a change of the values", () => {
  const base = mergeValues(needed, { inventory: { file: "machines: []" }, agentIds: ["rack-1"] });
  const checksumOf = (manifests: readonly Manifest[]) =>
    workloadOf(manifests).spec.template.metadata.annotations["checksum/settings"];

  it("makes other pods where the worker would not see it otherwise", async () => {
    const rendered = await renderAll({
      before: base,
      settings: mergeValues(base, { wakeUp: "off" }),
      inventory: mergeValues(base, { inventory: { file: "machines: [{name: node-1, host: 192.0.2.1}]" } }),
    });

    expect(checksumOf(rendered.settings)).not.toBe(checksumOf(rendered.before));
    expect(checksumOf(rendered.inventory)).toBe(checksumOf(rendered.before));
    expect(JSON.stringify(rendered.inventory)).toContain("192.0.2.1");
  });

  it("keeps text as it was given", async () => {
    const file = 'machines:\n  # "quoted" {{ not a template }}\n  - name: node-1\n    host: 192.0.2.1\n';
    const { given } = await renderAll({ given: mergeValues(base, { inventory: { file } }) });
    const files = mountedFiles(workloadOf(given).spec.template, given, {});

    expect(files.get("/etc/pbnj-worker/inventory.yaml")).toBe(file);
    expect(parse(files.get("/etc/pbnj-worker/worker.yaml") ?? "")).toMatchObject({
      inventory: "inventory.yaml",
    });
  });
});
