import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ActionRun, resultOf, runAction } from "./action-run.ts";
import { actionLab, eventually } from "./lab.ts";

const IMAGE = "https://192.0.2.9/bmc-1.3.0.bin";
const FAST = { UPDATE_TIMEOUT: "30s", VERIFY_TIMEOUT: "20s" };
const BY_URI = { ...FAST, FIRMWARE_URI: IMAGE };
const TO_1_3 = { ...BY_URI, TARGETS: "BMC", FIRMWARE_VERSION: "1.3.0" };

type Lab = Awaited<ReturnType<typeof actionLab>>;

const update = (lab: Lab, env: Readonly<Record<string, string>>) =>
  runAction("update-firmware", { env: { ...lab.env("redfish"), ...env } });

async function imageFile(lab: Lab, text = "version 1.3.0\n") {
  const file = join(lab.folder, "image");
  await writeFile(file, text);
  return { FIRMWARE_FILE: file, sha256: createHash("sha256").update(text).digest("hex") };
}

describe.concurrent("list-firmware", () => {
  it("lists what is installed, and not what the BMC keeps of earlier versions", async () => {
    await using lab = await actionLab();

    const ended = await runAction("list-firmware", { env: lab.env("redfish") });

    expect(resultOf(ended).message).toBe("2 firmware entries, 2 updateable via redfish");
    expect(resultOf(ended).data).toMatchObject({
      firmware: [
        {
          id: "BMC",
          name: "BMC firmware",
          version: "1.2.3",
          updateable: true,
          related: ["/redfish/v1/Managers/1"],
        },
        { id: "BIOS" },
      ],
    });
  });
});

describe.concurrent("update-firmware", () => {
  it("by URI follows the task with its percentage, verifies the version, and sends nothing again", async () => {
    await using lab = await actionLab();

    const ended = await update(lab, TO_1_3);
    const again = await update(lab, TO_1_3);

    expect(resultOf(ended)).toMatchObject({
      message: "firmware updated: BMC 1.2.3 to 1.3.0 via redfish",
      changed: true,
      data: { pending: false },
    });
    expect(ended.stderr).toMatch(/update: \d+ %/);
    expect(resultOf(again)).toMatchObject({ message: "already BMC 1.3.0 via redfish", changed: false });
    expect(lab.writes()).toEqual([expect.stringContaining("SimpleUpdate")]);
    expect(lab.redfish.requests.find(({ method }) => method === "POST")?.body).toEqual({
      ImageURI: IMAGE,
      TransferProtocol: "HTTPS",
      Targets: ["/redfish/v1/UpdateService/FirmwareInventory/BMC"],
    });
  });

  it.each([
    ["multipart", "/redfish/v1/UpdateService/upload"],
    ["push", "/redfish/v1/UpdateService/push"],
  ] as const)("uploads a file with its length (%s), its SHA-256 checked before", async (way, path) => {
    await using lab = await actionLab();
    lab.redfish.update.ways.clear();
    lab.redfish.update.ways.add(way);
    const { sha256, ...file } = await imageFile(lab);

    const ended = await update(lab, { ...FAST, ...file, SHA256: sha256 });

    expect(resultOf(ended).message).toBe("firmware updated: BMC 1.2.3 to 1.3.0 via redfish");
    expect(lab.writes()).toEqual([`POST ${path}`]);
    const sent = lab.redfish.requests.find(({ method }) => method === "POST");
    expect(Number(sent?.headers["content-length"])).toBeGreaterThan(10);
    expect(sent?.body).toContain("version 1.3.0\n");
  });

  it("waits for a BMC that restarts and forgets the task", async () => {
    await using lab = await actionLab();
    lab.redfish.update.restartMs = 1_500;

    const ended = await update(lab, TO_1_3);

    expect(resultOf(ended)).toMatchObject({ ok: true, after: [{ id: "BMC", version: "1.3.0" }] });
    expect(lab.redfish.update.accepted).toBe(1);
  });

  it("finds the new image of a BMC that names images by their hash and keeps the old one", async () => {
    await using lab = await actionLab();
    lab.redfish.update.byHash = "standby";

    const ended = await update(lab, TO_1_3);

    expect(resultOf(ended)).toMatchObject({
      message: "firmware updated: BMC 1.2.3 to image-1.3.0 1.3.0 via redfish",
      after: [{ id: "image-1.3.0", version: "1.3.0" }],
    });
  });

  it("says that a pushed image waits for a reset where the BMC applies it then", async () => {
    await using lab = await actionLab();
    const { update: service } = lab.redfish;
    service.byHash = "on-reset";
    service.ways.delete("multipart");
    const { FIRMWARE_FILE } = await imageFile(lab);

    const ended = await update(lab, { ...FAST, FIRMWARE_FILE });

    expect(resultOf(ended)).toMatchObject({
      message: "firmware update to image-1.3.0 1.3.0 accepted, in effect after the next boot via redfish",
      data: { pending: true },
    });
  });

  it("names a new image that the BMC does not use", async () => {
    await using lab = await actionLab();
    lab.redfish.update.byHash = "on-reset";

    const ended = await update(lab, { ...TO_1_3, VERIFY_TIMEOUT: "1s" });

    expect(resultOf(ended)).toMatchObject({
      class: "verify",
      message: expect.stringContaining("it does not use image-1.3.0 1.3.0 (standby)"),
    });
  });

  it("says that an update takes effect after the next boot", async () => {
    await using lab = await actionLab();

    const ended = await update(lab, { ...TO_1_3, APPLY_TIME: "on-reset" });

    expect(resultOf(ended)).toMatchObject({
      message: "firmware update of BMC 1.2.3 accepted, in effect after the next boot via redfish",
      data: { pending: true },
    });
  });

  it("fails with the task's own words", async () => {
    await using lab = await actionLab();
    lab.redfish.update.failure = "The image is corrupt.";

    const ended = await update(lab, TO_1_3);

    expect(resultOf(ended)).toMatchObject({
      class: "bmc",
      message: expect.stringContaining("The image is corrupt."),
    });
  });

  it("is a verification failure with both versions if the BMC has another", async () => {
    await using lab = await actionLab();
    lab.redfish.update.installs = "1.2.9";

    const ended = await update(lab, { ...TO_1_3, VERIFY_TIMEOUT: "1s" });

    expect(resultOf(ended)).toMatchObject({
      class: "verify",
      message: "redfish: within 1.0 s of the update, the BMC has BMC 1.2.9 instead of 1.3.0: update sent",
    });
  });

  it.each([
    ["close-after", "carried out", true],
    ["close-before", "not carried out", false],
  ] as const)("is not sent again after a lost answer (%s)", async (kind, _, ok) => {
    await using lab = await actionLab();
    lab.redfish.fail({ kind, method: "POST" });

    const ended = await update(lab, { ...TO_1_3, VERIFY_TIMEOUT: "3s" });

    expect(resultOf(ended).ok).toBe(ok);
    if (!ok) expect(resultOf(ended).message).toContain("may have been started and is not sent again");
    expect(lab.writes()).toHaveLength(1);
  });

  it.each([
    [
      { ...TO_1_3, FIRMWARE_VERSION: "1.2.0" },
      "state",
      "BMC has 1.2.3: 1.2.0 is a downgrade, which must be allowed",
    ],
    [{ ...TO_1_3, FIRMWARE_VERSION: "R2" }, "state", "cannot be compared"],
    [{ ...TO_1_3, TARGETS: "BIO" }, "usage", "did you mean BIOS?"],
    [{ ...TO_1_3, TARGETS: "CPLD" }, "unsupported", "the BMC cannot update CPLD"],
    [{ ...TO_1_3, SHA256: "0".repeat(64) }, "usage", "SHA256 needs FIRMWARE_FILE"],
    [{ ...BY_URI, FIRMWARE_VERSION: "1.3.0" }, "usage", "FIRMWARE_VERSION needs TARGETS"],
    [{ ...BY_URI, FIRMWARE_FILE: "/x" }, "usage", "set either FIRMWARE_URI or FIRMWARE_FILE"],
    [
      { ...BY_URI, FIRMWARE_URI: "tftp://192.0.2.9/a.bin" },
      "unsupported",
      "does not fetch with TFTP, only HTTP, HTTPS",
    ],
  ])("refuses %j before anything is sent", async (env, errorClass, message) => {
    await using lab = await actionLab();
    const cpld = { name: "CPLD", version: "1.0.2", updateable: false, related: "/redfish/v1/Chassis/1" };
    lab.redfish.update.firmware.set("CPLD", cpld);

    const ended = await update(lab, env);

    expect(resultOf(ended)).toMatchObject({ class: errorClass, message: expect.stringContaining(message) });
    expect(lab.writes()).toEqual([]);
  });

  it("installs an older version where that is allowed", async () => {
    await using lab = await actionLab();
    const image = "https://192.0.2.9/bmc-1.1.0.bin";

    const ended = await update(lab, {
      ...TO_1_3,
      FIRMWARE_URI: image,
      FIRMWARE_VERSION: "1.1.0",
      ALLOW_DOWNGRADE: "true",
    });

    expect(resultOf(ended).message).toBe("firmware updated: BMC 1.2.3 to 1.1.0 via redfish");
  });

  it("refuses a file with another SHA-256, before the BMC is asked", async () => {
    await using lab = await actionLab();
    const { FIRMWARE_FILE } = await imageFile(lab);

    const ended = await update(lab, { FIRMWARE_FILE, SHA256: "0".repeat(64) });

    expect(resultOf(ended)).toMatchObject({
      class: "usage",
      message: expect.stringMatching(/does not have the SHA-256 [0-9a-f]{64}$/),
    });
    expect(lab.traffic()).toBe(0);
  });

  it("leaves the BMC's task alone when it is cancelled, and says so", async () => {
    await using lab = await actionLab();
    lab.redfish.update.taskMs = 60_000;
    const run = new ActionRun("update-firmware", { env: { ...lab.env("redfish"), ...TO_1_3 } });
    await eventually(() => lab.redfish.log.some((line) => line.includes("TaskMonitors")));

    run.kill("SIGTERM");

    const ended = resultOf(await run.ended);
    expect(ended).toMatchObject({ class: "cancelled", changed: true });
    expect(ended.message).toContain("the BMC continues it");
    expect(lab.writes()).toHaveLength(1);
  });
});
