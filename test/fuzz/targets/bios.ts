import { parseBiosAttributes } from "../../../actions/set-bios/parse-attributes.ts";
import { checkBiosValues } from "../../../shared/bmc/operations/bios-values.ts";
import { parseBiosRegistry } from "../../../shared/bmc/providers/redfish/drivers/bios-registry.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { Target } from "../target.ts";
import { JSON_TOKENS, jsonOf } from "./json.ts";

const ATTRIBUTE = '{"AttributeName":"A","Type":"Integer","LowerBound":2}';
const DEPENDENCY =
  '{"Dependency":{"MapFrom":[{"MapFromAttribute":"A","MapFromProperty":"ReadOnly","MapFromCondition":"EQU","MapFromValue":true}],"MapToAttribute":"A","MapToProperty":"ReadOnly","MapToValue":true}}';

export const biosTargets: readonly Target[] = [
  {
    name: "bios-registry",
    seeds: [`{"RegistryEntries":{"Attributes":[${ATTRIBUTE}],"Dependencies":[${DEPENDENCY}]}}`],
    tokens: [...JSON_TOKENS, `${ATTRIBUTE},`, `${DEPENDENCY},`],
    around: [
      ['{"RegistryEntries":{"Attributes":[', "]}}"],
      [`{"RegistryEntries":{"Attributes":[${ATTRIBUTE}],"Dependencies":[`, "]}}"],
    ],
    call: (input) => checkBiosValues({ A: 3, B: "x" }, { A: 4 }, parseBiosRegistry(jsonOf(input))),
    throws: (thrown) => thrown instanceof BmcError,
  },
  {
    name: "bios-attributes",
    seeds: ["A=1, B=Enabled", "A=a,b\nB=2", '{"A": true}'],
    tokens: ["=", ",", "\n", "A", '{"', '":'],
    call: parseBiosAttributes,
    holds: (result) => {
      if (result !== undefined && Object.keys(result as object).length === 0) throw new Error("no attribute");
    },
  },
];
