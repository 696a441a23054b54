import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { dimensions, isAllowed, valuesOf } from "../deploy/chart/cases.ts";
import { describeWithHelm, renderAll } from "../deploy/chart/helm.ts";
import type { Manifest } from "../deploy/chart/manifest.ts";
import { pairwise } from "../deploy/chart/pairwise.ts";
import { testFolder } from "../support/test-folder.ts";
import { provenWith } from "./compatibility/peer.ts";
import { describeWithProgram, findProgram } from "./programs.ts";
import { describeWithPython, installPythonPackages, type PythonPackages } from "./python-packages.ts";

const TIMEOUT_MS = 300_000;
/** The oldest that is supported, and the newest of the package. */
const VERSIONS = ["v1.29.0", "v1.37.0"];
/** The Prometheus operator's kinds, which are not Kubernetes'. */
const NOT_KUBERNETES = ["ServiceMonitor", "PrometheusRule"];

/** The package brings Kubernetes' schemas, which kubeconform would download. */
const schemas = () => installPythonPackages("kubernetes-schemas", ["kubernetes-validate==1.37.0"]);
const helm = { name: "Helm", version: [process.env["HELM"] || "helm", "version", "--short"] } as const;

const Found = z.object({ resources: z.array(z.object({ status: z.string(), msg: z.string() })).nullable() });

/** What it says of these objects, and how many it has found valid. */
async function validate(packages: PythonPackages, version: string, objects: readonly Manifest[]) {
  const location = `${await schemaFolder(packages, version)}/{{.ResourceKind}}{{.KindSuffix}}.json`;
  const argv = ["-strict", "-output", "json", "-verbose", "-skip", NOT_KUBERNETES.join(",")];
  const { stdout } = await execa(
    findProgram("kubeconform") ?? "kubeconform",
    [...argv, "-schema-location", location],
    {
      input: objects.map((object) => JSON.stringify(object)).join("\n---\n"),
      reject: false,
      timeout: TIMEOUT_MS,
    },
  );
  const resources = Found.parse(JSON.parse(stdout)).resources ?? [];
  const refused = resources.filter(({ status }) => !["statusValid", "statusSkipped"].includes(status));
  return {
    valid: resources.filter(({ status }) => status === "statusValid").length,
    refused: refused.map(({ msg }) => msg),
  };
}

/** The package's schemas of one version. They refer to each other by URLs, which only the package resolves. */
async function schemaFolder({ python }: PythonPackages, version: string): Promise<string> {
  const script = "import kubernetes_validate, os; print(os.path.dirname(kubernetes_validate.__file__))";
  const { stdout } = await execa(python, ["-c", script]);
  const source = join(stdout, "kubernetes-json-schema", `${version}-local-strict`);
  const { folder } = await testFolder();
  for (const file of await readdir(source)) {
    const text = await readFile(join(source, file), "utf8");
    const local = text
      .replace('"$id":', '"$comment":')
      .replaceAll('"/api/_definitions.json#', '"_definitions.json#');
    await writeFile(join(folder, file), local);
  }
  return folder;
}

await describeWithPython(schemas, "kubeconform and Helm", (installed) => {
  describeWithProgram("kubeconform", "the chart's objects", () => {
    describeWithHelm("rendered by Helm", () => {
      describe("for each pair of features", provenWith(helm), () => {
        it("the chart's objects are valid, in the oldest and the newest Kubernetes", {
          timeout: TIMEOUT_MS,
        }, async () => {
          const { rows } = pairwise(dimensions, isAllowed);
          const rendered = await renderAll(
            Object.fromEntries(rows.map((row, index) => [`row ${index}`, valuesOf(row)])),
          );
          const objects = [
            ...new Map(
              Object.values(rendered)
                .flat()
                .map((object) => [JSON.stringify(object), object]),
            ).values(),
          ];

          for (const version of VERSIONS) {
            const { valid, refused } = await validate(installed, version, objects);

            expect(refused).toEqual([]);
            expect(valid).toBeGreaterThan(100);
          }
        });

        it("a Deployment with a field that does not exist is refused", async () => {
          const { one } = await renderAll({ one: valuesOf({ agentIds: "some" }) });
          const deployment = one.find(({ kind }) => kind === "Deployment");
          if (!deployment) throw new Error("the chart has no Deployment");
          const wrong = { ...deployment, spec: { ...(deployment["spec"] as object), replica: 1 } };

          const { refused } = await validate(installed, "v1.29.0", [wrong]);

          expect(refused).toEqual([expect.stringContaining("replica")]);
        });
      });
    });
  });
});
