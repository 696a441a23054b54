import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { buildActionImages } from "../support/action-images.ts";
import { dockerCli, testBaseImage } from "../support/docker.ts";
import { openFolder } from "../support/folder.ts";
import { TRUSTED } from "./policy.ts";

const BUILD_TIMEOUT_MS = 120_000;
const HOSTILE = join(import.meta.dirname, "hostile/hostile/action.ts");

/** Actions of the catalogue that attacks name. */
const ACTIONS = ["power-off", "power-status"];

export async function engineAnswers(): Promise<boolean> {
  const { exitCode } = await execa("docker", ["version"], { reject: false, timeout: 10_000 });
  return exitCode === 0;
}

/** The catalogue's images and the hostile one. */
export async function buildImages(): Promise<void> {
  await buildActionImages(TRUSTED, ACTIONS);
  await buildHostileImage(`${TRUSTED}/hostile:test`);
}

export async function buildHostileImage(name: string): Promise<void> {
  await using place = await openFolder();
  const { folder: context } = place;
  await copyFile(HOSTILE, join(context, "action.mts"));
  const dockerfile = `FROM ${testBaseImage}\nCOPY action.mts /\nENTRYPOINT ["node", "/action.mts"]\n`;
  await writeFile(join(context, "Dockerfile"), dockerfile);
  await execa("docker", ["build", "--tag", name, context], { timeout: BUILD_TIMEOUT_MS });
}

/** The IDs of an agent's containers, also of those that have ended. */
export async function containersOf(agentIds: readonly string[], label: string): Promise<readonly string[]> {
  const listed = await dockerCli("ps", "--all", "--no-trunc", "--format", `{{.ID}} {{.Label "${label}"}}`);
  return listed.split("\n").flatMap((line) => {
    const [id = "", agentId = ""] = line.split(" ");
    return agentIds.includes(agentId) ? [id] : [];
  });
}
