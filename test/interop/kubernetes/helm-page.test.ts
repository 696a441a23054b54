import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { accessFromKubeconfig, ClusterClient } from "../../../simulators/kubernetes/node/cluster-client.ts";
import { startTinkServer, type TinkServer } from "../../../simulators/tink/server.ts";
import { runProgram } from "../../cli/program.ts";
import { describeWithHelm, helm } from "../../deploy/chart/helm.ts";
import { codeBlocks } from "../../docs/markdown.ts";
import { kubeconfigOf } from "../../support/kubeconfig.ts";
import { runShell } from "../../support/shell-block.ts";
import { describeWithProgram, findProgram } from "../programs.ts";
import { describeWithKubernetes } from "./with-kubernetes.ts";

const PAGE = "docs/how-to/install-with-helm.md";
const NAMESPACE = "tinkerbell";
const CORE = `/api/v1/namespaces/${NAMESPACE}`;
const EXEC = `kubectl exec deployment/pbnj-worker --namespace ${NAMESPACE} -- pbnj-worker `;

/** A reader installs with the page's own commands. The cluster has no nodes, so the worker's program runs here. */
describeWithKubernetes("a cluster", (kubeconfig) => {
  describeWithHelm("and Helm", () => {
    describeWithProgram("kubectl", "with the commands of the Helm page", () => {
      const access = accessFromKubeconfig(kubeconfig);
      let client: ClusterClient;
      let tink: TinkServer;
      let folder: string;
      beforeAll(async () => {
        client = new ClusterClient(access);
        tink = await startTinkServer();
        folder = await mkdtemp(join(tmpdir(), "pbnj-helm-page-"));
        await client.create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
        await symlink(join(import.meta.dirname, "../../../deploy"), join(folder, "deploy"));
        await mkdir(join(folder, "bin"));
        await symlink(helm ?? "", join(folder, "bin/helm"));
        await symlink(findProgram("kubectl") ?? "", join(folder, "bin/kubectl"));
        await writeFile(join(folder, "kubeconfig"), kubeconfig);
      });
      afterAll(async () => {
        await shell(`helm uninstall pbnj-worker --namespace ${NAMESPACE}`);
        await client.delete(`/api/v1/namespaces/${NAMESPACE}`);
        await client.close();
        await tink.close();
        await rm(folder, { recursive: true });
      });

      const shell = (text: string) =>
        runShell(text, {
          cwd: folder,
          env: {
            PATH: `${join(folder, "bin")}:${process.env["PATH"]}`,
            KUBECONFIG: join(folder, "kubeconfig"),
          },
        });

      /** Marks the pod ready, like a kubelet once the worker answers. */
      async function startPod(): Promise<void> {
        const { items } = await client.list(`${CORE}/pods`);
        const [pod] = items;
        const conditions = ["Ready", "ContainersReady"].map((type) => ({ type, status: "True" }));
        await client.patch(`${CORE}/pods/${pod?.metadata.name}/status`, {
          status: { phase: "Running", conditions },
        });
      }

      it("installs the chart, whose worker has what its doctor asks for", { timeout: 300_000 }, async () => {
        const blocks = codeBlocks(PAGE, await readFile("docs/how-to/install-with-helm.md", "utf8"));
        const [images, install, check, label, ...others] = blocks.flatMap(({ language, text }) =>
          language === "sh" ? [text] : [],
        );
        const values = blocks.find(({ text }) => text.startsWith("# values.yaml"))?.text ?? "";
        await writeFile(join(folder, "values.yaml"), values);

        const installed = await shell(install ?? "");
        expect(installed.exitCode, installed.output).toBe(0);
        await vi.waitFor(startPod, { timeout: 60_000, interval: 500 });
        const [rollout = "", doctor = ""] = (check ?? "").trim().split("\n");
        const rolledOut = await shell(rollout);
        expect(rolledOut.exitCode, rolledOut.output).toBe(0);
        const labelled = await shell(label ?? "");
        expect(labelled.exitCode, labelled.output).toBe(0);

        expect(doctor.slice(0, EXEC.length)).toBe(EXEC);
        const checked = await runProgram(await argvHere(doctor.slice(EXEC.length).split(" ")), {
          PBNJ_KUBECONFIG: join(folder, "pod-kubeconfig"),
          PBNJ_STATE_DIRECTORY: join(folder, "state"),
        });
        expect(checked.exitCode, checked.stdout).toBe(0);
        expect(checked.stdout).toMatch(/^ok +cluster +/m);
        expect(images).toBe("npm run images -- --registry registry.example/pbnj-worker --push\n");
        expect(others).toEqual([]);
      });

      /** The arguments with the pod's mounted files, the pod's token, and the address of the tink server here. */
      async function argvHere(argv: readonly string[]): Promise<readonly string[]> {
        const { data = {} } = (await client.get(`${CORE}/configmaps/pbnj-worker`)) as { data?: object };
        await mkdir(join(folder, "etc/pbnj-worker/http"), { recursive: true });
        const secret = (await client.get(`${CORE}/secrets/pbnj-worker-http`)) as { data?: { token: string } };
        const httpToken = Buffer.from(secret.data?.token ?? "", "base64");
        await writeFile(join(folder, "etc/pbnj-worker/http/token"), httpToken, { mode: 0o600 });
        const here = (text: string) =>
          text
            .replaceAll("/etc/pbnj-worker", join(folder, "etc/pbnj-worker"))
            .replaceAll("tinkerbell:42113", tink.address);
        for (const [name, text] of Object.entries(data)) {
          await writeFile(join(folder, "etc/pbnj-worker", name), here(String(text)));
        }
        const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
        const { status } = await client.create(`${CORE}/serviceaccounts/pbnj-worker/token`, request);
        const { url, ca } = access;
        const token = String(status?.["token"]);
        await writeFile(
          join(folder, "pod-kubeconfig"),
          kubeconfigOf({ url, token, ...(ca && { ca }) }, NAMESPACE),
        );
        return argv.map(here);
      }
    });
  });
});
