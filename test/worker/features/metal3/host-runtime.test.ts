import { describe, expect, it } from "vitest";
import { silentLogger } from "../../../../shared/logger.ts";
import type { Action } from "../../../../worker/core/action/action.ts";
import type { LaunchHandle } from "../../../../worker/core/ports/runtime.ts";
import { HostRuntime } from "../../../../worker/features/metal3/host-runtime.ts";
import { LAST_REBOOT, rebootName } from "../../../../worker/features/metal3/reboot-annotation.ts";
import { InProcessRuntime } from "../../../../worker/runtimes/in-process/in-process-runtime.ts";
import { quickLibrary } from "../../../support/quick-actions.ts";
import { scaledClock } from "../../../support/scaled-clock.ts";
import { scriptedRequest } from "../../runtimes/launch-request.ts";
import { createHost, HOSTS, type HostFields, METAL3, stateOf } from "../cluster-machines/host-lab.ts";
import { InventoryLab, NAMESPACE, reading, SOON } from "../cluster-machines/inventory-lab.ts";
import { Operator } from "./operator.ts";

const FOREVER = new AbortController().signal;
const clock = scaledClock(20);

class HostLab {
  readonly lab: InventoryLab;
  readonly operator: Operator;
  readonly runtime: HostRuntime;

  private constructor(lab: InventoryLab) {
    this.lab = lab;
    this.operator = new Operator(lab.fake);
    this.runtime = this.newRuntime();
  }

  static async start(fields: HostFields = {}): Promise<HostLab> {
    const lab = await InventoryLab.start({
      ...{ fake: HOSTS, sources: ["baremetalhosts"], managedHosts: "via-host" },
      before: (fake) => createHost(fake, "one", fields),
    });
    await lab.synced();
    return new HostLab(lab);
  }

  /** The runtime after a restart with the same state directory. */
  newRuntime(state = "state-1"): HostRuntime {
    const options = { actions: quickLibrary, log: silentLogger, stopGraceMs: 3_000 };
    const base = new InProcessRuntime({ ...options, refuse: async () => undefined });
    return new HostRuntime(base, { ...options, inventory: this.lab.inventory, state, clock });
  }

  async request(
    image: string,
    environment: Readonly<Record<string, string>> = {},
    given: Partial<Action> = {},
  ) {
    const action = { image: `x/${image}:v1`, environment, ...given };
    const { request } = scriptedRequest([], { timeoutMs: 60_000, action });
    const machine = this.lab.inventory.find("one", NAMESPACE);
    const host = machine && this.lab.inventory.hostAccess(machine, request.action.image);
    if (!machine || !host) throw new Error("the host is not used");
    const connection = await this.lab.inventory.resolveConnection(machine, {
      ...reading(),
      image: request.action.image,
    });
    return { ...request, connection, host };
  }

  async run(image: string, environment?: Readonly<Record<string, string>>, signal = FOREVER) {
    return (await this.runtime.run(await this.request(image, environment), signal)).outcome;
  }

  get host() {
    const { metadata, spec } = this.lab.fake.get(METAL3, "BareMetalHost", "one", NAMESPACE) ?? {
      metadata: {},
    };
    const reboots = Object.keys(metadata.annotations ?? {}).filter((name) => name.startsWith("reboot."));
    return { reboots, spec: spec as { online: boolean }, annotations: metadata.annotations ?? {} };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.operator[Symbol.dispose]();
    await this.runtime.close();
    await this.lab[Symbol.asyncDispose]();
  }
}

describe.concurrent("power of a host that Metal3 manages", () => {
  it("goes off and on through spec.online, and is verified by what Metal3 observes", async () => {
    await using lab = await HostLab.start();

    const off = await lab.run("power-off", { MODE: "soft" });
    expect(off).toMatchObject({ ok: true, result: { before: "on", after: "off", provider: "metal3" } });
    expect([lab.host.spec.online, lab.operator.forced]).toEqual([false, false]);
    const on = await lab.run("power-on");

    expect(on).toMatchObject({ ok: true, message: expect.stringMatching(/^on after .* via metal3$/) });
    expect(await lab.run("power-status")).toMatchObject({ ok: true, result: { after: "on" } });
    expect([lab.operator.changes, lab.host.reboots]).toEqual([["off", "on"], []]);
  });

  it("is forced off with an annotation that does not stay", async () => {
    await using lab = await HostLab.start();

    expect(await lab.run("power-off", { MODE: "hard" })).toMatchObject({ ok: true });
    expect([lab.operator.changes, lab.operator.forced, lab.host.reboots]).toEqual([["off"], true, []]);
  });

  it.each(["power-cycle", "power-reset"])("%s is one reboot by annotation", async (image) => {
    await using lab = await HostLab.start();

    expect(await lab.run(image)).toMatchObject({
      ok: true,
      result: { before: "on", after: "on", changed: true },
    });
    expect([lab.operator.changes, lab.host.reboots]).toEqual([["off", "on"], []]);
    expect(lab.host.spec.online).toBe(true);
  });

  it("cycles an available host, of which Metal3 ignores the annotation, with spec.online", async () => {
    await using lab = await HostLab.start({ status: stateOf("available") });

    expect(await lab.run("power-cycle")).toMatchObject({ ok: true });
    expect([lab.operator.changes, lab.host.reboots, lab.host.spec.online]).toEqual([["off", "on"], [], true]);
  });

  it("is planned and not changed in a dry run", async () => {
    await using lab = await HostLab.start();

    const outcome = await lab.run("power-cycle", { DRY_RUN: "true" });
    expect(outcome).toMatchObject({
      ok: true,
      message: expect.stringContaining("add the annotation reboot.metal3.io/pbnj-worker-"),
    });
    expect([lab.operator.changes, lab.lab.fake.countBy("patch")]).toEqual([[], 0]);
  });

  it.each([
    ["being provisioned", { status: stateOf("provisioning") }, /needs its power itself/],
    ["that must not be powered off", { spec: { disablePowerOff: true } }, /has disablePowerOff/],
  ])("is not changed of a host %s", async (_, fields, reason) => {
    await using lab = await HostLab.start(fields);

    expect(await lab.run("power-off")).toMatchObject({
      ok: false,
      class: "state",
      message: expect.stringMatching(reason),
    });
    expect(lab.lab.fake.countBy("patch")).toBe(0);
  });

  it("is not changed of a host that is paused between reading and writing", async () => {
    await using lab = await HostLab.start();
    const request = await lab.request("power-off", { MODE: "soft" });
    lab.operator.isAway = true;
    const host = {
      ...request.host,
      async patch(body: object, signal: AbortSignal) {
        const annotations = { "baremetalhost.metal3.io/paused": "" };
        lab.lab.fake.patch(METAL3, "BareMetalHost", "one", { metadata: { annotations } }, NAMESPACE);
        return request.host.patch(body, signal);
      },
    };

    const { outcome } = await lab.runtime.run({ ...request, host }, FOREVER);
    expect(outcome).toMatchObject({
      ok: false,
      class: "state",
      message: expect.stringContaining("is paused"),
    });
    expect(lab.host.spec.online).toBe(true);
  });

  it("fails if something else sets spec.online back", async ({ expect }) => {
    await using lab = await HostLab.start();
    lab.operator.isAway = true;
    const running = lab.run("power-off", { MODE: "soft", SOFT_TIMEOUT: "8s" });
    await expect.poll(() => lab.host.spec.online, SOON).toBe(false);
    lab.lab.fake.patch(METAL3, "BareMetalHost", "one", { spec: { online: true } }, NAMESPACE);

    expect(await running).toMatchObject({
      ok: false,
      message: expect.stringContaining("something else set spec.online"),
    });
  });
});

describe.concurrent("a reboot annotation", () => {
  it("is removed when the action is cancelled", async ({ expect }) => {
    await using lab = await HostLab.start();
    lab.operator.isAway = true;
    const cancel = new AbortController();
    const running = lab.run("power-cycle", {}, cancel.signal);
    await expect.poll(() => lab.host.reboots, SOON).toHaveLength(1);
    cancel.abort();

    expect(await running).toMatchObject({ ok: false, class: "cancelled" });
    expect(lab.host.reboots).toEqual([]);
  });

  it("is removed although the API server fails for a while", async ({ expect }) => {
    await using lab = await HostLab.start();
    lab.operator.isAway = true;
    const running = lab.run("power-cycle");
    await expect.poll(() => lab.host.reboots, SOON).toHaveLength(1);
    lab.lab.fake.fail({ verb: "patch", resource: "baremetalhosts" }, { status: 503, times: 3 });
    lab.operator.isAway = false;

    expect(await running).toMatchObject({ ok: true });
    expect(lab.host.reboots).toEqual([]);
  });

  it("of a worker that died is removed by the next one, which does not reboot again", async () => {
    await using lab = await HostLab.start();
    const request = await lab.request("power-cycle");
    const handle: LaunchHandle = { baremetalhost: request.host.key };
    const annotations = { [rebootName(request.action)]: "{}", [LAST_REBOOT]: "" };
    lab.lab.fake.patch(METAL3, "BareMetalHost", "one", { metadata: { annotations } }, NAMESPACE);

    const left = { ...request, handle, connected: true, startedAt: new Date(), clockSetMs: 0 };
    const adoption = await lab.newRuntime().adopt(left, FOREVER);

    expect(adoption).toMatchObject({ kind: "lost", idempotent: false });
    expect(lab.host.reboots).toEqual([]);
  });

  it("is not written twice for one action, by whichever replica", async () => {
    await using lab = await HostLab.start();
    const request = await lab.request("power-cycle");
    await lab.runtime.run(request, FOREVER);
    const { outcome } = await lab.newRuntime("state-2").run(request, FOREVER);

    expect(outcome).toMatchObject({ ok: false, message: expect.stringContaining("not sent again") });
    expect(lab.operator.changes).toEqual(["off", "on"]);
  });

  it("that no worker needs is swept: an own one at once, others long after their deadline", async ({
    expect,
  }) => {
    await using lab = await HostLab.start();
    lab.operator.isAway = true;
    const value = (state: string, deadline: string) =>
      JSON.stringify({ mode: "hard", owner: { state, key: "k", deadline } });
    const future = new Date(Date.now() + 3_600_000).toISOString();
    const annotations = {
      "reboot.metal3.io/pbnj-worker-own": value("state-1", future),
      "reboot.metal3.io/pbnj-worker-old": value("other", "2020-01-01T00:00:00Z"),
      "reboot.metal3.io/pbnj-worker-live": value("other", future),
      "reboot.metal3.io/other": "",
    };
    lab.lab.fake.patch(METAL3, "BareMetalHost", "one", { metadata: { annotations } }, NAMESPACE);
    await expect.poll(() => Object.keys(lab.lab.inventory.hosts()?.[0]?.reboots ?? {}), SOON).toHaveLength(3);

    expect(await lab.runtime.sweep(() => true, FOREVER)).toBe(1);
    expect(await lab.runtime.sweep(() => false, FOREVER)).toBeGreaterThan(0);
    expect(lab.host.reboots).toEqual(["reboot.metal3.io/pbnj-worker-live", "reboot.metal3.io/other"]);
  });
});
