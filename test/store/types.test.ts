import { getNamedType, type GraphQLNamedType, isObjectType } from 'graphql';
import { describe, expect, it } from 'vitest';

import { getDatamodel } from '../../src/store/generated/pothos.ts';
import { TABLES } from '../../src/store/generated/tables.ts';
import { petStore } from '../../src/store/index.ts';

const { schema, repositories } = petStore;
const { models } = getDatamodel().datamodel;

/** Returns the names of the types of a type's fields; for a connection, the name of its row type. */
function typesIn(type: GraphQLNamedType | null | undefined): string[] {
  const fields = isObjectType(type) ? Object.values(type.getFields()) : [];
  return fields.map((field) => {
    const named = getNamedType(field.type);
    const { nodes } = isObjectType(named) ? named.getFields() : {};
    return (nodes ? getNamedType(nodes.type) : named).name;
  });
}

const OF_THE_GATEWAY = new Set(['IdempotencyKey', 'Change']);
const stored = Object.values(TABLES).filter(({ type }) => !OF_THE_GATEWAY.has(type));

describe.each(stored.map(({ type, columns }) => [type, columns] as const))(
  'the type %s',
  (name, columns) => {
    const type = schema.getType(name);
    const place = `in the schema.ts of ${name}`;

    it('has a field for each column of its table', () => {
      const fields = isObjectType(type) ? type.getFields() : {};
      const missing = Object.keys(columns).filter((column) => !Object.hasOwn(fields, column));
      expect(missing, `expose these ${place}`).toEqual([]);
    });

    it('has a field for each relation', () => {
      const related = (models[name]?.fields ?? []).flatMap((field) =>
        field.kind === 'object' ? [field.type] : [],
      );
      const missing = related.filter((other) => !typesIn(type).includes(other));
      expect(missing, `add a relatedRow, or a listBy, of these ${place} or their own`).toEqual([]);
    });

    it('can be read by id, listed, found by nodeId and subscribed to', () => {
      const query = schema.getQueryType();
      const read = typesIn(query).filter((found) => found === name);
      expect(read, `add fields.row and fields.list ${place}`).toHaveLength(2);
      const nodes = isObjectType(type) ? type.getInterfaces().map((one) => one.name) : [];
      expect(nodes, `add Node to the interfaces ${place}`).toContain('Node');
      expect([...repositories.keys()], `call fields.follow ${place}`).toContain(name);
    });
  },
);
