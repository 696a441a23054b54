import { describe, expect, it } from "vitest";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab } from "./lab.ts";

describe.concurrent("Secure Boot", () => {
  it("is shown with its mode and the last boot", async () => {
    await using lab = await actionLab();
    Object.assign(lab.machine.secureBoot, { enabled: true, active: false });

    const ended = await runAction("get-secure-boot", { env: lab.env("redfish") });

    expect(resultOf(ended)).toMatchObject({
      message: "Secure Boot on after the next boot (user mode) via redfish",
      data: { enabled: true, active: false, mode: "user" },
    });
    expect(lab.writes()).toEqual([]);
  });

  it.each(["true", "false"])("is set from the next boot, and read back: %s", async (asked) => {
    await using lab = await actionLab();
    const enabled = asked === "true";
    Object.assign(lab.machine.secureBoot, { enabled: !enabled, active: !enabled });

    const ended = await runAction("set-secure-boot", {
      env: { ...lab.env("redfish"), SECURE_BOOT: asked },
    });
    const again = await runAction("set-secure-boot", {
      env: { ...lab.env("redfish"), SECURE_BOOT: asked },
    });

    expect(resultOf(ended)).toMatchObject({ ok: true, changed: true, after: { enabled } });
    expect(resultOf(again)).toMatchObject({ ok: true, changed: false });
    expect(lab.machine.secureBoot.enabled).toBe(enabled);
    expect(lab.writes()).toHaveLength(1);
  });

  it("is not switched on without a platform key, before anything is sent", async () => {
    await using lab = await actionLab();
    lab.machine.secureBoot.hasKeys = false;

    const ended = await runAction("set-secure-boot", { env: lab.env("redfish") });

    expect(resultOf(ended)).toMatchObject({
      class: "state",
      message: "redfish: Secure Boot has no platform key (setup mode): reset its keys to the default first",
    });
    expect(lab.writes()).toEqual([]);
  });

  it("gets its keys back at the next boot", async () => {
    await using lab = await actionLab({ machine: { power: "on" } });
    lab.machine.secureBoot.hasKeys = false;

    const ended = await runAction("reset-secure-boot-keys", { env: lab.env("redfish") });
    lab.machine.do("reset");

    expect(resultOf(ended)).toMatchObject({ ok: true, changed: true });
    expect(lab.machine.secureBoot.hasKeys).toBe(true);
  });

  it("has its keys reset once, although the answer is lost", async () => {
    await using lab = await actionLab();
    lab.redfish.fail({ kind: "close-after", method: "POST" });

    const ended = await runAction("reset-secure-boot-keys", { env: lab.env("redfish") });

    expect(resultOf(ended).message).toContain("the keys may have been reset and is not sent again");
    expect(lab.writes()).toHaveLength(1);
  });
});
