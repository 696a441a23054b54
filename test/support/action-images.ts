import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { execa } from "execa";
import { z } from "zod";
import { catalogue } from "../../actions/catalogue.ts";
import { ACTION_FILE, bundleActions, SCRIPT_FOLDER } from "../../scripts/bundle/bundle.ts";
import { type ProjectImage, projectImages } from "../../scripts/images/project-images.ts";
import { projectRoot } from "../../scripts/project-root.ts";
import { contentHash, exclusively } from "./built-once.ts";
import { buildTestBase, dockerCli, isPodman, testBaseImage } from "./docker.ts";
import { openFolder } from "./folder.ts";

const REGISTRY = "localhost/pbnj-worker-test/actions";
const VERSION = "0.0.0";
/** Whatever ends up in an image, and what makes it. */
const SOURCES = [
  ...["actions", "shared", "scripts/bundle", "scripts/images"],
  ...["package.json", "package-lock.json", "LICENSE"],
];
/** Images of other sources that no test has wanted for so long are removed. */
const KEPT_HOURS = 24;

const Base = z.tuple([
  z.object({
    Id: z.string(),
    Architecture: z.string(),
    Os: z.string(),
    Config: z.object({ Env: z.array(z.string()), Labels: z.record(z.string(), z.string()) }),
    RootFS: z.object({ Layers: z.array(z.string()) }),
  }),
]);
type Base = z.infer<typeof Base>[0];

/**
 * Images of this project's actions, `<registry>/<name>:<tag>`: the images that Dockerfile.action makes, which
 * scripts/images.test.ts proves, without a builder's steps for each.
 */
export async function buildActionImages(
  registry: string,
  names: readonly string[],
  tag = "test",
): Promise<void> {
  const imageOf = await provideActionImages();
  await Promise.all(names.map((name) => dockerCli("tag", imageOf(name), `${registry}/${name}:${tag}`)));
}

/** Builds every action's image unless the engine has those of the same contents, and gives back what they are called. */
export async function provideActionImages(): Promise<(name: string) => string> {
  using _lock = await exclusively("images");
  await buildTestBase();
  const [base] = Base.parse(JSON.parse(await dockerCli("image", "inspect", testBaseImage)));
  const tag = await contentHash([...SOURCES, relative(projectRoot, import.meta.filename)], base.Id);
  const imageOf = (name: string) => `${REGISTRY}/${name}:${tag}`;
  const listed = await dockerCli(
    "image",
    "ls",
    "--format",
    "{{.Repository}}:{{.Tag}}",
    `${REGISTRY}/*:${tag}`,
  );
  const present = new Set(listed.split("\n"));
  if (catalogue.every((name) => present.has(imageOf(name)))) return imageOf;

  await using place = await openFolder();
  const { folder: directory } = place;
  await bundleActions(catalogue, join(directory, "actions"));
  await loadImages(directory, base, tag);
  // Podman takes no filters beside `--all`; its storage in CI is new each time.
  if (isPodman) return imageOf;
  const old = ["label=pbnj-worker.test-image", `until=${KEPT_HOURS}h`];
  await dockerCli("image", "prune", "--all", "--force", ...old.flatMap((filter) => ["--filter", filter]));
  return imageOf;
}

/**
 * Writes the layer that the last stage of Dockerfile.action copies from one of the bundles' folders to `/<to>`, and gives back its
 * digest, which is the same for the same files.
 */
async function writeLayer(folder: string, to: string, file: string): Promise<string> {
  await using place = await openFolder();
  const { folder: root } = place;
  await execa("cp", ["-r", folder, join(root, to)]);
  await execa("tar", [
    ...["--create", "--file", file, "--directory", root, "--format=ustar", "--sort=name", "--mtime=@0"],
    ...["--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX", to],
  ]);
  return `sha256:${createHash("sha256")
    .update(await readFile(file))
    .digest("hex")}`;
}

/** One archive for all images, of which the engine adds the layers that it lacks. */
async function loadImages(directory: string, base: Base, tag: string): Promise<void> {
  const bases = { nodeImage: testBaseImage, baseImage: testBaseImage };
  const archive = join(directory, "archive");
  await mkdir(archive);
  const baseLayers = await baseLayersIn(archive, base);
  const images = await projectImages({ registry: REGISTRY, tag, version: VERSION, bases }, catalogue);
  const bundles = join(directory, "actions");
  const shared = await writeLayer(join(bundles, SCRIPT_FOLDER), "program", join(archive, "program.tar"));
  const manifest = await Promise.all(
    images.map(async (image) => {
      const layer = `${image.name}.tar`;
      const digest = await writeLayer(join(bundles, image.name), "action", join(archive, layer));
      const config = {
        architecture: base.Architecture,
        os: base.Os,
        created: new Date().toISOString(),
        config: configOf(image, base),
        rootfs: { type: "layers", diff_ids: [...base.RootFS.Layers, shared, digest] },
      };
      await writeFile(join(archive, `${image.name}.json`), JSON.stringify(config));
      return {
        Config: `${image.name}.json`,
        RepoTags: [image.tag],
        Layers: [...baseLayers, "program.tar", layer],
      };
    }),
  );
  await writeFile(join(archive, "manifest.json"), JSON.stringify(manifest));
  await execa("tar", ["--create", "--file", join(directory, "images.tar"), "--directory", archive, "."]);
  await dockerCli("load", "--quiet", "--input", join(directory, "images.tar"));
}

/** What Dockerfile.action says of an image. */
function configOf(image: ProjectImage, base: Base): object {
  return {
    ...base.Config,
    User: "65532:65532",
    Env: [
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/nodejs/bin",
      ...base.Config.Env.filter((variable) => !variable.startsWith("PATH=")),
      "NODE_ENV=production",
    ],
    Entrypoint: ["node", `/action/${ACTION_FILE}`],
    Cmd: [],
    StopSignal: "SIGTERM",
    Labels: {
      ...base.Config.Labels,
      "org.opencontainers.image.title": image.name,
      "org.opencontainers.image.description": image.description,
      "org.opencontainers.image.version": image.version,
      "org.opencontainers.image.revision": image.revision ?? "",
      "org.opencontainers.image.source": image.source ?? "",
      "org.opencontainers.image.licenses": "Apache-2.0",
      "pbnj-worker.idempotent": String(image.idempotent ?? false),
      "pbnj-worker.test-image": "",
    },
  };
}

/**
 * The base's layers as the archive names them. An engine looks a layer up by its digest and reads only one that it lacks;
 * one that keeps images in containerd, and Podman, want all of them.
 */
async function baseLayersIn(archive: string, base: Base): Promise<readonly string[]> {
  const store = await dockerCli("info", "--format", "{{json .DriverStatus}}");
  if (!isPodman && !store.includes("io.containerd.snapshotter"))
    return base.RootFS.Layers.map((_, i) => `base-${i}.tar`);
  const file = join(archive, "base.tar");
  await dockerCli("save", "--output", file, testBaseImage);
  await execa("tar", ["--extract", "--file", file, "--directory", archive]);
  await rm(file);
  const Saved = z.tuple([z.object({ Layers: z.array(z.string()) })]);
  return Saved.parse(JSON.parse(await readFile(join(archive, "manifest.json"), "utf8")))[0].Layers;
}
