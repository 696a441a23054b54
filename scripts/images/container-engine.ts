import { execa } from "execa";
import { textOf } from "../../shared/text-of.ts";
import { projectRoot } from "../project-root.ts";

/** A command-line client of a container engine: `docker` or `podman`. */
export interface ContainerEngine {
  readonly program: string;
  /** Runs it and returns its stdout; throws with its own message if it fails. */
  run(args: readonly string[]): Promise<string>;
}

/** A failed build's output explains more than its last line. */
const KEPT_LINES = 20;
const BUILD_TIMEOUT_MS = 20 * 60_000;

export function containerEngine(program: string): ContainerEngine {
  return {
    program,
    async run(args) {
      const result = await execa(program, args, {
        timeout: BUILD_TIMEOUT_MS,
        // buildx builds only what is below the folder that it runs in.
        cwd: projectRoot,
        reject: false,
        stdin: "ignore",
        env: { DOCKER_CLI_HINTS: "false", ...(await legacyBuilder(program, args)) },
      });
      if (result.exitCode === 0) return String(result.stdout);
      const said = args[0]?.startsWith("build")
        ? `${result.stdout ?? ""}\n${result.stderr ?? ""}`
        : `${result.stderr ?? ""}`;
      const reason = lastLines(said) || result.shortMessage;
      throw new Error(`${program} ${args[0]}: ${reason}`);
    },
  };
}

/** The first engine that answers: the requested one, else docker, else podman. */
export async function findContainerEngine(wanted?: string): Promise<ContainerEngine> {
  const programs = wanted === undefined ? ["docker", "podman"] : [wanted];
  const problems: string[] = [];
  for (const program of programs) {
    const engine = containerEngine(program);
    try {
      await engine.run(["version"]);
      return engine;
    } catch (thrown) {
      problems.push(textOf(thrown));
    }
  }
  throw new Error(`no container engine answers: ${problems.join("; ")}`);
}

/** Without its buildx plugin, a docker client needs this variable to build. */
async function legacyBuilder(program: string, args: readonly string[]): Promise<Record<string, string>> {
  if (program !== "docker" || args[0] !== "build") return {};
  const buildx = await execa(program, ["buildx", "version"], { reject: false, timeout: 30_000 });
  return buildx.exitCode === 0 ? {} : { DOCKER_BUILDKIT: "0" };
}

function lastLines(text: string): string {
  return text.trim().split("\n").slice(-KEPT_LINES).join("\n").trim();
}
