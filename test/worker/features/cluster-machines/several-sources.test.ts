import { describe, expect, it } from "vitest";
import { scaledClock } from "../../../support/scaled-clock.ts";
import { MACHINES, NAMESPACE, SOON } from "./inventory-lab.ts";
import { Node, SourcesLab } from "./sources-lab.ts";

describe("machines of several clusters", () => {
  it("are one list; each is read with the Secret of its own cluster", async () => {
    await using lab = await SourcesLab.start([{ name: "edge" }], (home, edge) => {
      Node.create(home, "home-1", "of home");
      Node.create(edge, "edge-1", "of the edge");
    });
    await lab.synced();

    expect(lab.names()).toEqual(["edge-1", "home-1"]);
    expect(await lab.password("home-1")).toBe("of home");
    expect(await lab.password("edge-1")).toBe("of the edge");
    expect(lab.inventory.origin("edge-1")).toMatchObject({
      source: "edge",
      object: "Machine tink-system/edge-1",
    });
    expect(lab.home.countBy("get", "secrets") + lab.edge.countBy("get", "secrets")).toBe(2);
    const mounted = (name: string) =>
      lab.inventory.mountedConnection(lab.machine(name), NAMESPACE) !== undefined;
    expect([mounted("home-1"), mounted("edge-1")]).toEqual([true, false]);
  });

  it("are refused if several sources have their name, until one object is gone", async () => {
    await using lab = await SourcesLab.start([{ name: "edge" }], (home, edge) => {
      Node.create(home, "node-1", "of home");
      Node.create(edge, "node-1", "of the edge");
    });
    await lab.synced();
    const before = lab.machine("node-1");

    expect(lab.names()).toEqual(["node-1"]);
    expect(await lab.failure("node-1")).toContain(
      "machine source local, edge: Machine tink-system/node-1: several",
    );
    expect(lab.inventory.state().unusable.map(({ name }) => name)).toEqual(["node-1"]);
    lab.home.remove(MACHINES, "Machine", "node-1", NAMESPACE);
    await expect.poll(() => lab.password("node-1").catch(String), SOON).toBe("of the edge");
    await expect(lab.inventory.resolveConnection(before, lab.reading())).rejects.toThrow(
      "changed while the action",
    );
  });

  it("may have the same names in a source with a prefix", async () => {
    await using lab = await SourcesLab.start([{ name: "edge", prefix: "edge-" }], (home, edge) => {
      Node.create(home, "node-1", "of home");
      Node.create(edge, "node-1", "of the edge");
    });
    await lab.synced();

    expect(lab.names()).toEqual(["edge-node-1", "node-1"]);
    expect([await lab.password("node-1"), await lab.password("edge-node-1")]).toEqual([
      "of home",
      "of the edge",
    ]);
    expect(lab.inventory.find("edge-node-1.tink-system", NAMESPACE)?.name).toBe("edge-node-1");
  });

  it("may be used from namespaces that the source names, whatever the machines' namespaces", async () => {
    const mayUse = (namespace: string) => namespace.startsWith("team-");
    await using lab = await SourcesLab.start([{ name: "edge", mayUse }], (home, edge) => {
      Node.create(home, "home-1", "");
      Node.create(edge, "edge-1", "");
    });
    await lab.synced();

    const found = (name: string, namespace: string) => lab.inventory.find(name, namespace)?.name;
    expect(found("edge-1", "team-a")).toBe("edge-1");
    expect(found("edge-1", NAMESPACE)).toBeUndefined();
    expect(found("home-1", "team-a")).toBeUndefined();
  });

  it("stay readable in an outage of their cluster, which affects no other", async () => {
    await using lab = await SourcesLab.start(
      [{ name: "edge" }],
      (home, edge) => {
        Node.create(home, "home-1", "of home");
        Node.create(edge, "edge-1", "of the edge");
      },
      scaledClock(10),
    );
    await lab.synced();

    await lab.edge.stop();
    await expect
      .poll(() => lab.problems("edge"), SOON)
      .toContainEqual(expect.stringContaining("does not answer"));
    Node.create(lab.home, "home-2", "of home");
    await expect.poll(() => lab.names(), SOON).toEqual(["edge-1", "home-1", "home-2"]);
    expect(lab.problems("local")).toEqual([]);
    expect(await lab.password("home-2")).toBe("of home");
    expect(lab.inventory.bmcAddress("edge-1")?.host).toBe("edge-1.bmc.example");
    expect(lab.inventory.origin("edge-1")?.problem).toContain("does not answer");
    expect(await lab.failure("edge-1")).toContain(
      "machine source edge: Secret tink-system/edge-1 cannot be read",
    );

    await lab.edge.listen();
    await expect.poll(() => lab.problems("edge"), SOON).toEqual([]);
    expect(await lab.password("edge-1")).toBe("of the edge");
  });

  it("do not delay the start for long if their cluster does not answer", async () => {
    const clock = scaledClock(10);
    const begunMs = clock.monotonicMs();
    await using lab = await SourcesLab.start(
      [{ name: "edge" }],
      (home, edge) => {
        Node.create(home, "home-1", "p");
        edge.hang({ verb: "list", resource: "machines" }, 100);
      },
      clock,
    );
    await lab.synced();

    expect(lab.names()).toEqual(["home-1"]);
    expect(clock.monotonicMs() - begunMs).toBeLessThan(100_000);
  });
});

describe("the Secret with the kubeconfig of a source", () => {
  it("may come later, and moves the source to another cluster when it changes", async () => {
    await using lab = await SourcesLab.start([{ name: "edge", identity: "edge-kubeconfig" }], (_, edge) => {
      Node.create(edge, "node-1", "before the move");
    });
    await lab.synced();
    expect(lab.names()).toEqual([]);
    await expect
      .poll(() => lab.problems("edge"), SOON)
      .toEqual(["Secret tink-system/edge-kubeconfig does not exist"]);

    lab.writeIdentity("edge-kubeconfig", lab.edge.kubeconfig({ namespace: NAMESPACE }));
    await expect.poll(() => lab.password("node-1").catch(String), SOON).toBe("before the move");
    await expect.poll(() => lab.problems("edge"), SOON).toEqual([]);

    Node.create(lab.home, "node-1", "after the move");
    const target = lab.home.kubeconfig({ namespace: NAMESPACE });
    lab.writeIdentity("edge-kubeconfig", target, "value");
    await expect.poll(() => lab.inventory.state().sources[1]?.server, SOON).toBe(lab.home.url);
    await expect.poll(() => lab.edge.openWatches("machines"), SOON).toEqual([]);
  });

  it("leaves the last connection in use while it is wrong, and cuts it off when it is deleted", async () => {
    await using lab = await SourcesLab.start([{ name: "edge", identity: "edge-kubeconfig" }], (_, edge) => {
      Node.create(edge, "node-1", "p");
    });
    lab.writeIdentity("edge-kubeconfig", lab.edge.kubeconfig({ namespace: NAMESPACE }));
    await expect.poll(() => lab.password("node-1").catch(String), SOON).toBe("p");

    lab.writeIdentity("edge-kubeconfig", lab.edge.kubeconfig({ token: "s3cret" }).replace("https", "http"));
    await expect
      .poll(() => lab.problems("edge"), SOON)
      .toEqual([
        "Secret tink-system/edge-kubeconfig: kubeconfig cluster.server must be an https URL without user and query",
      ]);
    expect(await lab.password("node-1")).toBe("p");

    lab.writeIdentity("edge-kubeconfig", lab.edge.kubeconfig({ token: "s3cret", namespace: NAMESPACE }));
    await expect
      .poll(() => lab.problems("edge"), SOON)
      .toEqual([expect.stringMatching(/^new connection: .*Unauthorized/)]);
    expect(await lab.password("node-1")).toBe("p");
    expect(JSON.stringify([lab.said, lab.inventory.state()])).not.toContain("s3cret");

    lab.home.remove("v1", "Secret", "edge-kubeconfig", NAMESPACE);
    await expect
      .poll(() => lab.failure("node-1"), SOON)
      .toBe("machine node-1: machine source edge: Secret tink-system/edge-kubeconfig does not exist");
    expect(lab.names()).toEqual(["node-1"]);
    await expect.poll(() => lab.edge.openWatches(), SOON).toEqual([]);
  });

  it("must have the authority of the server's certificate", async () => {
    await using lab = await SourcesLab.start([{ name: "edge", identity: "edge-kubeconfig" }], (_, edge) => {
      Node.create(edge, "node-1", "p");
    });
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    const wrong = lab.edge.kubeconfig().replace(base64(lab.edge.ca), base64(lab.home.ca));
    expect(wrong).not.toBe(lab.edge.kubeconfig());

    lab.writeIdentity("edge-kubeconfig", wrong);

    await expect.poll(() => lab.problems("edge"), SOON).toEqual([expect.stringMatching(/certificate/)]);
    expect(lab.edge.requests).toEqual([]);
  });

  it("needs no other right in the worker's cluster than to list and watch that Secret", async () => {
    await using lab = await SourcesLab.start([{ name: "edge", identity: "edge-kubeconfig" }], (_, edge) => {
      Node.create(edge, "node-1", "p");
    });
    lab.writeIdentity("edge-kubeconfig", lab.edge.kubeconfig({ namespace: NAMESPACE }));
    await expect.poll(() => lab.names(), SOON).toEqual(["node-1"]);

    const asked = lab.home.requests.filter(({ resource }) => resource === "secrets");
    expect(new Set(asked.map(({ verb, name }) => `${verb} ${name}`))).toEqual(
      new Set(["list edge-kubeconfig", "watch edge-kubeconfig"]),
    );
  });
});

describe("the kubeconfig file of a source", () => {
  it("is read again when it changes, and may name another context", async () => {
    await using lab = await SourcesLab.start(
      [{ name: "edge", file: "edge.kubeconfig" }],
      (_, edge) => Node.create(edge, "node-1", "p"),
      scaledClock(20),
    );
    await expect.poll(() => lab.problems("edge"), SOON).toEqual([expect.stringContaining("does not exist")]);

    lab.writeFile("edge.kubeconfig", lab.edge.kubeconfig({ namespace: NAMESPACE }));
    await expect.poll(() => lab.password("node-1").catch(String), SOON).toBe("p");
    expect(lab.problems("edge")).toEqual([]);
  });
});
