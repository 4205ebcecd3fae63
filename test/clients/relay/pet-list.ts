import { createElement, type ReactElement } from 'react';
import { useLazyLoadQuery, usePaginationFragment } from 'react-relay';

import { categoryQuery, petsOfCategory, petsOfStore, storeQuery } from './pets.ts';

/** The pets that a list has so far. */
export interface Pets {
  readonly pets: {
    readonly connectionId: string;
    readonly edges: readonly {
      readonly node: { readonly name: string; readonly inventory: { readonly quantity: number } };
    }[];
  };
}

// An app imports these types from the files that the compiler generates.
interface PetsKey {
  readonly ' $data'?: Pets;
  readonly ' $fragmentSpreads': unknown;
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
export function CategoryPets(variables: { readonly id: string }): ReactElement {
  const { category } = useLazyLoadQuery<CategoryQuery>(categoryQuery, variables);
  return createElement('list', usePaginationFragment(petsOfCategory, category));
}

/** A list of the store. */
export function StorePets(variables: { readonly categoryId: string }): ReactElement {
  const store = useLazyLoadQuery<StoreQuery>(storeQuery, variables);
  return createElement('list', usePaginationFragment(petsOfStore, store));
}
