import type { Reporter, TestCase } from "vitest/node";

/** Names at the end the tests that passed only when they were repeated, with why they failed first. */
export default class FlakyReporter implements Reporter {
  readonly #flaky: string[] = [];

  onTestCaseResult(test: TestCase): void {
    if (!test.diagnostic()?.flaky) return;
    const causes = test.result().errors?.map(({ message }) => `\n    ${message.split("\n")[0]}`) ?? [];
    this.#flaky.push(`  ${test.module.relativeModuleId} > ${test.fullName}${causes.join("")}`);
  }

  onTestRunEnd(): void {
    if (this.#flaky.length > 0) {
      process.stdout.write(`Passed only when repeated:\n${this.#flaky.join("\n")}\n`);
    }
  }
}
