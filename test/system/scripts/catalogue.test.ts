import { access, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { catalogue, loadAction } from "../../../actions/catalogue.ts";
import { actionChanges } from "../../../scripts/catalogue/action-changes.ts";
import { PackageMetadata, RepositoryMetadata } from "../../../scripts/catalogue/artifact-hub.ts";
import { packageReadme } from "../../../scripts/catalogue/package-readme.ts";
import { type Publication, preparePublication } from "../../../scripts/catalogue/publication.ts";
import { packageFiles, writeCatalogue } from "../../../scripts/catalogue/write-catalogue.ts";
import { parseChangelog } from "../../../scripts/changelog.ts";
import { projectImages } from "../../../scripts/images/project-images.ts";
import { Manifest, readManifest } from "../../../scripts/manifest.ts";

const projectRoot = join(import.meta.dirname, "../../..");
const registry = "registry.example/bmc";
const manifest = await readManifest(projectRoot);
const releases = parseChangelog(await readFile(join(projectRoot, "CHANGELOG.md"), "utf8"));
const { version } = manifest;

function publicationOf(options: Parameters<typeof preparePublication>[2] = {}, of = manifest): Publication {
  const prepared = preparePublication(of, releases, {
    registry,
    commitDate: "2026-01-31T10:00:00+02:00",
    ...options,
  });
  if (!prepared.ok) throw new Error(prepared.problems.join("\n"));
  return prepared.publication;
}

const known = publicationOf({
  homeUrl: "https://bmc.example/",
  maintainers: ["Ada Example <ada@example.org>"],
  provider: "Example",
  repositoryName: "bmc-actions",
  repositoryId: "7d2ce1a8-1d0e-4c0a-9c5e-6f6a9f4d2b11",
});

const built = new Map<string, ReturnType<typeof buildPackage>>();

/** Builds each action's package once. */
function packageOf(name: string, publication = known) {
  if (publication !== known) return buildPackage(name, publication);
  const there = built.get(name) ?? buildPackage(name, known);
  built.set(name, there);
  return there;
}

async function buildPackage(name: string, publication: Publication) {
  const files = await packageFiles(projectRoot, name, publication);
  const metadata = files.get(`${name}/${version}/artifacthub-pkg.yml`) ?? "";
  const readme = files.get(`${name}/${version}/README.md`) ?? "";
  return { files, metadata, readme, parsed: PackageMetadata.parse(parse(metadata)) };
}

describe.each(catalogue)("the package of %s", (name) => {
  it("follows the format and reads alike as YAML 1.1 and 1.2", async () => {
    const { files, metadata, parsed } = await packageOf(name);

    expect([...files.keys()]).toEqual([
      `${name}/${version}/README.md`,
      `${name}/${version}/artifacthub-pkg.yml`,
    ]);
    expect(parsed).toMatchObject({ name, version, license: "Apache-2.0", homeURL: "https://bmc.example/" });
    expect(parse(metadata, { version: "1.1", strict: true, uniqueKeys: true })).toEqual(parsed);
  });

  it("names the image that is built, on every platform of a release, in all its examples", async () => {
    const bases = { nodeImage: "n", baseImage: "b" };
    const [image] = await projectImages({ registry, tag: `v${version}`, version, bases }, [name]);

    const { parsed, readme } = await packageOf(name);

    const platforms = ["linux/amd64", "linux/arm64"];
    expect(parsed.containersImages).toEqual([{ name, image: image?.tag, platforms }]);
    const named = (text = "") => [...text.matchAll(/registry\.example\/\S+/g)].map(([found]) => found);
    expect(named(parsed.install)).toEqual([image?.tag, image?.tag]);
    expect(named(readme)).toEqual([image?.tag]);
  });

  it("says what the action says of itself, and this version's changes", async () => {
    const action = await loadAction(name);

    const { parsed, readme } = await packageOf(name);

    expect(parsed.description).toBe(action?.summary);
    expect(parsed.annotations?.["pbnj-worker/idempotent"]).toBe(String(action?.idempotent));
    expect(parsed.keywords).toEqual(expect.arrayContaining(["tinkerbell", "bmc"]));
    expect(parsed.changes).toEqual(actionChanges(name, version, releases));
    expect(readme.startsWith(`# ${name}\n`)).toBe(true);
  });

  it("has a README without a link that leads nowhere", async () => {
    const { readme } = await packageOf(name);

    const links = [...readme.matchAll(/\]\(([^)\s]+)[^)]*\)|^\[[^\]]+\]:\s*(\S+)|(?:href|src)="([^"]*)"/gm)];
    const targets = links.map(([, inline, definition, html]) => inline ?? definition ?? html ?? "");
    for (const target of targets) expect(target).toMatch(/^(?:https?:\/\/|#)/);
  });
});

describe("a package", () => {
  it("has the project's pages, icon and provider", async () => {
    const { parsed } = await packageOf("power-off", publicationOf());
    const { homepage } = manifest;

    expect(parsed).toMatchObject({
      homeURL: homepage,
      logoURL: `${homepage}/raw/v${version}/docs/icon.svg`,
      provider: { name: "pbnj-worker contributors" },
      links: [
        { name: "source", url: homepage },
        { name: "support", url: `${homepage}/issues` },
        { name: "documentation", url: `${homepage}/blob/v${version}/actions/power-off/README.md` },
        { name: "changelog", url: `${homepage}/blob/v${version}/CHANGELOG.md` },
      ],
    });
    await expect(access(join(projectRoot, manifest.icon ?? ""))).resolves.toBeUndefined();
  });

  it("recommends others under the repository's name, never itself", async () => {
    const recommended = async (name: string) => (await packageOf(name)).parsed.recommendations;

    const check = "https://artifacthub.io/packages/tbaction/bmc-actions/check";
    const runTasks = "https://artifacthub.io/packages/tbaction/bmc-actions/run-tasks";
    expect(await recommended("power-off")).toEqual([{ url: check }, { url: runTasks }]);
    expect(await recommended("check")).toEqual([{ url: runTasks }]);
  });

  it("marks security updates and pre-releases", async () => {
    const publication: Publication = {
      ...known,
      version: "2.0.0-rc.1",
      releases: [
        { version: "2.0.0-rc.1", changes: [{ kind: "security", description: "A fix", code: [] }] },
        { version: "1.0.0", changes: [] },
      ],
    };

    const files = await packageFiles(projectRoot, "power-off", publication);

    const text = files.get("power-off/2.0.0-rc.1/artifacthub-pkg.yml") ?? "";
    expect(PackageMetadata.parse(parse(text))).toMatchObject({
      containsSecurityUpdates: true,
      prerelease: true,
      changes: [{ kind: "security", description: "A fix" }],
    });
  });
});

describe("a README in the registry", () => {
  const readme =
    "[a](../power-on/README.md), [b](../../docs/reference/bmc-library.md#power), [c](https://c.example), [d](#input)\nregistry.example/pbnj-worker/x:v1\n";
  const render = (sourceUrl?: string) =>
    packageReadme(readme, "power-off", { registry, version: "1.0.0", ...(sourceUrl ? { sourceUrl } : {}) });

  it("links to the files of the release's tag where their page is known", () => {
    expect(render("https://github.com/o/r")).toBe(
      [
        "[a](https://github.com/o/r/blob/v1.0.0/actions/power-on/README.md)",
        "[b](https://github.com/o/r/blob/v1.0.0/docs/reference/bmc-library.md#power)",
        "[c](https://c.example)",
        `[d](#input)\n${registry}/x:v1\n`,
      ].join(", "),
    );
  });

  it.each([undefined, "https://git.example/o/r"])("keeps the text alone where it is not: %s", (sourceUrl) => {
    expect(render(sourceUrl)).toBe(`a, b, [c](https://c.example), [d](#input)\n${registry}/x:v1\n`);
  });
});

describe("what a publication needs", () => {
  it("is said as a whole when it is missing or wrong", () => {
    const prepared = preparePublication(Manifest.parse({ ...manifest, version: "9.9.9" }), releases, {
      ...{ homeUrl: "ftp://x", maintainers: ["Unknown"], repositoryId: "7", repositoryName: "A b" },
      sourceDateEpoch: "soon",
    });

    expect(prepared).toEqual({
      ok: false,
      problems: [
        "CHANGELOG.md has no section for version 9.9.9",
        "no registry: give --registry or IMAGE_REGISTRY, what image names begin with",
        'SOURCE_DATE_EPOCH "soon" is not a number of seconds',
        'the home URL "ftp://x" is not an http address',
        'the maintainer "Unknown" is not written as Name <address>',
        'the repository ID "7" is not a UUID',
        'the repository name "A b" is not of lower-case letters, digits, dashes',
      ],
    });
  });

  it("takes the date of the changelog, else SOURCE_DATE_EPOCH, else the commit's, in UTC", () => {
    const dated = releases.map((release) => ({ ...release, date: "2026-02-01" }));
    const undated = releases.map(({ version: of, changes }) => ({ version: of, changes }));
    const sources = { registry, sourceDateEpoch: "1769853600", commitDate: "2026-01-31T10:00:00+02:00" };
    const dateOf = (from: typeof releases, options: Parameters<typeof preparePublication>[2]) => {
      const prepared = preparePublication(manifest, from, options);
      return prepared.ok ? prepared.publication.createdAt : prepared.problems;
    };

    expect(dateOf(dated, sources)).toBe("2026-02-01T00:00:00Z");
    expect(dateOf(undated, sources)).toBe("2026-01-31T10:00:00Z");
    expect(dateOf(undated, { ...sources, sourceDateEpoch: undefined })).toBe("2026-01-31T08:00:00Z");
    expect(dateOf(undated, { registry })).toEqual([
      "no date: CHANGELOG.md gives none, SOURCE_DATE_EPOCH is not set, and there is no commit",
    ]);
  });
});

describe("npm run catalogue", () => {
  let directory: string;
  const run = (...args: readonly string[]) =>
    execa(process.execPath, [join(projectRoot, "scripts/catalogue.ts"), ...args], {
      cwd: tmpdir(),
      env: { PATH: process.env["PATH"] ?? "" },
      extendEnv: false,
      reject: false,
      timeout: 60_000,
    });

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "pbnj-catalogue-"));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it("writes a folder an action and version, and the repository's own file", async () => {
    const output = join(directory, "whole");

    const { exitCode, stderr } = await run(
      ...["--registry", registry, "--output", output],
      ...["--maintainer", "Ada Example <ada@example.org>", "Ben Example <ben@example.org>"],
      ...["--repository-id", "7d2ce1a8-1d0e-4c0a-9c5e-6f6a9f4d2b11"],
    );

    expect(stderr).toContain(`wrote ${catalogue.length * 2 + 1} files of version ${version}`);
    expect(exitCode).toBe(0);
    expect((await readdir(output)).sort()).toEqual([...catalogue, "artifacthub-repo.yml"].sort());
    const repository = await readFile(join(output, "artifacthub-repo.yml"), "utf8");
    expect(RepositoryMetadata.parse(parse(repository))).toEqual({
      repositoryID: "7d2ce1a8-1d0e-4c0a-9c5e-6f6a9f4d2b11",
      owners: [
        { name: "Ada Example", email: "ada@example.org" },
        { name: "Ben Example", email: "ben@example.org" },
      ],
    });
  });

  it("keeps other versions and replaces its own", async () => {
    const output = join(directory, "kept");
    await writeCatalogue(output, "1.0.0", new Map([["power-off/1.0.0/README.md", "old"]]));
    await writeCatalogue(output, "1.1.0", new Map([["power-off/1.1.0/README.md", "first"]]));
    await writeFile(join(output, "power-off/1.1.0/stale"), "");

    await writeCatalogue(output, "1.1.0", new Map([["power-off/1.1.0/README.md", "second"]]));

    expect(await readdir(join(output, "power-off/1.1.0"))).toEqual(["README.md"]);
    expect(await readFile(join(output, "power-off/1.1.0/README.md"), "utf8")).toBe("second");
    expect(await readFile(join(output, "power-off/1.0.0/README.md"), "utf8")).toBe("old");
  });
});
