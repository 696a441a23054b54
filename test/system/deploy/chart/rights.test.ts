import { beforeAll, expect, it } from "vitest";
import {
  type Choices,
  everyChoice,
  neededRights,
  rightText,
  sorted,
} from "../../../deploy/chart/features.ts";
import { describeWithHelm, NAMESPACE, renderAll } from "../../../deploy/chart/helm.ts";
import { allOf, type Manifest, Role } from "../../../deploy/chart/manifest.ts";
import { mergeValues, needed, type Values } from "../../../deploy/chart/values.ts";

const RUFIO_LEASE = "e74dec1a.bmc.tinkerbell.org";

function valuesOf(choices: Choices): Values {
  const {
    runtime,
    machines,
    hardware,
    hosts,
    fileInventory,
    secretNamespace,
    wakeUp,
    rufio,
    hardwareStatus,
    agentAttributes,
    compares,
    shared,
    watched,
  } = choices;
  return mergeValues(needed, {
    runtime: { kind: runtime },
    agentIds: ["rack-1"],
    inventory: {
      file: fileInventory ? "machines: []" : "",
      kubernetes: [
        ...(machines ? ["machines"] : []),
        ...(hardware ? ["hardware"] : []),
        ...(hosts ? ["baremetalhosts"] : []),
      ],
      secretNamespaces: [
        ...(watched === "*" && (machines || hardware || hosts || rufio !== "") ? ["*"] : []),
        ...(secretNamespace ? ["passwords"] : []),
      ],
    },
    metal3: { managed: hosts || "refuse" },
    watchNamespace: watched,
    wakeUp: wakeUp ? "auto" : "off",
    rufio: { enabled: rufio !== "", api: rufio || "v1alpha1", hardware: hardwareStatus },
    config: { ...(agentAttributes && { agentAttributes }), ...(compares && { driftInterval: "1h" }) },
    leaderElection: { enabled: shared ? "on" : "auto", lease: "pbnj-worker" },
  });
}

/** `place: verb resource.group` of every rule; the place is `own`, a namespace or `*`. */
function granted(manifests: readonly Manifest[]): readonly string[] {
  return sorted(
    allOf(manifests, ["Role", "ClusterRole"], Role).flatMap(({ metadata: { namespace = "*" }, rules }) =>
      rules.flatMap(({ apiGroups, resources, verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) =>
            verbs.map((verb) =>
              rightText(namespace === NAMESPACE ? "own" : namespace, verb, resource, group),
            ),
          ),
        ),
      ),
    ),
  );
}

describeWithHelm("the rights that the chart gives", () => {
  const choices = new Map(everyChoice().map((choice) => [JSON.stringify(choice), choice]));
  let rendered: Readonly<Record<string, readonly Manifest[]>>;
  beforeAll(async () => {
    rendered = await renderAll(
      Object.fromEntries([...choices].map(([name, choice]) => [name, valuesOf(choice)])),
      /Role$/,
      ["rbac.yaml"],
    );
  });

  it("are those that the chosen features say they need, and no other, for every combination", () => {
    expect(choices.size).toBeGreaterThan(300);
    for (const [name, choice] of choices) {
      const further = choice.secretNamespace ? ["passwords: get secrets"] : [];

      expect(granted(rendered[name] ?? []), name).toEqual(sorted([...neededRights(choice), ...further]));
    }
  });

  it("never name everything, and a Lease of others by its name", () => {
    for (const manifests of Object.values(rendered)) {
      for (const { metadata, rules } of allOf(manifests, ["Role", "ClusterRole"], Role)) {
        for (const { apiGroups, resources, resourceNames, verbs } of rules) {
          expect([...apiGroups, ...resources, ...verbs]).not.toContain("*");
          const isLease = resources.includes("leases") && !verbs.includes("create");
          const lease = metadata.name.endsWith("-rufio-lease") ? RUFIO_LEASE : "pbnj-worker";
          expect(resourceNames).toEqual(isLease ? [lease] : undefined);
        }
      }
    }
  });

  it("never let the worker list Secrets, nor read one in its own namespace for Machines beside them", () => {
    for (const [name, choice] of choices) {
      const secrets = granted(rendered[name] ?? []).filter((right) => right.endsWith(" secrets"));

      expect(secrets.filter((right) => /: (list|watch) /.test(right))).toEqual([]);
      const readsItself =
        choice.rufio !== "" || choice.agentAttributes || choice.compares || choice.hosts !== "";
      if (choice.runtime === "kubernetes" && choice.watched === "" && !readsItself) {
        expect(secrets).not.toContain("own: get secrets");
      }
    }
  });
});

describeWithHelm("the right to read Secrets where all namespaces are watched", () => {
  it("is granted in the listed namespaces alone, and nowhere is one to delete Secrets", async () => {
    const values = {
      agentIds: ["rack-1"],
      watchNamespace: "*",
      inventory: { kubernetes: ["machines"], secretNamespaces: ["bmc-a", "bmc-b"] },
    };
    const { some } = await renderAll({ some: mergeValues(needed, values) }, /Role$/, ["rbac.yaml"]);

    const secrets = granted(some ?? []).filter((right) => right.endsWith(" secrets"));
    expect(secrets).toEqual(["bmc-a: get secrets", "bmc-b: get secrets", "own: create secrets"]);
  });
});

describeWithHelm("a rule of the chart", () => {
  const everything = {
    agentIds: ["rack-1"],
    replicas: 2,
    watchNamespace: "*",
    inventory: { kubernetes: ["machines", "hardware"], secretNamespaces: ["passwords"] },
    rufio: { enabled: true, leaseNamespace: "rufio-system" },
  };

  it("for Rufio's Lease is in the Lease's namespace", async () => {
    const rendered = await renderAll({ set: mergeValues(needed, everything) });
    const leases = allOf(rendered.set, ["Role"], Role).filter(({ metadata }) =>
      metadata.name.endsWith("-rufio-lease"),
    );

    expect(leases.map(({ metadata }) => metadata.namespace)).toEqual(["rufio-system"]);
  });

  it("is not created with rbac.create: false", async () => {
    const rendered = await renderAll({
      without: mergeValues(needed, everything, { rbac: { create: false } }),
    });

    expect(rendered.without.filter(({ kind }) => /Role/.test(kind))).toEqual([]);
  });

  it("lets the worker see only those Secrets that have the kubeconfigs of other clusters", async () => {
    const sources = [{ name: "edge", identityRef: { name: "edge-kubeconfig" } }];
    const rendered = await renderAll({ with: mergeValues(needed, { inventory: { sources } }) });

    const rules = allOf(rendered.with, ["Role"], Role).flatMap((role) => role.rules);
    const secrets = rules.filter(({ resources }) => resources.includes("secrets"));
    expect(secrets.map(({ resourceNames, verbs }) => [resourceNames, verbs])).toEqual([
      [undefined, ["create"]],
      [["edge-kubeconfig"], ["list", "watch"]],
    ]);
  });
});
