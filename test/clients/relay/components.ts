import { createElement, type ReactElement } from 'react';
import { useLazyLoadQuery, usePaginationFragment, useRefetchableFragment } from 'react-relay';

import {
  categoryQuery,
  petFragment,
  petQuery,
  petsOfCategory,
  petsOfStore,
  storeQuery,
} from './pets.ts';

interface Pet {
  readonly name: string;
  readonly inventory: { readonly quantity: number };
}
interface Pets {
  readonly pets: {
    readonly connectionId: string;
    readonly edges: readonly { readonly node: Pet }[];
  };
}

interface Options {
  readonly fetchPolicy?: 'network-only';
  readonly onComplete: (error: Error | null) => void;
}
/** A list on a screen, with the pets that it has so far. */
export interface ShownList {
  readonly data: Pets;
  readonly hasNext: boolean;
  loadNext(count: number, options: Options): void;
}
/** A pet on a screen. */
export interface ShownPet {
  readonly data: Pet;
  refetch(variables: object, options: Options): void;
}

// An app imports these types from the files that the compiler generates.
interface PetsKey {
  readonly ' $data'?: Pets;
  readonly ' $fragmentSpreads': unknown;
}
interface PetKey {
  readonly ' $data'?: Pet;
  readonly ' $fragmentSpreads': unknown;
}
interface PetQuery {
  readonly variables: { readonly id: string };
  readonly response: { readonly pet: PetKey };
}
interface CategoryQuery {
  readonly variables: { readonly id: string };
  readonly response: { readonly category: PetsKey };
}
interface StoreQuery {
  readonly variables: { readonly categoryId: string };
  readonly response: PetsKey;
}

/** A nested list. */
export function CategoryPets(variables: { readonly id: string }): ReactElement<ShownList> {
  const { category } = useLazyLoadQuery<CategoryQuery>(categoryQuery, variables);
  return createElement('list', usePaginationFragment(petsOfCategory, category));
}

/** A list of the store. */
export function StorePets(variables: { readonly categoryId: string }): ReactElement<ShownList> {
  const store = useLazyLoadQuery<StoreQuery>(storeQuery, variables);
  return createElement('list', usePaginationFragment(petsOfStore, store));
}

/** A pet that can be read again by itself. */
export function OnePet(variables: { readonly id: string }): ReactElement<ShownPet> {
  const { pet } = useLazyLoadQuery<PetQuery>(petQuery, variables);
  const [data, refetch] = useRefetchableFragment(petFragment, pet);
  return createElement('pet', { data, refetch });
}
