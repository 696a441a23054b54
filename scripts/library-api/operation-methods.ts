import type { ArrowFunctionExpression, ObjectProperty } from "oxc-parser";
import type { SourceModule } from "./source-module.ts";

/** A method of the client, as its operation declares it. */
interface OperationMethod {
  readonly name: string;
  readonly method: ObjectProperty & { readonly value: ArrowFunctionExpression };
}

/** The functions of `methods: (run) => ({...})` in the call of `defineOperations`. */
export function operationMethods(source: SourceModule): readonly OperationMethod[] {
  for (const statement of source.body) {
    if (statement.type !== "ExportNamedDeclaration") continue;
    const { declaration } = statement;
    const call = declaration?.type === "VariableDeclaration" ? declaration.declarations[0]?.init : undefined;
    if (call?.type !== "CallExpression" || source.text(call.callee) !== "defineOperations") continue;
    const [set] = call.arguments;
    for (const property of set?.type === "ObjectExpression" ? set.properties : []) {
      if (property.type !== "Property" || source.text(property.key) !== "methods") continue;
      if (property.value.type !== "ArrowFunctionExpression") continue;
      const { body } = property.value;
      if (body.type === "ObjectExpression") return body.properties.flatMap((each) => methodOf(source, each));
    }
  }
  throw new Error(`${source.path} defines no operations`);
}

function methodOf(source: SourceModule, property: { readonly type: string }): readonly OperationMethod[] {
  const method = property as OperationMethod["method"];
  if (method.type !== "Property" || method.value.type !== "ArrowFunctionExpression") {
    throw new Error(`${source.path}: a method is no function`);
  }
  return [{ name: source.text(method.key), method }];
}
