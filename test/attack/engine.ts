import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { buildActionImages } from "../support/action-images.ts";
import { dockerCli, testBaseImage } from "../support/docker.ts";
import { openFolder } from "../support/folder.ts";
import { TRUSTED, UNTRUSTED } from "./policy.ts";

const BUILD_TIMEOUT_MS = 120_000;
const HOSTILE = join(import.meta.dirname, "hostile/hostile/action.ts");

/** Actions of the catalogue that attacks name. */
const ACTIONS = ["power-off", "power-on", "power-reset", "power-status"];

export async function engineAnswers(): Promise<boolean> {
  const { exitCode } = await execa("docker", ["version"], { reject: false, timeout: 10_000 });
  return exitCode === 0;
}

/** The catalogue's images, and the hostile one under a trusted name and under another. */
export async function buildImages(): Promise<void> {
  await buildActionImages(TRUSTED, ACTIONS);
  await buildHostileImage([TRUSTED, UNTRUSTED].map((registry) => `${registry}/hostile:test`));
}

export async function buildHostileImage(names: readonly string[]): Promise<void> {
  await using place = await openFolder();
  const { folder: context } = place;
  await copyFile(HOSTILE, join(context, "action.mts"));
  const dockerfile = `FROM ${testBaseImage}\nCOPY action.mts /\nENTRYPOINT ["node", "/action.mts"]\n`;
  await writeFile(join(context, "Dockerfile"), dockerfile);
  const tags = names.flatMap((name) => ["--tag", name]);
  await execa("docker", ["build", ...tags, context], { timeout: BUILD_TIMEOUT_MS });
}

/** The IDs of an agent's containers, also of those that have ended. */
export async function containersOf(agentIds: readonly string[], label: string): Promise<readonly string[]> {
  const listed = await dockerCli("ps", "--all", "--no-trunc", "--format", `{{.ID}} {{.Label "${label}"}}`);
  return listed.split("\n").flatMap((line) => {
    const [id = "", agentId = ""] = line.split(" ");
    return agentIds.includes(agentId) ? [id] : [];
  });
}
