import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { catalogue, loadAction } from "../../actions/catalogue.ts";
import { connectionPlaces, placeProblem } from "../../actions/harness/input/file-place.ts";
import { readInput } from "../../actions/harness/input/read-input.ts";
import { fileFolder } from "../support/test-folder.ts";

const { folder } = await fileFolder();
beforeAll(async () => {
  // Kubernetes mounts a Secret like this.
  await mkdir(join(folder, "secret/..data-1"), { recursive: true });
  const connection = { host: "192.0.2.1", username: "u", password: { $file: "password" } };
  await writeFile(join(folder, "secret/..data-1/connection"), JSON.stringify(connection));
  await writeFile(join(folder, "secret/..data-1/password"), "canary-2291");
  await symlink("..data-1", join(folder, "secret/..data"));
  await symlink("..data/connection", join(folder, "secret/connection"));
  await symlink("..data/password", join(folder, "secret/password"));
  await writeFile(join(folder, "image.bin"), "x");
  await symlink("secret", join(folder, "link"));
  await symlink("/proc/self", join(folder, "self"));
});

const problemOf = async (path: string, env: Readonly<Record<string, string>>) =>
  placeProblem(path, await connectionPlaces({ env, flags: {} }));

describe("a file that an action's input names", () => {
  it.each([
    ...["secret/password", "secret/connection", "secret/..data-1/password", "link/password", "secret"],
    "link/new/file",
  ])("is not %s, in the folder of the whole connection", async (path) => {
    const env = { BMC_CONNECTION_FILE: join(folder, "secret/connection") };

    expect(await problemOf(join(folder, path), env)).toBe(
      "belongs to the connection: name a file in another folder",
    );
    expect(await problemOf(join(folder, "image.bin"), env)).toBeUndefined();
  });

  it("is not one with a part of the connection, and may be beside it", async () => {
    const env = { BMC_PASSWORD_FILE: join(folder, "secret/password") };

    expect(await problemOf(join(folder, "link/password"), env)).toMatch(/belongs to the connection/);
    expect(await problemOf(join(folder, "secret/new"), env)).toBeUndefined();
  });

  it.each(["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])(
    "is not %s if the connection comes from there",
    async (path) => {
      for (const variable of ["BMC_CONNECTION_FILE", "BMC_PASSWORD_FILE"]) {
        expect(await problemOf(path, { [variable]: "-" })).toMatch(/belongs to the connection/);
      }
    },
  );

  it("is not what the kernel or the cluster keeps, also through a link", async () => {
    expect(await problemOf("/proc/self/environ", {})).toBe("is in /proc, which holds no files for actions");
    expect(await problemOf(join(folder, "self/environ"), {})).toMatch(/is in \/proc/);
    expect(await problemOf("/run/secrets/kubernetes.io/x/token", {})).toMatch(/is in \/run\/secrets/);
    expect(await problemOf("-", { BMC_CONNECTION_FILE: "-" })).toBeUndefined();
  });

  it("is judged by every action, for every input that is a file", async () => {
    const judged: string[] = [];
    for (const name of catalogue) {
      const action = await loadAction(name);
      for (const { env, type } of Object.values(action?.input ?? {})) {
        if (!action || type !== "file") continue;
        const given = {
          BMC_CONNECTION_FILE: join(folder, "secret/connection"),
          [env]: join(folder, "link/password"),
        };
        const stdin = () => (async function* () {})();
        const read = await readInput(action, {
          env: given,
          flags: {},
          stdin,
          signal: AbortSignal.timeout(5_000),
        });
        const problems = read.ok ? [] : read.problems;
        expect(problems, `${name} ${env}`).toContain(
          `${env}: ${join(folder, "link/password")} belongs to the connection: name a file in another folder`,
        );
        expect(problems.join()).not.toContain("canary");
        judged.push(env);
      }
    }
    expect(judged).toEqual(expect.arrayContaining(["FIRMWARE_FILE", "CERTIFICATE_FILE", "SCREENSHOT_FILE"]));
  });
});
