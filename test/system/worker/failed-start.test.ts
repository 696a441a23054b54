import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, test } from "vitest";
import { isTemporary } from "../../../worker/commands/start.ts";
import { CommandInProcess } from "../../support/command-in-process.ts";
import { openFakeCluster } from "../../support/fake-cluster.ts";
import { testFolder } from "../../support/test-folder.ts";
import { WorkerProgram } from "../../support/worker-program.ts";

/** Whether this user may make namespaces and mount in them, as root outside a container may. */
const mayMount = await execa("unshare", ["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], {
  reject: false,
}).then(({ exitCode }) => exitCode === 0);
if (!mayMount)
  process.stderr.write(
    "skipped, no right to mount: tests of worker/failed-start with full and read-only disks\n",
  );

/** How a worker ends that cannot start. */
async function startOf(
  more: (folder: string) => readonly string[],
  by?: (folder: string) => readonly string[],
) {
  const { folder } = await testFolder();
  await mkdir(join(folder, "state"));
  await writeFile(join(folder, "file"), "");
  const argv = ["start", "--grpc-server", "127.0.0.1:1", "--agent-id", "a", ...more(folder)];
  await using program = by ? new WorkerProgram(argv, {}, by(folder)) : new CommandInProcess(argv);
  const { code } = await program.ended;
  return { code, said: program.stderr, folder };
}

const onState = (folder: string) => ["--state-directory", join(folder, "state")];
const withDisk = (options: string) => (folder: string) => [
  ...["unshare", "--mount", "sh", "-c", `mount -t tmpfs -o ${options} tmpfs "$0" && exec "$@"`],
  join(folder, "state"),
];

describe("a temporary failure of the start exits with 75, which a service manager retries", () => {
  test.skipIf(!mayMount).each([
    ["full disk", "nr_inodes=1", /ENOSPC/],
    ["disk without room for its ID", "size=4k,nr_inodes=4", /ENOSPC/],
    ["read-only disk", "ro", /EROFS/],
  ])("on a %s", async (_, options, reason) => {
    const { code, said } = await startOf(onState, withDisk(options));

    expect(said).toMatch(/^pbnj-worker start: .*\n$/);
    expect(said).toMatch(reason);
    expect(code).toBe(75);
  });

  test("on a disk that fails while it is read", async () => {
    const { code, said } = await startOf(() => ["--inventory", "/proc/self/mem"]);

    expect(said).toContain("/proc/self/mem cannot be read (EIO)");
    expect(code).toBe(75);
  });
});

describe("a start without a way to launch actions exits with 75 and says how to fix it", () => {
  test.each([
    [
      "a missing folder of the engine's socket",
      (folder: string) => [
        ...["--runtime", "docker", "--docker-socket", join(folder, "absent/engine.sock")],
        "--unsafe-any-image",
      ],
      /no container engine: \S+ does not exist\. Fix: .*socket/,
    ],
    [
      "a missing folder of actions",
      (folder: string) => ["--runtime", "process", "--actions-directory", join(folder, "absent")],
      /the folder of actions \S+ does not exist\. Fix: correct --actions-directory/,
    ],
  ])("with %s", async (_, more, reason) => {
    const { code, said } = await startOf((folder) => [...onState(folder), ...more(folder)]);

    expect(said).toMatch(reason);
    expect(said.match(/^pbnj-worker start: /gm)).toHaveLength(1);
    expect(code).toBe(75);
  });

  test("without rights in the cluster", async () => {
    await using lab = await openFakeCluster({ rights: [], namespace: "actions" });
    const more = ["--runtime", "kubernetes", "--kubeconfig", lab.kubeconfig, "--wake-up", "off"];

    const { code, said } = await startOf((folder) => [...onState(folder), ...more, "--unsafe-any-image"]);

    expect(said).toMatch(/the worker may not create jobs\.batch in actions, .*: grant it with a Role/);
    expect(code).toBe(75);
  });
});

test("invalid settings end the start with 2, which is not retried", async () => {
  const { code, said, folder } = await startOf((path) => ["--state-directory", join(path, "file")]);

  expect(said).toContain(`${folder}/file cannot be used: `);
  expect(code).toBe(2);
});

describe("an error is temporary", () => {
  const withCode = (code: string, cause?: unknown) => Object.assign(new Error("x", { cause }), { code });

  test.each([
    "ENOSPC",
    "EDQUOT",
    "EIO",
    "EROFS",
    "EMFILE",
    "ENFILE",
    "ENOMEM",
    "EADDRINUSE",
    "EADDRNOTAVAIL",
  ])("with %s, also as a cause", (code) => {
    expect(isTemporary(withCode(code))).toBe(true);
    expect(isTemporary(new Error("y", { cause: withCode(code) }))).toBe(true);
  });

  test.each(["EACCES", "EPERM", "ENOENT", "ENOTDIR", "EEXIST", "ELOOP", "ENAMETOOLONG"])(
    "never with %s",
    (code) => {
      expect(isTemporary(withCode(code))).toBe(false);
    },
  );
});
