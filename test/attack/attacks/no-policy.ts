import { setTimeout as sleep } from "node:timers/promises";
import { dockerSocketPath } from "../../support/docker.ts";
import { WorkerProgram } from "../../support/worker-program.ts";
import { type Attack, unless } from "../attack.ts";

const WITHIN_MS = 15_000;

export const attack: Attack = {
  tries: "a worker that runs containers is started without a policy, so that any image would get credentials",
  holds: "it does not start, exits with 2, and says what to add",
  async run() {
    await using worker = new WorkerProgram([
      ...["start", "--grpc-server", "127.0.0.1:1", "--agent-id", "a"],
      ...["--runtime", "docker", "--docker-socket", dockerSocketPath],
    ]);
    const started = worker.untilLogged("worker started").then(
      () => "started",
      () => "neither",
    );
    const end = await Promise.race([worker.ended, started, sleep(WITHIN_MS, "neither")]);

    return [
      ...unless(typeof end === "object" && end.code === 2, `it did not exit with 2: ${JSON.stringify(end)}`),
      ...unless(/trustedImages/.test(worker.stderr), "it does not say what to add"),
    ];
  },
};
