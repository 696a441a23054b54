import { SecretSearch } from "./secret-traces.ts";

export interface Canary {
  /** Where it was put, such as `Secret of team-a`. */
  readonly name: string;
  readonly owner: string;
  readonly text: string;
  /** A secret is for no reader; other texts are for their owner and the operator. */
  readonly isSecret: boolean;
}

/** Looks for the secrets and private texts of tenants, in all forms that a program could give them. */
export class Canaries {
  readonly #planted: readonly (Canary & { readonly search: SecretSearch })[];
  readonly #found = new Set<string>();
  readonly #seen = new Set<string>();

  constructor(planted: readonly Canary[]) {
    this.#planted = planted.map((canary) => ({
      ...canary,
      search: new SecretSearch(canary.text),
    }));
  }

  get findings(): readonly string[] {
    return [...this.#found];
  }

  /** Searches content for canaries that its readers must not see, and notes the others, which show that the search works. */
  look(where: string, content: string | Buffer, isForbidden: (canary: Canary) => boolean): void {
    for (const canary of this.#planted) {
      const forms = canary.search.in(content);
      if (isForbidden(canary))
        for (const form of forms) this.#found.add(`${canary.name} is in ${where} (${form})`);
      else if (forms.length > 0) this.#seen.add(`${canary.name} is in ${where}`);
    }
  }

  /** Expected sights that are missing: nothing was read there, or the search does not work. */
  unseen(expected: readonly string[]): readonly string[] {
    return expected.filter((sight) => !this.#seen.has(sight)).map((sight) => `not seen: ${sight}`);
  }
}

export const anySecret = ({ isSecret }: Canary): boolean => isSecret;
export const anyCanary = (): boolean => true;
