import { type DescEnum, type DescMessage, ScalarType } from "@bufbuild/protobuf";

/** Every field as `number name type`, as the API's documentation lists them. */
export function fieldsOf(message: DescMessage): string[] {
  return message.fields.map((field) => {
    const scalar = field.scalar === undefined ? "" : ScalarType[field.scalar].toLowerCase();
    const type = field.message?.name ?? field.enum?.name ?? scalar;
    return `${field.number} ${field.name} ${field.fieldKind === "list" ? "repeated " : ""}${type}`;
  });
}

export function valuesOf(desc: DescEnum): string[] {
  return desc.values.map(({ number, name }) => `${number} ${name}`);
}
