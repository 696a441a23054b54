import { describe, expect, test } from "vitest";
import type { TcpFault } from "../../../support/proxy/tcp-fault.ts";
import { fail, OFF, PXE_ONCE, RESET, succeed } from "./attempt.ts";
import { type RedfishFaultLabOptions, redfishFaultLab } from "./redfish-lab.ts";

/** Ways to lose the answer to a write, and whether the BMC carried it out. */
const LOST: readonly [TcpFault, boolean][] = [
  [{ kind: "reset-before" }, false],
  [{ kind: "reset-after" }, true],
  [{ kind: "reset-within", bytes: 20 }, true],
  [{ kind: "truncate", bytes: 20 }, true],
  [{ kind: "black-hole" }, false],
  [{ kind: "stall", bytes: 20, dripMs: 20 }, true],
];

/** For faults that end with the request's time; a BMC in this process may need half a second on a busy machine. */
const IMPATIENT_MS = 2_000;

const impatientLab = (options: RedfishFaultLabOptions = {}) =>
  redfishFaultLab({ ...options, requestTimeoutMs: IMPATIENT_MS });

describe.concurrent("when the answer to a write is lost", () => {
  test.each(LOST)("off comes true and is done once: %o", async (fault, carriedOut) => {
    await using lab = await impatientLab({ machine: { power: "on" } });
    lab.proxy.fail({ ...fault, method: "POST" });

    const report = await succeed((signal) => lab.client.setPower(OFF, signal));

    expect(report).toMatchObject({ after: "off", changed: true });
    expect(lab.done()).toEqual(["off"]);
    expect(lab.sent("POST")).toBe(carriedOut ? 1 : 2);
  });

  test.each(LOST)("a reset is not repeated, and said to be uncertain: %o", async (fault, carriedOut) => {
    await using lab = await impatientLab({ machine: { power: "on" } });
    lab.proxy.fail({ ...fault, method: "POST" });

    const error = await fail((signal) => lab.client.setPower(RESET, signal));

    expect(["unreachable", "timeout", "protocol"]).toContain(error.class);
    expect(error).toMatchObject({ uncertain: true, message: expect.stringContaining("not sent again") });
    expect(lab.done()).toEqual(carriedOut ? ["reset"] : []);
    expect(lab.sent("POST")).toBe(1);
  });

  test.each(LOST)("a boot override is read back and stands as asked: %o", async (fault, carriedOut) => {
    await using lab = await impatientLab();
    lab.proxy.fail({ ...fault, method: "PATCH" });

    const report = await succeed((signal) => lab.client.setBoot(PXE_ONCE, signal));

    expect(report.after).toEqual(PXE_ONCE);
    expect(lab.machine.override).toEqual({ device: "pxe", enabled: "once", mode: "uefi" });
    expect(lab.sent("PATCH")).toBe(carriedOut ? 1 : 2);
  });
});

describe.concurrent("when the answer to a read is lost", () => {
  test.each<[TcpFault]>([
    [{ kind: "reset-before" }],
    [{ kind: "reset-after" }],
    [{ kind: "black-hole" }],
    [{ kind: "stall", bytes: 40, dripMs: 20 }],
  ])("in mid-operation, it is asked again and the command is not: %o", async (fault) => {
    await using lab = await impatientLab({ machine: { power: "on" } });
    lab.machine.once("command", () => lab.proxy.fail({ ...fault, method: "GET", times: 2 }));

    await succeed((signal) => lab.client.setPower(OFF, signal));

    expect(lab.done()).toEqual(["off"]);
    expect(lab.sent("POST")).toBe(1);
  });

  test("permanently in mid-operation, it ends with the class of the loss and the command is not repeated", async () => {
    await using lab = await impatientLab({ machine: { power: "on" } });
    lab.machine.once("command", () => lab.proxy.cut());

    const error = await fail((signal) => lab.client.setPower(OFF, signal));

    expect(error.class).toBe("unreachable");
    expect(lab.done()).toEqual(["off"]);
    expect(lab.sent("POST")).toBe(1);
  });
});

describe.concurrent("a session that ends on the BMC's side", () => {
  const session = { redfish: { auth: "session" } };

  test("at the command itself is renewed, and the command done once", async () => {
    let expired = false;
    await using lab = await redfishFaultLab({
      machine: { power: "on" },
      ...session,
      onRequest: ({ path }) => {
        if (path.endsWith("Reset") && !expired) lab.bmc.sessions.expireAll();
        expired ||= path.endsWith("Reset");
      },
    });

    await succeed((signal) => lab.client.setPower(OFF, signal));

    expect(lab.done()).toEqual(["off"]);
    expect(lab.sent("POST")).toBe(4);
  });

  test("because the password has changed is auth after one more login, so that no account is locked", async () => {
    await using lab = await redfishFaultLab({ machine: { power: "on" }, ...session });
    lab.machine.once("command", () => {
      lab.bmc.sessions.expireAll();
      lab.bmc.fail({ kind: "refuse", status: 401, method: "POST", path: /Sessions$/, times: 99 });
    });

    const error = await fail((signal) => lab.client.setPower(OFF, signal));

    expect(error.class).toBe("auth");
    expect(lab.done()).toEqual(["off"]);
    expect(lab.proxy.log.filter((line) => line.endsWith("/Sessions"))).toHaveLength(3);
  });

  test("is not asked for with basic authentication: a 401 in mid-operation is looked at once more", async () => {
    await using lab = await redfishFaultLab({ machine: { power: "on" } });
    let before = 0;
    lab.machine.once("command", () => {
      before = lab.proxy.requests.length;
      lab.bmc.fail({ kind: "refuse", status: 401, times: 99 });
    });

    const error = await fail((signal) => lab.client.setPower(OFF, signal));

    expect(error.class).toBe("auth");
    expect(lab.done()).toEqual(["off"]);
    expect(lab.proxy.requests.length - before).toBe(2);
  });

  test("for a moment in mid-operation does not fail it: a restarting BMC may refuse a login that it knows", async () => {
    await using lab = await redfishFaultLab({ machine: { power: "on" } });
    lab.machine.once("command", () => lab.bmc.fail({ kind: "refuse", status: 401 }));

    await succeed((signal) => lab.client.setPower(OFF, signal));

    expect(lab.done()).toEqual(["off"]);
    expect(lab.sent("POST")).toBe(1);
  });
});

describe.concurrent("a BMC that asks to wait", () => {
  const SECONDS = 20;
  const forms: readonly ["seconds" | "a date", (nowMs: number) => string][] = [
    ["seconds", () => String(SECONDS)],
    // HTTP dates have whole seconds: one more makes up for what is cut off.
    ["a date", (nowMs) => new Date(nowMs + (SECONDS + 1) * 1_000).toUTCString()],
  ];

  test.each(forms)("with Retry-After as %s is obeyed before a read", async (_, retryAfter) => {
    await using lab = await redfishFaultLab({ machine: { power: "on" } });
    const startedMs = lab.clock.monotonicMs();
    lab.bmc.fail({ kind: "refuse", status: 503, retryAfter: retryAfter(lab.clock.now()) });

    await succeed((signal) => lab.client.setPower(OFF, signal));

    expect(lab.clock.monotonicMs() - startedMs).toBeGreaterThanOrEqual(SECONDS * 1_000);
    expect(lab.done()).toEqual(["off"]);
  });

  test.each(forms)("with Retry-After as %s is obeyed before a write", async (_, retryAfter) => {
    await using lab = await redfishFaultLab({ machine: { power: "on" } });
    const startedMs = lab.clock.monotonicMs();
    const refusal = { kind: "refuse", status: 503, retryAfter: retryAfter(lab.clock.now()) } as const;
    lab.bmc.fail({ ...refusal, method: "POST" });

    await succeed((signal) => lab.client.setPower(OFF, signal));

    expect(lab.clock.monotonicMs() - startedMs).toBeGreaterThanOrEqual(SECONDS * 1_000);
    expect(lab.done()).toEqual(["off"]);
    expect(lab.sent("POST")).toBe(2);
  });

  test("and never stops is busy after a bounded number of requests, and nothing is changed", async () => {
    await using lab = await redfishFaultLab({ machine: { power: "on" } });
    lab.bmc.fail({ kind: "refuse", status: 503, retryAfter: "1", times: 999 });

    const error = await fail((signal) => lab.client.setPower(OFF, signal));

    expect(error.class).toBe("busy");
    expect(lab.done()).toEqual([]);
    expect(lab.proxy.requests.length).toBeLessThanOrEqual(12);
  });
});

describe.concurrent("an entity tag that someone else has made out of date", () => {
  /** A lab in which another client writes the override while our own write is on its way, so many times. */
  const racingLab = async (times: number) => {
    let left = times;
    const lab = await redfishFaultLab({
      bmc: { profile: "huawei" },
      onRequest: ({ method }) => {
        if (method !== "PATCH" || left === 0) return;
        left -= 1;
        const device = left % 2 === 0 ? "cdrom" : "disk";
        lab.machine.override = { ...lab.machine.override, device, enabled: "once" };
      },
    });
    return lab;
  };

  test("again and again ends in a refusal after a bounded number of writes, without overwriting", async () => {
    await using lab = await racingLab(999);

    const error = await fail((signal) => lab.client.setBoot(PXE_ONCE, signal));

    expect(["bmc", "busy"]).toContain(error.class);
    expect(lab.machine.override.device).not.toBe("pxe");
    expect(lab.sent("PATCH")).toBeLessThanOrEqual(6);
  });
});

describe.concurrent("a BMC that restarts in mid-operation", () => {
  test.each(["basic", "session"])("is found again, and the command is not repeated: %s", async (auth) => {
    await using lab = await redfishFaultLab({ machine: { power: "on", powerOffMs: 150 }, redfish: { auth } });
    await using after = await lab.restarted();
    lab.machine.once("command", () => {
      lab.proxy.cut();
      lab.bmc.sessions.expireAll();
      setTimeout(() => lab.proxy.restore(after.port), 60);
    });

    const report = await succeed((signal) => lab.client.setPower(OFF, signal));
    await lab.client.close();

    expect(report.after).toBe("off");
    expect(lab.done()).toEqual(["off"]);
    expect(after.log.filter((line) => line.includes("Reset"))).toEqual([]);
    expect(after.sessions.count).toBe(0);
  });
});

describe.concurrent("a BMC that accepts and does something else", () => {
  test("with power that returns by itself: timeout, never reported as off", async () => {
    await using lab = await redfishFaultLab({ machine: { power: "on" } });
    lab.machine.on("power", (power) => {
      if (power === "off") queueMicrotask(() => lab.machine.do("on"));
    });

    const error = await fail((signal) => lab.client.setPower(OFF, signal));

    expect(error.class).toBe("timeout");
    expect(lab.done()).toEqual(["off", "on"]);
  });
});
