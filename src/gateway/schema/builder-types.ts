import type { CallContext } from '../context.ts';

/** The types with which a store makes its builder. */
export interface StoreTypes {
  /** Those that Pothos' generator wrote for its models. */
  readonly PrismaTypes: object;
}

/** The types of the builder of a store. */
export interface BuilderTypes<Types extends StoreTypes> {
  Context: CallContext;
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

/** The builder of a store. */
export type Builder<Types extends StoreTypes = StoreTypes> = PothosSchemaTypes.SchemaBuilder<
  PothosSchemaTypes.ExtendDefaultTypes<BuilderTypes<Types>>
>;
