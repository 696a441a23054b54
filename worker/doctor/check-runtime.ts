import { stat } from "node:fs/promises";
import { textOf } from "../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../shared/timeout.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import type { CauseName } from "../findings/causes.ts";
import { type Finding, findingOf, okFinding } from "../findings/finding.ts";
import type { RuntimeConfig } from "../main/core-settings.ts";
import { type EngineAddress, showEngineAddress } from "../runtimes/docker/engine-address.ts";
import { EngineError } from "../runtimes/docker/engine-error.ts";
import { currentUser, groupName } from "./user.ts";

/** Checks whether the runtime can launch actions now. `why` says how this engine was selected. */
export async function checkRuntime(
  config: RuntimeConfig,
  runtime: Runtime,
  timeoutMs: number,
  signal: AbortSignal,
  why?: string,
): Promise<Finding> {
  const subject = config.kind === "docker" ? `docker ${showEngineAddress(config.engine)}` : config.kind;
  try {
    const found = await withTimeout(timeoutMs, signal, (bound) => runtime.check(bound));
    return okFinding("runtime", config.kind === "docker" ? found + whyThisOne(why) : found, subject);
  } catch (thrown) {
    signal.throwIfAborted();
    return runtimeFailure(config, thrown, { subject, why });
  }
}

/** The cause of a failed check, and how to fix it. */
export async function runtimeFailure(
  config: RuntimeConfig,
  thrown: unknown,
  { subject, why }: { readonly subject?: string; readonly why?: string | undefined } = {},
): Promise<Finding> {
  const detail = textOf(thrown);
  if (config.kind === "kubernetes") return findingOf("pods-not-possible", detail, { subject });
  if (config.kind !== "docker") return findingOf("actions-absent", detail, { subject });
  return engineFailure(thrown, config.engine, { subject, why });
}

/** Says how the engine was selected: several may be installed, and the client on the command line may use another one. */
function whyThisOne(why: string | undefined): string {
  return why === undefined ? "" : `; ${why}`;
}

async function engineFailure(
  thrown: unknown,
  { socketPath = "" }: EngineAddress,
  { subject, why }: { readonly subject: string | undefined; readonly why: string | undefined },
): Promise<Finding> {
  const cause = causeOf(thrown);
  const facts = cause === "engine-forbidden" ? { how: await howToPermit(socketPath) } : {};
  return findingOf(cause, textOf(thrown) + whyThisOne(why), { subject, facts });
}

function causeOf(thrown: unknown): CauseName {
  if (thrown instanceof TimeoutReached || !(thrown instanceof EngineError)) return "engine-silent";
  if (thrown.class === "unsupported") return "engine-too-old";
  if (thrown.cause instanceof TimeoutReached) return "engine-silent";
  if (thrown.class === "tls") return "engine-tls";
  switch (codeOf(thrown.cause)) {
    case "ENOENT":
    case "ENOTDIR":
      return "engine-absent";
    case "ECONNREFUSED":
      return "engine-down";
    case "EACCES":
    case "EPERM":
      return "engine-forbidden";
    default:
      return "engine-strange";
  }
}

const GROUP_MAY = 0o060;

/** Says how to get access to the socket. Names the group that has it, if there is one. */
async function howToPermit(socketPath: string): Promise<string> {
  const user = currentUser();
  let gid: number;
  try {
    const { gid: group, mode } = await stat(socketPath);
    if ((mode & GROUP_MAY) !== GROUP_MAY) {
      return `let a group use ${socketPath} (chgrp, chmod g+rw) and add the user ${user} to it`;
    }
    gid = group;
  } catch {
    return `let the user ${user} pass through every folder of ${socketPath}`;
  }
  const name = groupName(gid);
  const group = name === undefined ? `the group ${gid}` : `the group ${name} (${gid})`;
  return (
    `add the user ${user} to ${group} and log in again: usermod -aG ${name ?? gid} ${user}; for a container: ` +
    `--group-add ${gid}. Access to the engine grants root on this host`
  );
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
}
