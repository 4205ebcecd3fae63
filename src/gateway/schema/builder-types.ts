import type { CallContext } from '../context.ts';

/** The types that a store passes to its builder. */
export interface StoreTypes {
  /** The types that Pothos' generator wrote for the models. */
  readonly PrismaTypes: object;
}

/** The full types of a store's builder. */
export interface BuilderTypes<Types extends StoreTypes, Context extends object = CallContext> {
  Context: Context;
  PrismaTypes: Types['PrismaTypes'];
  Scalars: {
    ID: { Input: string; Output: bigint | string };
    DateTime: { Input: Date; Output: Date };
    Date: { Input: Date; Output: Date };
  };
  Connection: { totalCount: () => Promise<number> };
  DefaultFieldNullability: false;
  DefaultEdgesNullability: false;
  DefaultNodeNullability: false;
}

export type Builder<
  Types extends StoreTypes = StoreTypes,
  Context extends object = CallContext,
> = PothosSchemaTypes.SchemaBuilder<
  PothosSchemaTypes.ExtendDefaultTypes<BuilderTypes<Types, Context>>
>;
