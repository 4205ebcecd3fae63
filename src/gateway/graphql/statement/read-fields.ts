import { type collectFields, collectSubFields } from '@graphql-tools/utils';
import {
  type FieldNode,
  getNamedType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  isObjectType,
} from 'graphql';

import type { Part } from '../../kinds/kind.ts';
import type { Slot } from './slots.ts';

/** Writes the SQL of a value as JSON. The selection has already been read; the scope provides the arguments. */
export type Write<Scope> = (scope: Scope) => readonly Part[];

/** State that is kept while a selection is being read. */
export interface Reading {
  readonly schema: GraphQLSchema;
  readonly fragments: Parameters<typeof collectFields>[1];
  readonly variables: Record<string, unknown>;
  readonly slots: Slot[];
  relations: number;
}

/** Thrown for a field that cannot be written in SQL. */
export class Unsupported extends Error {}

export type Nodes = [FieldNode, ...FieldNode[]];
export type Field = GraphQLField<unknown, unknown>;
type Read<Scope> = (field: Field, nodes: Nodes) => Write<Scope>;

/** Reads fields as the members of a JSON object. */
export function readMembers<Scope>(
  type: GraphQLObjectType,
  fields: ReadonlyMap<string, FieldNode[]>,
  read: Read<Scope>,
): Write<Scope> {
  const members = Array.from(fields, ([key, [first, ...others]], index): Write<Scope> => {
    const start = `${index === 0 ? '{' : ','}"${key}":`;
    const name = first?.name.value ?? '';
    if (name === '__typename') return () => [`${start}"${type.name}"`];
    const field = type.getFields()[name];
    if (!field || !first) throw new Unsupported();
    const write = read(field, [first, ...others]);
    return (scope) => [start, ...write(scope)];
  });
  if (members.length === 0) return () => ['{}'];
  return (scope) => [...members.flatMap((write) => write(scope)), '}'];
}

/** Reads the selections of a field whose type is an object. */
export function readInside<Scope>(
  { schema, fragments, variables }: Reading,
  { type }: Field,
  nodes: Nodes,
  read: Read<Scope>,
): Write<Scope> {
  const named = getNamedType(type);
  if (!isObjectType(named)) throw new Unsupported();
  const { fields } = collectSubFields(schema, fragments, variables, named, nodes);
  return readMembers(named, fields, read);
}
