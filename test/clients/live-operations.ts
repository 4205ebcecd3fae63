/** Changes to some pets. */
export const PET_CHANGED = `subscription PetChanged($ids: [ID!], $after: String) {
  petChanged(filter: { ids: $ids }, after: $after) {
    cursor
    kind
    petId
    pet { id name status }
  }
}`;

/** A change to a pet. */
export interface PetChange {
  readonly cursor: string;
  readonly kind: 'CREATED' | 'UPDATED' | 'DELETED';
  readonly petId: string;
  readonly pet: { readonly id: string; readonly name: string; readonly status: string } | null;
}
