import * as models from "@kubernetes/client-node";

interface Attribute {
  readonly baseName: string;
  readonly type: string;
}

/**
 * Returns the fields of an object of a built-in kind that do not exist or have the wrong type, according to the client's
 * generated models.
 */
export function fieldProblems(kind: string, object: object): readonly string[] {
  return modelProblems(kind === "Event" ? "CoreV1Event" : `V1${kind}`, object, "");
}

function modelProblems(model: string, object: object, path: string): readonly string[] {
  const known: Readonly<Record<string, unknown>> = models;
  const made = known[model];
  if (typeof made !== "function" || !("getAttributeTypeMap" in made))
    throw new Error(`no generated model is called ${model}`);
  const attributes = (made.getAttributeTypeMap as () => readonly Attribute[])();
  return Object.entries(object).flatMap(([name, value]) => {
    const attribute = attributes.find(({ baseName }) => baseName === name);
    const field = path === "" ? name : `${path}.${name}`;
    return attribute ? typeProblems(attribute.type, value, field) : [`unknown field "${field}"`];
  });
}

function typeProblems(type: string, value: unknown, field: string): readonly string[] {
  if (value === null || value === undefined || type === "any") return [];
  const wrong = [`field "${field}" is not of type ${type}`];
  const item = /^Array<(.+)>$/.exec(type)?.[1];
  if (item !== undefined)
    return Array.isArray(value)
      ? value.flatMap((one, index) => typeProblems(item, one, `${field}[${index}]`))
      : wrong;
  if (type === "IntOrString") return ["string", "number"].includes(typeof value) ? [] : wrong;
  if (type === "Date" || type === "V1MicroTime")
    return typeof value === "string" && !Number.isNaN(Date.parse(value)) ? [] : wrong;
  if (["string", "number", "boolean"].includes(type)) return typeof value === type ? [] : wrong;
  if (typeof value !== "object" || Array.isArray(value)) return wrong;
  const mapped = /^\{ \[key: string\]: (.+); \}$/.exec(type)?.[1];
  if (mapped !== undefined)
    return Object.entries(value).flatMap(([key, one]) => typeProblems(mapped, one, `${field}.${key}`));
  return modelProblems(type, value, field);
}
