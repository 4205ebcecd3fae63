import {
  buildSchema,
  getNamedType,
  type GraphQLField,
  type GraphQLSchema,
  isInterfaceType,
  isNonNullType,
  isObjectType,
} from 'graphql';

/** A field of a type of the store. */
export interface ModelField {
  readonly name: string;
  /** Its type as GraphQL writes it; a connection as the list of its rows. */
  readonly type: string;
  readonly description: string;
  /** The type of the store that it leads to; undefined if it is a value. */
  readonly target?: string | undefined;
  /** To how many rows it leads. */
  readonly count: 'one' | 'maybe one' | 'many';
}

/** A type of the store: one with rows of its own. */
export interface ModelType {
  readonly name: string;
  readonly description: string;
  readonly fields: readonly ModelField[];
}

/** Returns the name of the type of a connection's rows; undefined for any other type. */
function rowsOf({ type }: GraphQLField<unknown, unknown>): string | undefined {
  const connection = getNamedType(type);
  const nodes = isObjectType(connection) ? connection.getFields()['nodes'] : undefined;
  return nodes && getNamedType(nodes.type).name;
}

function toField(field: GraphQLField<unknown, unknown>, names: ReadonlySet<string>): ModelField {
  const rows = rowsOf(field);
  const target = rows ?? getNamedType(field.type).name;
  return {
    name: field.name,
    type: rows ? `[${rows}]` : String(field.type),
    description: field.description ?? '',
    target: names.has(target) ? target : undefined,
    count: rows ? 'many' : isNonNullType(field.type) ? 'one' : 'maybe one',
  };
}

/** Returns the types of the store, which implement Node, with their fields except those of Node. */
function toModel(schema: GraphQLSchema): ModelType[] {
  const node = schema.getType('Node');
  if (!isInterfaceType(node)) return [];
  const types = schema.getPossibleTypes(node);
  const names = new Set(types.map(({ name }) => name));
  return types.map((type) => ({
    name: type.name,
    description: type.description ?? '',
    fields: Object.values(type.getFields())
      .filter(({ name }) => !(name in node.getFields()))
      .map((field) => toField(field, names)),
  }));
}

/** Reads the names of the subscriptions from the printed schema. */
export const readSubscriptions = (schema: string): string[] =>
  Object.keys(
    buildSchema(schema, { assumeValidSDL: true }).getSubscriptionType()?.getFields() ?? {},
  );

/** Reads the types of the store from the printed schema. */
export const readModel = (schema: string): ModelType[] =>
  toModel(buildSchema(schema, { assumeValidSDL: true }));
