import { z } from "zod";
import { ChildProgram } from "../../bench/fleet/child-program.ts";

const Question = z.object({ question: z.int(), order: z.unknown() });
const Ready = z.object({ ready: z.unknown() });
const PATIENCE_MS = 30_000;

/** A simulator in a process of its own, which does what it is told and says so. */
export class Host implements AsyncDisposable {
  readonly #program: ChildProgram;
  #asked = 0;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(program: ChildProgram) {
    this.#program = program;
  }

  /** Starts the program `file` and gives it `setup`; resolves with what it says once it is ready. */
  static async start<T>(
    name: string,
    file: string,
    setup: unknown,
    facts: z.ZodType<T>,
  ): Promise<{ readonly host: Host; readonly facts: T }> {
    const program = new ChildProgram(name, file, [JSON.stringify(setup)]);
    try {
      const { ready } = await program.hear(Ready, PATIENCE_MS);
      return { host: new Host(program), facts: facts.parse(ready) };
    } catch (thrown) {
      await program[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  get pid(): number {
    return this.#program.pid;
  }

  /** One order after the other. Rejects when the program ends, refuses, or says nothing in time. */
  ask<T>(order: unknown, answer: z.ZodType<T>): Promise<T> {
    const asked = this.#last.then(async () => {
      this.#asked += 1;
      const question = this.#asked;
      const heard = this.#program.hear(
        z.object({
          answered: z.literal(question),
          answer: z.unknown().optional(),
          problem: z.string().optional(),
        }),
        PATIENCE_MS,
      );
      this.#program.tell({ question, order });
      const { answer: given, problem } = await heard;
      if (problem !== undefined) throw new Error(problem);
      return answer.parse(given ?? null);
    });
    this.#last = asked.catch(() => undefined);
    return asked;
  }

  async tell(order: unknown): Promise<void> {
    await this.ask(order, z.unknown());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program[Symbol.asyncDispose]();
  }
}

/** What such a program was started with. */
export function setupOf<T>(schema: z.ZodType<T>): T {
  return schema.parse(JSON.parse(process.argv[2] ?? "null"));
}

/** Says that the program is ready and carries out its orders. It ends with the process that started it. */
export function serveOrders<Order>(
  facts: unknown,
  schema: z.ZodType<Order>,
  carryOut: (order: Order) => unknown,
): void {
  process.on("message", (message: unknown) => {
    const { question, order } = Question.parse(message);
    const answer = async () => carryOut(schema.parse(order));
    answer().then(
      (given) => process.send?.({ answered: question, answer: given }),
      (thrown: unknown) => process.send?.({ answered: question, problem: String(thrown) }),
    );
  });
  process.on("disconnect", () => process.exit());
  process.send?.({ ready: facts });
}
