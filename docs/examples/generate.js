// Writes the parts of the schema that Apollo and urql need, in the formats that their guides describe.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';

import { buildSchema, introspectionFromSchema, isAbstractType } from 'graphql';

const schema = buildSchema(readFileSync('../../schema.graphql', 'utf8'));
const abstractTypes = Object.values(schema.getTypeMap()).filter(isAbstractType);
const possibleTypes = Object.fromEntries(
  abstractTypes.map((type) => [type.name, schema.getPossibleTypes(type).map(({ name }) => name)]),
);

mkdirSync('generated', { recursive: true });
writeFileSync('generated/possible-types.json', JSON.stringify(possibleTypes));
writeFileSync(
  'generated/schema.json',
  JSON.stringify(introspectionFromSchema(schema, { descriptions: false })),
);
