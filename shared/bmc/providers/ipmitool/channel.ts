import { BmcError } from "../../../contract/bmc-error.ts";
import type { Connection } from "../../../contract/connection.ts";
import { TimeoutReached } from "../../../timeout.ts";
import type { Tracer } from "../../../tracing/tracer.ts";
import { type Answer, type CommandChannel, codeOf } from "../ipmi/commands/channel.ts";
import type { Command } from "../ipmi/commands/command.ts";
import { COMPLETED } from "../ipmi/commands/completion-code.ts";
import { type CipherSuiteId, suite3Remedy } from "../ipmi/session/cipher-suite.ts";
import { ipmitoolInvocation } from "./argv.ts";
import { failureOf, hasFailed, parseRawOutput, parseRefusal, refusesSuite } from "./failure.ts";
import { runIpmitool } from "./run-ipmitool.ts";
import type { IpmitoolSecrets } from "./secrets.ts";

/** Sends commands through ipmitool, with one run of the program and therefore one session for each. */
export class IpmitoolChannel implements CommandChannel {
  readonly #connection: Connection;
  readonly #secrets: IpmitoolSecrets;
  /** The best first. Suites that the BMC refused are removed. */
  #suites: readonly CipherSuiteId[];
  readonly #tracer: Tracer;
  #runs = 0;

  constructor(
    connection: Connection,
    secrets: IpmitoolSecrets,
    suites: readonly CipherSuiteId[],
    tracer: Tracer,
  ) {
    this.#connection = connection;
    this.#secrets = secrets;
    this.#suites = suites;
    this.#tracer = tracer;
  }

  /** The number of runs. Their packets are not visible here, so each run counts once. */
  get runs(): number {
    return this.#runs;
  }

  /** The suite that the BMC accepts; set once a command was answered. */
  get suite(): CipherSuiteId | undefined {
    return this.#suites[0];
  }

  async run(commands: readonly Command[], signal: AbortSignal): Promise<readonly Answer[]> {
    const answers: Answer[] = [];
    for (const command of commands) answers.push(await this.#traced(command, signal));
    return answers;
  }

  #traced(command: Command, signal: AbortSignal): Promise<Answer> {
    return this.#tracer.span({ name: `ipmitool ${command.name}`, kind: "client" }, async (span) => {
      const answer = await this.#runOne(command, signal);
      span.note(codeOf(answer));
      return answer;
    });
  }

  async #runOne(command: Command, signal: AbortSignal): Promise<Answer> {
    const level = this.#connection.ipmitool.privilege;
    for (;;) {
      const suite = this.#suites[0];
      if (suite === undefined) throw new BmcError("internal", "no cipher suite to try");
      const { ok, stdout, stderr } = await this.#runIpmitool(command, suite, signal);
      if (ok && !hasFailed(stderr)) {
        return { command, completionCode: COMPLETED, data: parseRawOutput(stdout), level };
      }
      const completionCode = parseRefusal(stderr);
      if (completionCode !== undefined) return { command, completionCode, data: Buffer.alloc(0), level };
      if (!refusesSuite(stderr)) throw failureOf(command, stderr);
      const remaining = this.#suites.slice(1);
      if (remaining.length === 0) throw this.#noSuite(failureOf(command, stderr));
      this.#suites = remaining;
    }
  }

  #noSuite(refusal: BmcError): BmcError {
    const { cipherSuite, allowSuite3 } = this.#connection.ipmitool;
    const isOfSuite = refusal.class === "unsupported";
    if (cipherSuite !== undefined || allowSuite3 || !isOfSuite) return refusal;
    const message = `cipher suite 17: ${refusal.message}; ${suite3Remedy("ipmitool")}`;
    return new BmcError(refusal.class, message, { cause: refusal });
  }

  async #runIpmitool(command: Command, suite: CipherSuiteId, signal: AbortSignal) {
    const { connectTimeoutMs, requestTimeoutMs, ipmitool } = this.#connection;
    const invocation = ipmitoolInvocation(this.#connection, this.#secrets, suite, command);
    const limitMs = connectTimeoutMs + requestTimeoutMs;
    this.#runs += 1;
    try {
      return await runIpmitool(ipmitool.program, invocation, limitMs, signal);
    } catch (thrown) {
      if (!(thrown instanceof TimeoutReached)) throw thrown;
      throw new BmcError("timeout", `${command.name}: ipmitool did not end within ${limitMs} ms`, {
        cause: thrown,
        uncertain: command.effect !== "read",
      });
    }
  }
}
