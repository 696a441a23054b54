import { suggestion } from "../../../shared/nearest-name.ts";
import { FUNCTIONS } from "./functions.ts";
import type { Command, Pipeline, Term } from "./parser.ts";
import { isList, isMap, isTrue, RenderProblem, sortedKeys, type Value } from "./value.ts";

/** The variables of a block. An assignment changes the innermost variable of that name. */
export class Scope {
  readonly #outer: Scope | undefined;
  readonly #variables = new Map<string, Value>();

  constructor(outer?: Scope) {
    this.#outer = outer;
  }

  declare(name: string, value: Value): void {
    this.#variables.set(name, value);
  }

  assign(name: string, value: Value): void {
    if (this.#variables.has(name)) this.#variables.set(name, value);
    else if (this.#outer) this.#outer.assign(name, value);
    else throw new RenderProblem(`undefined variable ${name}`);
  }

  get(name: string): Value {
    if (this.#variables.has(name)) return this.#variables.get(name);
    if (!this.#outer) throw new RenderProblem(`undefined variable ${name}`);
    return this.#outer.get(name);
  }
}

export interface Evaluation {
  readonly dot: Value;
  readonly scope: Scope;
  /** Why the data of the template itself lacks the key. */
  readonly missing: (key: string) => string;
  readonly root: Value;
}

/** Evaluates a pipeline, and declares or assigns its variable. Throws a `RenderProblem`. */
export function evaluate(pipeline: Pipeline, at: Evaluation): Value {
  let value: Value;
  for (const [index, command] of pipeline.commands.entries()) {
    value = run(command, index === 0 ? [] : [value], at);
  }
  const [variable] = pipeline.variables;
  if (variable !== undefined) {
    if (pipeline.declares) at.scope.declare(variable, value);
    else at.scope.assign(variable, value);
  }
  return value;
}

function run([first, ...others]: Command, piped: readonly Value[], at: Evaluation): Value {
  if (first.of.kind !== "function") {
    if (others.length > 0 || piped.length > 0) throw new RenderProblem("a value is no function");
    return valueOfTerm(first, at);
  }
  return fieldsOf(call(first.of.name, others, piped, at), first.fields);
}

/** Functions of Sprig whose result does not depend only on their arguments (`nonhermeticFunctions` in its functions.go). */
const NON_HERMETIC: ReadonlySet<string> = new Set([
  ...["date", "date_in_zone", "date_modify", "dateInZone", "dateModify", "htmlDate", "htmlDateInZone", "now"],
  ...["randAlpha", "randAlphaNum", "randAscii", "randBytes", "randNumeric", "uuidv4"],
  ...["env", "expandenv", "getHostByName"],
]);

function call(name: string, given: readonly Term[], piped: readonly Value[], at: Evaluation): Value {
  if (name === "and" || name === "or") return logical(name, given, piped, at);
  const called = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
  if (NON_HERMETIC.has(name)) {
    throw new RenderProblem(
      `the tink server has no function ${name}: it offers only the hermetic ones of Sprig`,
    );
  }
  if (!called) {
    const meant = suggestion(name, Object.keys(FUNCTIONS));
    throw new RenderProblem(`the function ${name} is not rendered here${meant}`);
  }
  return called(...given.map((term) => valueOfTerm(term, at)), ...piped);
}

/** Returns the first operand that decides; later ones are not evaluated. */
function logical(name: "and" | "or", given: readonly Term[], piped: readonly Value[], at: Evaluation): Value {
  const arguments_ = [
    ...given.map((term) => () => valueOfTerm(term, at)),
    ...piped.map((value) => () => value),
  ];
  let value: Value;
  for (const argument of arguments_) {
    value = argument();
    if (isTrue(value) === (name === "or")) return value;
  }
  return value;
}

function valueOfTerm({ of, fields }: Term, at: Evaluation): Value {
  switch (of.kind) {
    case "value":
      return of.value;
    case "function":
      return fieldsOf(call(of.name, [], [], at), fields);
    case "variable":
      return fieldsOf(of.name === "$" ? at.root : at.scope.get(of.name), fields);
    case "pipeline":
      return fieldsOf(evaluate(of.pipeline, at), fields);
    default:
      if (
        at.dot === at.root &&
        fields[0] !== undefined &&
        isMap(at.root) &&
        !Object.hasOwn(at.root, fields[0])
      ) {
        throw new RenderProblem(at.missing(fields[0]));
      }
      return fieldsOf(at.dot, fields);
  }
}

function fieldsOf(value: Value, fields: readonly string[]): Value {
  return fields.reduce<Value>((inner, field) => {
    if (!isMap(inner)) throw new RenderProblem(`there is no field ${field}`);
    if (!Object.hasOwn(inner, field)) {
      throw new RenderProblem(`there is no field ${field}${suggestion(field, Object.keys(inner))}`);
    }
    return inner[field];
  }, value);
}

/** The entries that `range` visits: keys or indexes, and values. */
export function* entriesOf(value: Value): Generator<readonly [Value, Value]> {
  if (isList(value)) for (const [place, inner] of value.entries()) yield [BigInt(place), inner];
  else if (isMap(value)) for (const key of sortedKeys(value)) yield [key, value[key]];
  else if (typeof value === "bigint") for (let at = 0n; at < value; at += 1n) yield [at, at];
  else if (value !== null && value !== undefined)
    throw new RenderProblem("range needs a list, a map or a number");
}
