import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab } from "./lab.ts";

const IMG = "http://192.0.2.9/stick.img";
const PASSWORD = "canary-image-server";
type Input = Readonly<Record<string, string>>;

async function mediaLab() {
  const lab = await actionLab();
  const file = join(lab.folder, "image-password");
  await writeFile(file, `${PASSWORD}\n`);
  const run = (action: string, input: Input) =>
    runAction(action, { env: { ...lab.env("redfish"), LOG_LEVEL: "debug", ...input } });
  return Object.assign(lab, { run, file });
}

describe.concurrent("virtual media beyond open URLs", () => {
  it("the image server's password comes from a file, reaches the BMC, and is shown nowhere", async () => {
    await using lab = await mediaLab();
    const input = {
      MEDIA_URL: "smb://192.0.2.9/share/x.iso",
      MEDIA_USERNAME: "LAB\\images",
      MEDIA_PASSWORD_FILE: lab.file,
    };

    const planned = await lab.run("insert-virtual-media", { ...input, DRY_RUN: "true" });
    lab.redfish.fail({
      kind: "refuse",
      method: "POST",
      path: /InsertMedia/,
      status: 500,
      messageId: "Base.1.8.InternalError",
      message: `mount -o password=${PASSWORD} failed`,
      times: 3,
    });
    const refused = await lab.run("insert-virtual-media", input);
    const ended = await lab.run("insert-virtual-media", input);

    const drive = lab.redfish.media.slots.find(({ id }) => id === "CD1");
    expect(drive).toMatchObject({
      inserted: true,
      image: "cifs://192.0.2.9/share/x.iso",
      credentials: { username: "LAB\\images", password: PASSWORD },
    });
    expect(resultOf(ended)).toMatchObject({ ok: true, after: { inserted: true } });
    expect(resultOf(refused)).toMatchObject({ ok: false, class: "bmc" });
    expect(resultOf(refused).message).toContain("mount -o password=[redacted] failed");
    expect(resultOf(planned).message).toContain('"Password":"[redacted]"');
    for (const { stdout, stderr } of [planned, refused, ended])
      expect(stdout + stderr).not.toContain("canary");
  });

  it("a USB stick is inserted, listed, and ejected by the name of its drive", async () => {
    await using lab = await mediaLab();

    const inserted = await lab.run("insert-virtual-media", { MEDIA_URL: IMG });
    const listed = await lab.run("list-virtual-media", { OUTPUT: "table" });
    const ejected = await lab.run("eject-virtual-media", { MEDIA_DRIVE: "floppy1" });

    expect(resultOf(inserted).message).toBe(`media ${IMG} inserted into drive Floppy1 via redfish`);
    expect(resultOf(listed)).toMatchObject({
      ok: true,
      message: `2 drives: Floppy1 (Floppy, USBStick) with ${IMG}, CD1 (CD, DVD) empty via redfish`,
      changed: false,
    });
    expect(listed.stdout).toMatch(/Floppy1 +Floppy, USBStick +yes +http:\/\/192.0.2.9\/stick.img +URI +yes/);
    expect(resultOf(ejected)).toMatchObject({ ok: true, after: { inserted: false, drive: "Floppy1" } });
  });

  it.each<[Input, string]>([
    [
      { MEDIA_URL: `http://images:${PASSWORD}@192.0.2.9/x.iso` },
      "MEDIA_URL is not an http, https, nfs, cifs or smb URL of an image, host:/path or //host/share/path, without credentials; for credentials set MEDIA_USERNAME and MEDIA_PASSWORD_FILE",
    ],
    [
      { MEDIA_URL: IMG, MEDIA_USERNAME: "images" },
      "MEDIA_PASSWORD or MEDIA_PASSWORD_FILE is missing: the password of MEDIA_USERNAME",
    ],
    [
      { MEDIA_URL: IMG, MEDIA_PASSWORD: PASSWORD },
      "MEDIA_USERNAME is missing: the login name of the password",
    ],
    [
      { MEDIA_URL: "http://192.0.2.9/x.iso", MEDIA_WRITABLE: "true" },
      "MEDIA_WRITABLE=true has no effect on a CD",
    ],
    [{ MEDIA_URL: IMG, MEDIA_TYPE: "floppy" }, 'MEDIA_TYPE "floppy" is not one of cd, usb'],
  ])("%j is refused before anything is sent", async (input, message) => {
    await using lab = await mediaLab();

    const ended = await lab.run("insert-virtual-media", input);

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "usage", message });
    expect(ended.stdout + ended.stderr).not.toContain("canary");
    expect(lab.writes()).toEqual([]);
  });

  it.each(["insert-virtual-media", "eject-virtual-media"])(
    "%s with a wrong drive names those there are",
    async (action) => {
      await using lab = await mediaLab();

      const ended = await lab.run(action, { MEDIA_URL: IMG, MEDIA_DRIVE: "Floppy9" });

      expect(resultOf(ended)).toMatchObject({
        class: "usage",
        message:
          "redfish: the BMC has no virtual drive Floppy9; it has Floppy1 (Floppy, USBStick), CD1 (CD, DVD)",
      });
    },
  );
});
