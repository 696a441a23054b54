import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SCREEN } from "../../simulators/redfish/manager.ts";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab } from "./lab.ts";

const screenLab = () => actionLab({ redfish: { profile: "dell-idrac9" } });

describe.concurrent("screenshot", () => {
  it("writes the whole screen to a file of its owner's own", async () => {
    await using lab = await screenLab();
    const file = join(lab.folder, "screen.png");

    const ended = await runAction("screenshot", { env: { ...lab.env("redfish"), SCREENSHOT_FILE: file } });

    expect(resultOf(ended)).toMatchObject({
      ok: true,
      message: `screenshot (image/png) written to ${file} via redfish`,
      changed: false,
      data: {
        file,
        mediaType: "image/png",
        size: SCREEN.byteLength,
        sha256: createHash("sha256").update(SCREEN).digest("hex"),
      },
    });
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect((await readFile(file)).equals(SCREEN)).toBe(true);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(lab.folder)).toEqual(["screen.png"]);
  });

  it("replaces an existing file whatever its permissions, and follows no link", async () => {
    await using lab = await screenLab();
    const file = join(lab.folder, "screen.png");
    const other = join(lab.folder, "other");
    await writeFile(file, "an older screen", { mode: 0o644 });
    await writeFile(other, "not to be touched");
    await symlink(other, `${file}.part`);

    await runAction("screenshot", { env: { ...lab.env("redfish"), SCREENSHOT_FILE: file } });

    expect((await readFile(file)).equals(SCREEN)).toBe(true);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(other, "utf8")).toBe("not to be touched");
  });

  it.each([
    ["refuses it", { kind: "refuse", status: 500, messageId: "Base.1.8.InternalError" }],
    ["goes away", { kind: "reset-after" }],
    ["answers with something else", { kind: "wrong-type" }],
    ["stops in the middle", { kind: "truncated" }],
  ] as const)("leaves what was there when the BMC %s", async (_, fault) => {
    await using lab = await screenLab();
    const file = join(lab.folder, "screen.png");
    await writeFile(file, "an older screen");
    lab.redfish.fail({ ...fault, method: "POST", path: /ExportServerScreenShot/ });

    const ended = await runAction("screenshot", { env: { ...lab.env("redfish"), SCREENSHOT_FILE: file } });

    expect(resultOf(ended).ok).toBe(false);
    expect(ended.code).toBeGreaterThan(0);
    expect(await readFile(file, "utf8")).toBe("an older screen");
    expect(await readdir(lab.folder)).toEqual(["screen.png"]);
  });

  it.each([
    ["in a folder that is not there", "missing/screen.png", "no such file or directory"],
    ["below a file", "file/screen.png", "not a directory"],
    ["that is a folder", "folder", "it is a folder"],
  ])("refuses a path %s before anything is sent", async (_, path, reason) => {
    await using lab = await screenLab();
    await writeFile(join(lab.folder, "file"), "");
    await mkdir(join(lab.folder, "folder"));
    const file = join(lab.folder, path);

    const ended = await runAction("screenshot", { env: { ...lab.env("redfish"), SCREENSHOT_FILE: file } });

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "usage" });
    expect(resultOf(ended).message).toContain(`SCREENSHOT_FILE ${file} cannot be written: `);
    expect(resultOf(ended).message).toContain(reason);
    expect(ended.code).toBe(2);
    expect(lab.traffic()).toBe(0);
    expect((await readdir(lab.folder)).toSorted()).toEqual(["file", "folder"]);
  });

  it("refuses a folder that is not writable, even for root", async () => {
    await using lab = await screenLab();
    // Not even root can create a file in /proc.
    const file = "/proc/screen.png";

    const ended = await runAction("screenshot", { env: { ...lab.env("redfish"), SCREENSHOT_FILE: file } });

    expect(ended.code).toBe(2);
    expect(lab.traffic()).toBe(0);
  });
});
