import { SecretSearch } from "./secret-traces.ts";

export interface Canary {
  /** Where it was put, such as `Secret of team-a`. */
  readonly name: string;
  readonly owner: string;
  readonly text: string;
  /** A secret is for no reader; other texts are for their owner and the operator. */
  readonly isSecret: boolean;
}

/** Looks for the secrets and private texts of tenants, in all forms in which output may show them. */
export class Canaries {
  readonly #planted: readonly (Canary & { readonly search: SecretSearch })[];
  readonly #found = new Set<string>();

  constructor(planted: readonly Canary[]) {
    this.#planted = planted.map((canary) => ({
      ...canary,
      search: new SecretSearch(canary.text, "promised"),
    }));
  }

  get findings(): readonly string[] {
    return [...this.#found];
  }

  /** Finds those that the readers of this text must not see. */
  look(where: string, text: string, isForbidden: (canary: Canary) => boolean): void {
    for (const canary of this.#planted.filter(isForbidden))
      for (const form of canary.search.in(text)) this.#found.add(`${canary.name} is in ${where} (${form})`);
  }

  /** The forms of any secret that are in a text. */
  in(text: string): readonly string[] {
    return this.#planted
      .filter(({ isSecret }) => isSecret)
      .flatMap(({ name, search }) => search.in(text).map((form) => `${name}, ${form}`));
  }
}

export const anySecret = ({ isSecret }: Canary): boolean => isSecret;
export const anyCanary = (): boolean => true;
