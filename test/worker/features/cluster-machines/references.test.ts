import { describe, expect, it } from "vitest";
import type { FakeCluster } from "../../../../simulators/kubernetes/cluster.ts";
import { resolveMachine } from "../../../../worker/machines/resolve-machine.ts";
import { bindClaim, createHost, detached, HOSTS } from "./host-lab.ts";
import {
  hardware,
  InventoryLab,
  MACHINES,
  machine,
  machineRef,
  NAMESPACE,
  NEW_HARDWARE,
  newHardware,
  secret,
} from "./inventory-lab.ts";

const OTHER = "other";
const LOGIN = { username: "u", password: "canary" };
const REFUSED = /policy references: .* may not use Secret other\/bmc/;
const WEBHOOK = { consumerURL: "http://hook.example" };
const SECRETS = { from: [NAMESPACE], to: [OTHER], kinds: ["Secret"] };

const elsewhere = { name: "bmc", namespace: OTHER };
const objects: readonly (readonly [string, (fake: FakeCluster) => void])[] = [
  [
    "authSecretRef of a Machine",
    (fake) => fake.create(MACHINES, "Machine", machine("node", { authSecretRef: elsewhere })),
  ],
  [
    "authSecretRef of a Machine behind Hardware",
    (fake) => {
      fake.create(MACHINES, "Machine", machine("bmc-1", { authSecretRef: elsewhere }));
      fake.create("tinkerbell.org/v1alpha1", "Hardware", hardware("node", machineRef("bmc-1")));
    },
  ],
  [
    "credentialsRef of Hardware",
    (fake) => fake.create(NEW_HARDWARE, "Hardware", newHardware("node", { credentialsRef: elsewhere })),
  ],
  [
    "hmac secret of a webhook",
    (fake) => {
      const hmac = { secrets: { sha256: [elsewhere] } };
      const providerOptions = { rpc: { ...WEBHOOK, hmac } };
      fake.create(MACHINES, "Machine", machine("node", { providerOptions }));
    },
  ],
  [
    "second hmac secret of another algorithm",
    (fake) => {
      fake.create("v1", "Secret", secret("own", { secret: "s" }));
      const hmac = { secrets: { "256": [{ name: "own" }], "512": [elsewhere] } };
      const providerOptions = { rpc: { ...WEBHOOK, hmac } };
      fake.create(MACHINES, "Machine", machine("node", { providerOptions }));
    },
  ],
];

async function labOf(create: (fake: FakeCluster) => void, references?: readonly object[]) {
  const lab = await InventoryLab.start({
    sources: ["machines", "hardware"],
    fake: { crds: ["v1alpha1", "v1alpha2"], namespaces: ["default", NAMESPACE, OTHER] },
    ...(references && { references }),
    before: (fake) => {
      fake.create("v1", "Secret", secret("bmc", { ...LOGIN, secret: "canary" }, OTHER));
      create(fake);
    },
  });
  await lab.synced();
  return lab;
}

describe("the Secret of another namespace", () => {
  it.each(objects)(
    "is not read, mounted or waited for as %s, and the machine shows why",
    async (_, create) => {
      await using lab = await labOf(create);
      const node = lab.inventory.find("node", NAMESPACE);
      if (!node) throw new Error("there is no machine node");

      const { class: errorClass, message } = await lab.failure("node", NAMESPACE);
      expect(errorClass).toBe("usage");
      expect(message).toMatch(REFUSED);
      for (const namespace of [NAMESPACE, OTHER]) {
        expect(lab.inventory.mountedConnection(node, namespace)).toBeUndefined();
      }
      expect(await lab.inventory.missingSecret(node, AbortSignal.timeout(5_000))).toBeUndefined();
      expect(lab.fake.countBy(undefined, "secrets")).toBe(0);
      expect(lab.inventory.origin("node")?.problem).toMatch(REFUSED);
      expect(lab.inventory.state().unusable).toContainEqual({
        name: "node",
        reason: expect.stringMatching(REFUSED),
      });
    },
  );

  it.each(objects)("is read as %s if the policy opens it", async (_, create) => {
    await using lab = await labOf(create, [SECRETS]);

    const connection = await lab.connect("node");

    const { sha256, sha512 } = connection.rpc?.signature.secrets ?? { sha256: [], sha512: [] };
    const read = [connection.password, ...sha256, ...sha512].map((one) => one?.reveal());
    expect(read).toContain("canary");
    expect(lab.inventory.state().unusable).toEqual([]);
  });

  it("is judged by the policy of the moment", async () => {
    const references: object[] = [];
    await using lab = await labOf(
      (fake) => fake.create(MACHINES, "Machine", machine("node", { authSecretRef: elsewhere })),
      references,
    );

    await expect(lab.connect("node")).rejects.toThrow(REFUSED);
    references.push(SECRETS);
    expect((await lab.connect("node")).username).toBe("u");
    references.pop();
    await expect(lab.connect("node")).rejects.toThrow(REFUSED);
  });
});

describe("a machine of another namespace", () => {
  const MACHINE_RULE = { from: ["team"], to: [OTHER], kinds: ["Machine"] };

  async function teams(references?: readonly object[]) {
    const lab = await InventoryLab.start({
      watchNamespace: "*",
      fake: { namespaces: ["default", NAMESPACE, OTHER, "team"] },
      ...(references && { references }),
      before: (fake) => {
        fake.create("v1", "Secret", secret("node-1", LOGIN, OTHER));
        fake.create(MACHINES, "Machine", machine("node-1", {}, OTHER));
        fake.create(MACHINES, "Machine", machine("node-2", {}, "team"));
      },
    });
    await lab.synced();
    return lab;
  }
  const named = (MACHINE: string, workflowId = "team/w") => {
    return { agentId: "lane", command: [], workflowId, environment: { MACHINE } };
  };

  it("is unknown to a Workflow by default", async () => {
    await using lab = await teams();

    expect(lab.inventory.find("node-1.other", "team")).toBeUndefined();
    expect(lab.inventory.find("node-2", "team")?.name).toBe("node-2.team");
    expect(resolveMachine(named("node-1.other"), lab.inventory, "pbnj-{machine}")).toMatchObject({
      ok: false,
    });
  });

  it("is found by its full name alone if the policy opens it, with the Secret of its own namespace", async () => {
    await using lab = await teams([MACHINE_RULE]);

    expect(lab.inventory.find("node-1", "team")).toBeUndefined();
    expect(lab.inventory.find("node-1.other", "default")).toBeUndefined();
    expect((await lab.connect("node-1.other", "team")).username).toBe("u");
    expect(resolveMachine(named("node-1.other"), lab.inventory, "pbnj-{machine}")).toMatchObject({
      ok: true,
      machine: "node-1.other",
    });
  });

  it("is found in the one namespace that is watched, too", async () => {
    await using lab = await InventoryLab.start({
      watchNamespace: OTHER,
      fake: { namespaces: ["default", NAMESPACE, OTHER] },
      references: [MACHINE_RULE],
      before: (fake) => void fake.create(MACHINES, "Machine", machine("node-1", {}, OTHER)),
    });
    await lab.synced();

    expect(lab.inventory.find("node-1", "team")?.name).toBe("node-1");
    expect(lab.inventory.find("node-1", "default")).toBeUndefined();
  });
});

describe("the host of a HostClaim in another namespace, where the cluster has no HostDeployPolicies", () => {
  async function claimed(references?: readonly object[]) {
    const lab = await InventoryLab.start({
      sources: ["baremetalhosts"],
      watchNamespace: "*",
      fake: { ...HOSTS, lacks: ["hostdeploypolicies"] },
      ...(references && { references }),
      before: (fake) => {
        createHost(fake, "one", detached);
        bindClaim(fake, "mine", "one");
      },
    });
    await lab.synced();
    return lab;
  }

  it("is refused by default, before its Secret is read", async () => {
    await using lab = await claimed();

    const { message } = await lab.failure("claim/mine", "tenant");

    expect(message).not.toContain("one");
    expect(lab.fake.countBy("get", "secrets")).toBe(0);
  });

  it("is used if the policy opens it", async () => {
    await using lab = await claimed([{ from: ["tenant"], to: [NAMESPACE], kinds: ["BareMetalHost"] }]);

    expect((await lab.connect("claim/mine", "tenant")).username).toBe("root");
  });
});
