import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { decideFile } from "../../../worker/policy/decide.ts";
import { Policy } from "../../../worker/policy/policy.ts";

let folder = "";
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "pbnj-files-")));
  for (const name of ["open", "open/sub", "read-only", "outside"]) await mkdir(join(folder, name));
});
afterEach(() => rm(folder, { recursive: true }));

/** What the policy says about a path below the folder: of its subfolders, one may be written and one be read. */
async function ask(path: string, more: readonly object[] = []): Promise<string> {
  const volumes = [
    { path: join(folder, "open"), access: "rw" },
    { path: join(folder, "read-only") },
    ...more,
  ];
  const full = path.startsWith("+") ? join(folder, path.slice(1)) : path;
  const decision = await decideFile(
    Policy.parse({ volumes }),
    { workflowId: "default/w" },
    { name: "RESULT_FILE", path: full },
  );
  return decision.allowed ? "allowed" : decision.reason.replaceAll(folder, "+");
}

describe("a file that an action without a container is to use", () => {
  it.each(["+open/new", "+open/sub/new", "+open/sub/not/there/yet"])("may be %s", async (path) => {
    expect(await ask(path)).toBe("allowed");
  });

  it("may be written with needless slashes and dots, and be there already", async () => {
    await writeFile(join(folder, "open/old"), "");

    expect(await ask(`${folder}//open/./old`)).toBe("allowed");
  });

  it.each([
    ["+outside/x", "no volume may be mounted from there"],
    ["+open2/x", "no volume may be mounted from there"],
    ["/etc/passwd", "no volume may be mounted from there"],
    ["+read-only/x", "the folder's access is not rw"],
    ["open/x", "only absolute paths can be used"],
    ["-", "only absolute paths can be used"],
    ["", "only absolute paths can be used"],
    ["+open/docker.sock", "it is the container engine's socket"],
  ])("is not %s", async (path, reason) => {
    const named = path.startsWith("+") ? path.replace("+", "+/") : path;

    expect(await ask(path)).toBe(`policy volumes: RESULT_FILE ${named} is not allowed: ${reason}`);
  });

  it("is none with .. in its path, even where that stays inside", async () => {
    expect(await ask(`${folder}/open/sub/../x`)).toContain("a path must not contain ..");
  });

  it("is none that a link of the folder leads out to", async () => {
    await writeFile(join(folder, "outside/there"), "");
    await symlink(join(folder, "outside"), join(folder, "open/folder-link"));
    await symlink(join(folder, "outside/there"), join(folder, "open/file-link"));
    await symlink("../read-only", join(folder, "open/read-only-link"));

    for (const path of ["folder-link/x", "folder-link/not/there", "file-link", "read-only-link/x"]) {
      expect(await ask(`+open/${path}`), path).toMatch(/: a link leads out of the folder$/);
    }
  });

  it("is none whose link leads nowhere, since writing would make a file there", async () => {
    await symlink(join(folder, "outside/not-there"), join(folder, "open/dangling"));

    expect(await ask("+open/dangling")).toMatch(/: it is a link that leads nowhere$/);
    expect(await ask("+open/dangling/")).toMatch(/: it is a link that leads nowhere$/);
  });

  it("is none whose links go round in a circle, or go through a file", async () => {
    await symlink("circle", join(folder, "open/circle"));
    await writeFile(join(folder, "open/file"), "");

    expect(await ask("+open/circle")).toMatch(/links cannot be followed \(ELOOP\)$/);
    expect(await ask("+open/file/x")).toMatch(/links cannot be followed \(ENOTDIR\)$/);
  });

  it("may be behind a link that stays inside, or leads to another allowed folder", async () => {
    await symlink("sub", join(folder, "open/link"));
    await symlink(join(folder, "outside"), join(folder, "open/other"));

    expect(await ask("+open/link/x")).toBe("allowed");
    expect(await ask("+open/other/x", [{ path: join(folder, "outside"), access: "rw" }])).toBe("allowed");
  });

  it("may be in a folder that the policy itself names by a link", async () => {
    await symlink(join(folder, "outside"), join(folder, "named"));

    expect(await ask("+named/x", [{ path: join(folder, "named"), access: "rw" }])).toBe("allowed");
  });

  it("is none without a policy", async () => {
    const decision = await decideFile(
      Policy.parse({}),
      { workflowId: "default/w" },
      { name: "--result-file", path: "/tmp/x" },
    );

    expect(decision).toEqual({
      allowed: false,
      rule: "volumes",
      reason: "policy volumes: --result-file /tmp/x is not allowed: no volume may be mounted from there",
    });
  });
});
