import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

const ITS_SERVICE = "pbnj-worker";
const COMPOSE = "compose --file deploy/compose.yaml --env-file .env";
const IMAGE = "registry.example/pbnj-worker/power-off";

/** A program that a manual calls and that the tests cannot let act: why not, and the arguments that the manuals give it. */
interface StandIn {
  readonly needs: string;
  /** What it prints, by its arguments. All others are an error. */
  readonly answers: Readonly<Record<string, string>>;
}

/** Commands of the manuals that the tests do not really run. */
const STAND_INS: Readonly<Record<string, StandIn>> = {
  systemctl: {
    needs: "a host that systemd manages; test/system/docs/systemd.test.ts checks the unit",
    answers: {
      [`status ${ITS_SERVICE}`]: "",
      [`stop ${ITS_SERVICE}`]: "",
      [`restart ${ITS_SERVICE}`]: "",
      [`kill --kill-whom=main --signal=SIGUSR2 ${ITS_SERVICE}`]: "",
    },
  },
  docker: {
    needs: "the Compose plugin, or images in a registry; test/docs/compose.test.ts checks the file",
    answers: {
      [`${COMPOSE} up --detach`]: "",
      [`${COMPOSE} kill --signal SIGUSR2 worker`]: "",
      [`buildx imagetools inspect ${IMAGE}:v1.2.3`]: "",
      [`buildx imagetools inspect ${IMAGE}@sha256:5b1e… --format {{ json .SBOM }}`]: "",
      [`buildx imagetools inspect ${IMAGE}@sha256:5b1e… --format {{ json .Provenance }}`]: "",
    },
  },
  kubectl: {
    needs: "a cluster; simulators/kubernetes has no discovery, without which kubectl asks nothing",
    answers: {
      "create secret generic edge-kubeconfig --namespace tinkerbell --from-file=kubeconfig=edge.kubeconfig":
        "",
      "create secret tls pbnj-worker-tls --namespace tinkerbell --cert=worker.crt --key=worker.key": "",
      "create secret generic pbnj-worker-clients --namespace tinkerbell --from-file=ca.crt=client-ca.crt": "",
      "get lease pbnj-worker": "",
      "get pods -l pbnj-worker/leader=true": "",
      [`get workflows -n tink-system -o jsonpath={range .items[*]}{.status.state}{" "}{.status.agentID}{"\\n"}{end}`]:
        "SUCCESS pbnj-node-1\nRUNNING pbnj-node-1\nFAILED pbnj-node-2\nSUCCESS pbnj-node-1\n",
      [`get workflows -n tink-system -o go-template={{range .items}}{{.status.state}} {{.metadata.creationTimestamp}} {{.metadata.name}}{{"\\n"}}{{end}}`]:
        "SUCCESS 2026-01-01T00:00:00Z old\nRUNNING 2026-01-01T00:00:00Z long\nFAILED 2999-01-01T00:00:00Z new\n",
      "delete workflows -n tink-system old": "deleted old\n",
    },
  },
  ssh: { needs: "another host", answers: { "-N -L 42180:127.0.0.1:42180 worker.example.org": "" } },
};

/**
 * Writes the stand-ins to a folder for the PATH. Paths below `root` and tokens of 64 digits are as in the manual. `others`
 * are commands for calls that have no answer, which otherwise fail.
 */
export async function writeStandIns(
  folder: string,
  root: string,
  others: Readonly<Record<string, string>>,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [program, { answers }] of Object.entries(STAND_INS)) {
    const cases = Object.entries(answers).map(
      ([call, output]) => `${quoted(call)}) printf %s ${quoted(output)};;\n`,
    );
    const unknown = `echo "no manual calls: ${program} $call" >&2; exit 64`;
    await writeProgram(
      join(folder, program),
      `call=$(printf %s "$*" | sed -E 's#${root}##g; s/[0-9a-f]{64}/TOKEN/')\ncase $call in\n${cases.join("")}*) ${others[program] ?? ":"}\n${unknown};;\nesac\n`,
    );
  }
}

export async function writeProgram(path: string, script: string): Promise<void> {
  await writeFile(path, `#!/usr/bin/env bash\nset -e\n${script}`);
  await chmod(path, 0o755);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
