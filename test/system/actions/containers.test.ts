import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { beforeAll, describe, expect, it } from "vitest";
import { catalogue } from "../../../actions/catalogue.ts";
import { parseResultLine } from "../../../shared/contract/result.ts";
import { actionLab, eventually } from "../../actions/lab.ts";
import { documentedResult, findSubjects } from "../../actions/subject.ts";
import { CANARY, subjectLab } from "../../actions/subject-lab.ts";
import { provideActionImages } from "../../support/action-images.ts";
import { describeWithDocker, dockerCli, removeContainers } from "../../support/docker.ts";

/** Far below what an action waits for, far above what a slow machine needs. */
const SOON_MS = 10_000;

/** The least rights that a container can have; it uses the host's loopback, where the simulators listen. */
const CONFINED = [
  ...["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"],
  ...["--network", "host", "--pids-limit", "64", "--memory", "256m"],
];

/**
 * One for each thing that the confinement could break: a plain one, IPMI, files that are read and written, and YAML. That all
 * bundles are complete is proven in ../scripts/bundle.test.ts.
 */
const REPRESENTATIVE = ["power-off", "deactivate-sol", "screenshot", "create-user", "run-tasks"];

interface ContainerRun {
  readonly env: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly options?: readonly string[];
}

async function runContainer(image: string, { env, volumes = [], options = [] }: ContainerRun) {
  const args = [
    ...["run", "--rm", ...CONFINED, ...options],
    ...volumes.flatMap((volume) => ["--volume", volume]),
    ...Object.entries(env).flatMap(([name, value]) => ["--env", `${name}=${value}`]),
    image,
  ];
  const { exitCode, stdout, stderr } = await execa("docker", args, {
    reject: false,
    timeout: 60_000,
    stdin: "ignore",
  });
  return { exitCode, stdout, stderr, result: parseResultLine(stdout.trimEnd().split("\n").at(-1) ?? "") };
}

/** Puts the BMC's password where only the container's user reads it. */
async function mountPassword(folder: string): Promise<string> {
  const file = join(folder, "bmc-password");
  await writeFile(file, `${CANARY}\n`, { mode: 0o644 });
  return `${file}:/run/secrets/p:ro`;
}

const subjects = await findSubjects();

describeWithDocker("the image of every action", () => {
  let imageOf: Awaited<ReturnType<typeof provideActionImages>>;

  beforeAll(async () => {
    imageOf = await provideActionImages();
  }, 300_000);

  it("exists, and runs as a user without a name", async () => {
    const format = "{{.Config.User}} {{json .Config.Entrypoint}}";

    const inspected = await dockerCli("image", "inspect", "--format", format, ...catalogue.map(imageOf));

    const expected = '65532:65532 ["node","/action/action.mjs"]';
    expect(inspected.split("\n")).toEqual(catalogue.map(() => expected));
    expect(subjects.map(({ name }) => name)).toEqual(catalogue);
  });

  describe.concurrent("as a confined container", () => {
    it.each(
      subjects.flatMap((subject) =>
        REPRESENTATIVE.includes(subject.name)
          ? subject.able.slice(0, 1).map((provider) => ({ subject, provider }))
          : [],
      ),
    )("$subject.name runs its example via $provider", async ({ subject, provider }) => {
      await using lab = await subjectLab(subject);
      // The container's user is none of the host's.
      await chmod(lab.folder, 0o777);
      const password = await mountPassword(lab.folder);

      const ended = await runContainer(imageOf(subject.name), {
        env: { ...lab.container.env([provider]), BMC_PASSWORD_FILE: "/run/secrets/p" },
        volumes: [password, ...lab.container.volumes],
      });

      expect(ended.result).toMatchObject({ action: subject.name, ok: true, machine: "node-01", provider });
      expect(documentedResult(subject.reference).parse(ended.result)).toEqual(ended.result);
      expect(ended.exitCode).toBe(0);
      expect(lab.leaks(ended)).toEqual([]);
    });

    it("an action that must not read its password file says how to run it", async () => {
      await using lab = await actionLab({});
      const file = join(lab.folder, "bmc-password");
      await writeFile(file, CANARY, { mode: 0o600 });

      const ended = await runContainer(imageOf("power-off"), {
        env: { BMC_HOST: "127.0.0.1", BMC_USERNAME: "admin", BMC_PASSWORD_FILE: "/run/secrets/p" },
        volumes: [`${file}:/run/secrets/p:ro`],
      });

      expect(ended.exitCode).toBe(2);
      expect(ended.stderr).toContain("start the container with --user and the ID of the file's owner");
    });

    it("an action that is given nothing ends with usage, before anything is sent", async () => {
      const ended = await runContainer(imageOf("set-boot-device"), { env: {} });

      expect(ended.exitCode).toBe(2);
      expect(ended.result).toMatchObject({ ok: false, class: "usage" });
      expect(ended.stderr).toMatch(/DEVICE is missing.*BMC_HOST is missing/s);
    });

    it("an action that is stopped in its wait closes its session first", async () => {
      await using lab = await actionLab({ machine: { power: "on" }, redfish: { password: CANARY } });
      const password = await mountPassword(lab.folder);
      const name = `pbnj-worker-test-stopped-${process.pid}`;
      const { BMC_PASSWORD: _, ...env } = lab.env("redfish");
      const running = runContainer(imageOf("wait-for-power-state"), {
        env: { ...env, STATE: "off", REDFISH_AUTH: "session", BMC_PASSWORD_FILE: "/run/secrets/p" },
        volumes: [password],
        options: ["--name", name],
      });
      try {
        await eventually(() => lab.readings() >= 2);
        const open = lab.redfish.sessions.count;
        const stoppedMs = performance.now();

        await dockerCli("stop", "--time", "20", name);
        const ended = await running;

        expect(performance.now() - stoppedMs).toBeLessThan(SOON_MS);
        expect(ended.exitCode).toBe(143);
        expect(ended.result).toMatchObject({
          ok: false,
          class: "cancelled",
          message: "cancelled by SIGTERM",
        });
        expect([open, lab.redfish.sessions.count]).toEqual([1, 0]);
      } finally {
        await removeContainers(name);
      }
    });
  });
});
