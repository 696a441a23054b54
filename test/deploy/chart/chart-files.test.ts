import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { settings } from "../../../worker/main/settings.ts";
import { dimensions } from "./cases.ts";
import { describedValues, schemaKeys } from "./described-values.ts";

const textOf = (path: string) => readFile(new URL(`../../../${path}`, import.meta.url), "utf8");
const valuesText = await textOf("deploy/chart/values.yaml");
const schema: unknown = JSON.parse(await textOf("deploy/chart/values.schema.json"));
const described = describedValues(valuesText);
const keys = described.map(({ key }) => key);

describe("the chart", () => {
  it("has the version of the project, in the words that Helm and Artifact Hub look for", async () => {
    const chart = z
      .strictObject({
        apiVersion: z.literal("v2"),
        name: z.literal("pbnj-worker"),
        description: z.string().max(110),
        type: z.literal("application"),
        version: z.string(),
        appVersion: z.string(),
        kubeVersion: z.string(),
        home: z.string(),
        icon: z.string(),
        sources: z.array(z.string()),
        maintainers: z.array(z.strictObject({ name: z.string(), url: z.string() })),
        keywords: z.array(z.string()),
        annotations: z.record(z.string().regex(/^artifacthub\.io\//), z.string()),
      })
      .parse(parse(await textOf("deploy/chart/Chart.yaml")));
    const { version, license, homepage, icon } = JSON.parse(await textOf("package.json"));

    expect([chart.version, chart.appVersion]).toEqual([version, version]);
    expect(chart.annotations["artifacthub.io/license"]).toBe(license);
    expect(chart).toMatchObject({
      ...{ home: homepage, sources: [homepage], icon: `${homepage}/raw/v${version}/${icon}` },
      maintainers: [{ name: "pbnj-worker contributors", url: homepage }],
    });
    expect(parse(chart.annotations["artifacthub.io/links"] ?? "")).toEqual([
      { name: "support", url: `${homepage}/issues` },
    ]);
  });
});

describe("the values", () => {
  it("are described, each with a sentence", () => {
    expect(described.length).toBeGreaterThan(100);
    for (const { key, description } of described) expect(description, key).toMatch(/^[A-Z].*\.$/);
  });

  it("are those that the schema knows, and no other", () => {
    // Helm itself gives `global`; the settings in `config` are the worker's own.
    const known = schemaKeys(schema).filter((key) => key !== "global" && !key.startsWith("config."));

    expect(known.toSorted()).toEqual(keys.filter((key) => key !== "config").toSorted());
  });

  it("all take part in the combinations that are tested", () => {
    const used = Object.values(dimensions)
      .flatMap((options) => Object.values(options))
      .flatMap((fragment) =>
        keys.filter((key) => key.split(".").reduce<unknown>(below, fragment) !== undefined),
      );

    // `image.repository` and `tink.address` are among those that every case has.
    expect(keys.filter((key) => !used.includes(key))).toEqual(["podSecurityContext", "securityContext"]);
  });
});

function below(value: unknown, part: string): unknown {
  return typeof value === "object" && value !== null
    ? Object.entries(value).find(([key]) => key === part)?.[1]
    : undefined;
}

describe("the place of a setting in the chart", () => {
  const places = settings.flatMap(({ name, chart }) =>
    typeof chart === "object" ? [{ name, place: "value" in chart ? chart.value : chart.derivedFrom }] : [],
  );

  it.each(places)("$name: $place is among the values", ({ place }) => {
    for (const key of place.split(" or ")) {
      expect(keys).toContainEqual(expect.stringMatching(new RegExp(`^${key}(\\.|$)`)));
    }
  });
});
