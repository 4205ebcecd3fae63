import { readFile } from 'node:fs/promises';

import { describe, expect, it } from 'vitest';

import {
  GRAPHQL_LIFECYCLES,
  type Lifecycle,
  REST_LIFECYCLES,
  toDay,
} from '../../src/contract/lifecycle.ts';
import { findGraphqlBreaks, findRestBreaks } from '../support/breaking-changes.ts';
import { complaintsAbout, entriesOf, newestVersion } from '../support/changelog.ts';
import { readCurrent, readReleased } from '../support/contract.ts';

const changelog = await readFile(new URL('../../CHANGELOG.md', import.meta.url), 'utf8');
const released = await readReleased();
const current = readCurrent();

describe('the changelog', () => {
  const lifecycles = [...Object.entries<Lifecycle>(REST_LIFECYCLES), ...GRAPHQL_LIFECYCLES];

  it.each(lifecycles.filter(([, { deprecatedSince }]) => deprecatedSince))(
    'has the date of deprecation of %s',
    (name, { deprecatedSince = new Date(0) }) => {
      const entries = entriesOf(changelog).filter((entry) => entry.includes(`\`${name}\``));
      expect(entries).toContainEqual(expect.stringContaining(`since ${toDay(deprecatedSince)}`));
    },
  );

  it.each(lifecycles.filter(([, { stability }]) => stability !== 'stable'))(
    'has the stability of %s',
    (name, { stability }) => {
      const entries = entriesOf(changelog).filter((entry) => entry.includes(`\`${name}\``));
      expect(entries).toContainEqual(expect.stringContaining(`is ${stability}`));
    },
  );

  it('begins with the version of test/released', () => {
    expect(released.version).toBe(newestVersion(changelog));
  });

  it('allows exactly the breaking changes since the last release', async () => {
    const breaks = [
      ...(await findGraphqlBreaks(released.graphql, current.graphql)),
      ...findRestBreaks(released.openapi, current.openapi),
    ];
    expect(complaintsAbout(breaks, changelog)).toEqual([]);
  });
});

describe('a change of the GraphQL schema', () => {
  const SDL = `
    directive @requiresOptIn(feature: String!) repeatable on
      FIELD_DEFINITION | ARGUMENT_DEFINITION | INPUT_FIELD_DEFINITION | ENUM_VALUE
    interface Error { message: String! }
    type NoPet implements Error { message: String! }
    type Taken implements Error { message: String! }
    enum Status { FREE SOLD HELD @requiresOptIn(feature: "held") }
    enum ErrorCode { NO_PET }
    enum SortField { ID NAME }
    input NewPet { name: String! status: Status = FREE age: Int @deprecated hue: Int @requiresOptIn(feature: "hue") }
    type Pet { id: ID! name: String! nick: String @deprecated status: Status! toys: Toys @deprecated mood(at: Int): Mood @requiresOptIn(feature: "mood") }
    type Mood { good: Boolean! }
    type Toys { count: Int! }
    union CreatePetResult = NoPet | Pet
    type Query { pet(id: ID!, like: String @deprecated): Pet pets(first: Int = 20, by: SortField): [Pet!]! code(near: Int @requiresOptIn(feature: "near")): ErrorCode }
    type Mutation { createPet(input: NewPet!): CreatePetResult! anyError: Error! taken: Taken }
  `;

  /** The names that break if `before` is replaced; a star marks announced changes. */
  async function breakingNames(before: string, after: string): Promise<string[]> {
    expect(SDL).toContain(before);
    const changes = await findGraphqlBreaks(SDL, SDL.replaceAll(before, after));
    return [...new Set(changes.map(({ name, announced }) => (announced ? `${name} *` : name)))];
  }

  it.each([
    ['a field goes', 'name: String! nick', 'nick', ['Pet.name']],
    ['a field may be null', 'name: String! nick', 'name: String nick', ['Pet.name']],
    ['a type of a field', 'status: Status! toys', 'status: String! toys', ['Pet.status']],
    ['an argument goes', 'pets(first: Int = 20, ', 'pets(', ['Query.pets(first:)']],
    ['an argument is needed', 'pets(first: Int = 20', 'pets(first: Int!', ['Query.pets(first:)']],
    ['a new argument is needed', '(first:', '(in: ID!, first:', ['Query.pets(in:)']],
    ['a default', 'Int = 20', 'Int = 10', ['Query.pets(first:)']],
    ['a default of an input', 'Status = FREE', 'Status = SOLD', ['NewPet.status']],
    ['a field of an input goes', 'status: Status = FREE age', 'age', ['NewPet.status']],
    ['a field of an input is needed', 'age: Int', 'tag: Int! age: Int', ['NewPet.tag']],
    ['a value of an enum goes', 'FREE SOLD', 'FREE', ['Status.SOLD']],
    ['a value of an enum is new', 'FREE SOLD', 'FREE SOLD LOST', ['Status.LOST']],
    ['a value that only inputs use goes', 'ID NAME', 'ID', ['SortField.NAME']],
    ['a member of a union goes', '= NoPet | Pet', '= Pet', ['CreatePetResult']],
    ['a member of a union is new', '= NoPet | Pet', '= NoPet | Pet | Toys', ['CreatePetResult']],
    ['an error is none', 'NoPet implements Error', 'NoPet', ['NoPet']],
    ['a type goes', 'Taken', 'Gone', ['Taken', 'Mutation.taken']],
    ['a deprecated field goes', 'nick: String @deprecated', '', ['Pet.nick *']],
    ['a deprecated argument goes', ', like: String @deprecated', '', ['Query.pet(like:) *']],
    ['a deprecated field of an input goes', 'age: Int @deprecated', '', ['NewPet.age *']],
    ['what a deprecated field led to', 'toys: Toys @deprecated', '', ['Pet.toys *']],
    ['its type', 'Toys', 'Things', ['Toys *', 'Pet.toys *']],
    ['a part of that', 'count: Int!', 'count: Int', ['Toys.count *']],
    ['an experimental field goes', 'mood(at: Int): Mood', 'new: Mood', ['Pet.mood *']],
    ['its argument', 'mood(at: Int)', 'mood', ['Pet.mood(at:) *']],
    ['its type', 'Mood', 'Moods', ['Mood *', 'Pet.mood *']],
    ['an experimental argument', 'near: Int', 'near: ID', ['Query.code(near:) *']],
    ['an experimental field of an input', 'hue: Int', 'hue: Int!', ['NewPet.hue *']],
    ['an experimental value goes', 'HELD', 'KEPT', ['Status.HELD *', 'Status.KEPT']],
    ['what was stable', 'id: ID! name', 'id: ID! @requiresOptIn(feature: "id") name', ['Pet.id']],
    ['a stable argument', '= 20', '= 20 @requiresOptIn(feature: "first")', ['Query.pets(first:)']],
  ])('breaks callers: %s', async (_change, before, after, names) => {
    expect(await breakingNames(before, after)).toEqual(names);
  });

  it.each([
    ['a field', 'nick:', 'age: Int nick:'],
    ['a field that is never null', 'nick: String', 'nick: String!'],
    ['a deprecation', 'name: String! nick', 'name: String! @deprecated nick'],
    ['a deprecated argument', 'first: Int = 20', 'first: Int = 20 @deprecated'],
    [
      'a reason of a deprecation',
      'nick: String @deprecated',
      'nick: String @deprecated(reason: "x")',
    ],
    ['an end of a deprecation', 'nick: String @deprecated', 'nick: String'],
    ['an experiment', 'nick:', 'age(by: Int @requiresOptIn(feature: "by")): Int nick:'],
    ['an experiment that is stable', '@requiresOptIn(feature: "near")', ''],
    ['an experimental field that is stable', '@requiresOptIn(feature: "mood")', ''],
    ['an experimental input that is stable', '@requiresOptIn(feature: "hue")', ''],
    ['an experimental value that is stable', '@requiresOptIn(feature: "held")', ''],
    ['another name of an experiment', '"near"', '"by"'],
    ['a description', 'type Pet', '"An animal." type Pet'],
    ['an argument', '(first:', '(in: ID, first:'],
    ['a wider argument', 'pet(id: ID!,', 'pet(id: ID,'],
    ['a field of an input', 'age: Int', 'tag: Int = 1 age: Int'],
    ['a type', 'type Query', 'type New { id: ID! } type Query'],
    ['an error of a mutation', '= NoPet | Pet', '= NoPet | Taken | Pet'],
    ['a code of an error', 'NO_PET', 'NO_PET NO_TOY'],
    ['a value of an enum that only inputs use', 'ID NAME', 'ID NAME AGE'],
  ])('breaks no caller: %s', async (_change, before, after) => {
    expect(await breakingNames(before, after)).toEqual([]);
  });
});

const answer = (schema: object): object => ({
  description: 'It.',
  headers: { ETag: { schema: { type: 'string' } } },
  content: { 'application/json': { schema } },
});

// The tables name the places of the document that are read and written.
// oxlint-disable-next-line typescript/no-explicit-any
type Part = any;

/** Copies a document with another value at a place; undefined removes it. */
function plant(document: object, place: string, value: unknown): object {
  const keys = place.split(' ');
  const last = keys.pop() ?? '';
  const copy = structuredClone(document);
  let part: Part = copy;
  for (const key of keys) part = part[key];
  if (value === undefined) delete part[last];
  else part[last] = value;
  return copy;
}

const DOCUMENT = {
  openapi: '3.0.3',
  info: { title: 'Pets', version: '1.0.0' },
  paths: {
    '/pet': {
      get: {
        operationId: 'getPet',
        deprecated: true,
        'x-sunset': '2999-12-31',
        parameters: [
          { name: 'id', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 9 } },
          { name: 'unit', in: 'query', schema: { type: 'string', enum: ['kg', 'lb'] } },
          {
            name: 'like',
            in: 'query',
            required: true,
            schema: { $ref: '#/components/schemas/Name' },
          },
          { name: 'ids', in: 'query', schema: { type: 'array', items: { type: 'integer' } } },
        ],
        responses: {
          200: answer({ $ref: '#/components/schemas/Pet' }),
          304: { description: 'It.' },
          404: answer({ $ref: '#/components/schemas/Error' }),
        },
      },
    },
    '/pets': {
      get: { responses: { 200: { $ref: '#/components/responses/Pets' } } },
      post: { operationId: 'createPet', responses: { 200: answer({ type: 'object' }) } },
    },
  },
  components: {
    responses: { Pets: answer({ $ref: '#/components/schemas/Pets' }) },
    schemas: {
      Name: { type: 'string', minLength: 1, maxLength: 9 },
      Pet: {
        type: 'object',
        required: ['id', 'status'],
        properties: {
          id: { type: 'integer', format: 'int64' },
          name: { type: 'string', nullable: true },
          status: { type: 'string', enum: ['available', 'sold'] },
          parent: { $ref: '#/components/schemas/Pet' },
          tags: { type: 'array', items: { type: 'object', properties: { id: {} } } },
        },
      },
      Pets: { type: 'array', items: { $ref: '#/components/schemas/Pet' } },
      Error: {
        type: 'object',
        required: ['code'],
        properties: {
          code: { type: 'string', enum: ['NOT_FOUND'] },
          severity: { type: 'string', enum: ['LOW'] },
        },
      },
      NewPet: { type: 'object', properties: { name: { type: 'string' } } },
    },
  },
};
const GET = 'paths /pet get';
const ID = `${GET} parameters 0`;
const UNIT = `${GET} parameters 1`;
const LIKE = 'components schemas Name';
const IDS = `${GET} parameters 3`;
const OK = `${GET} responses 200`;
const PET = 'components schemas Pet';
const ERROR = 'components schemas Error properties';
const NEW_PET = 'components schemas NewPet';
const NEW = { name: 'new', in: 'query', schema: { type: 'string' } };

describe('a change of REST', () => {
  /** The names that break if the value at a place changes. */
  function breakingNames(place: string, value: unknown): string[] {
    const changes = findRestBreaks(DOCUMENT, plant(DOCUMENT, place, value));
    return changes.map(({ name }) => name);
  }

  it.each([
    ['a path goes', 'paths /pet', undefined, 'operation-removed'],
    ['an operation goes', GET, undefined, 'operation-removed'],
    ['another name of it', `${GET} operationId`, 'pet', 'operation-id-changed'],
    ['its name goes', `${GET} operationId`, undefined, 'operation-id-changed'],
    ['a key that it needs', `${GET} security`, [{ key: [] }], 'security-added'],
    ['a parameter goes', UNIT, NEW, 'parameter-removed'],
    ['a parameter moves', `${UNIT} in`, 'header', 'parameter-removed'],
    ['a parameter is needed', `${ID} required`, true, 'parameter-required'],
    [
      'a new one is needed',
      `${GET} parameters 4`,
      { ...NEW, required: true },
      'parameter-required',
    ],
    ['a type of a parameter', `${ID} schema type`, 'string', 'parameter-narrowed'],
    ['a format of a parameter', `${ID} schema format`, 'int32', 'parameter-narrowed'],
    ['a larger minimum', `${ID} schema minimum`, 2, 'parameter-narrowed'],
    ['a smaller maximum', `${ID} schema maximum`, 8, 'parameter-narrowed'],
    ['a first minimum', `${UNIT} schema minLength`, 1, 'parameter-narrowed'],
    ['a first maximum', `${UNIT} schema maxLength`, 9, 'parameter-narrowed'],
    ['a minimum that is out', `${ID} schema exclusiveMinimum`, true, 'parameter-narrowed'],
    ['a larger minimum length', `${LIKE} minLength`, 2, 'parameter-narrowed'],
    ['a smaller maximum length', `${LIKE} maxLength`, 8, 'parameter-narrowed'],
    ['a pattern', `${LIKE} pattern`, '^a', 'parameter-narrowed'],
    ['a value of a parameter goes', `${UNIT} schema enum`, ['kg'], 'parameter-narrowed'],
    ['a list of its values', `${ID} schema enum`, [1, 2], 'parameter-narrowed'],
    ['an item of a parameter', `${IDS} schema items type`, 'string', 'parameter-narrowed'],
    ['a success goes', OK, undefined, 'status-removed'],
    ['a 304 goes', `${GET} responses 304`, undefined, 'status-removed'],
    ['a content type goes', `${OK} content`, { 'text/plain': {} }, 'content-removed'],
    ['a header goes', `${OK} headers ETag`, undefined, 'header-removed'],
    ['a header of an error goes', `${GET} responses 404 headers`, undefined, 'header-removed'],
    ['a value of an error', `${ERROR} severity enum 1`, 'HIGH', 'value-added'],
  ])('breaks callers: %s', (_change, place, value, kind) => {
    expect(breakingNames(place, value)).toEqual([`GET /pet ${kind}`]);
  });

  it.each([
    ['a property goes', `${PET} properties name`, undefined, 'property-removed'],
    ['a property may be left out', `${PET} required`, ['id'], 'property-optional'],
    ['a property may be null', `${PET} properties id nullable`, true, 'null-added'],
    ['a type', `${PET} properties id type`, 'string', 'type-changed'],
    ['a format', `${PET} properties id format`, undefined, 'type-changed'],
    ['a choice of types', `${PET} properties id oneOf`, [{}], 'type-changed'],
    ['a new value', `${PET} properties status enum 2`, 'lost', 'value-added'],
    ['any value', `${PET} properties status enum`, undefined, 'value-added'],
    ['a type of items', `${PET} properties tags items type`, 'string', 'type-changed'],
    ['a property of items goes', `${PET} properties tags items properties`, {}, 'property-removed'],
  ])('breaks callers of every response that has it: %s', (_change, place, value, kind) => {
    expect(breakingNames(place, value)).toEqual([`GET /pet ${kind}`, `GET /pets ${kind}`]);
  });

  it.each([
    ['goes', NEW_PET, undefined, 'schema-removed'],
    ['has another type', `${NEW_PET} type`, 'array', 'type-changed'],
    ['loses a property', `${NEW_PET} properties name`, undefined, 'property-removed'],
    [
      'has a property of another type',
      `${NEW_PET} properties name type`,
      'integer',
      'type-changed',
    ],
  ])('breaks callers although no response has the schema: %s', (_change, place, value, kind) => {
    expect(breakingNames(place, value)).toEqual([`components/schemas/NewPet ${kind}`]);
  });

  it('breaks callers if every operation needs a key', () => {
    expect(breakingNames('security', [{ key: [] }])).toEqual([
      'GET /pet security-added',
      'GET /pets security-added',
      'POST /pets security-added',
    ]);
  });

  it('breaks callers if a response has another schema', () => {
    const $ref = '#/components/schemas/NewPet';
    expect(breakingNames(`${OK} content application/json schema`, { $ref })).toEqual(
      ['id', 'status', 'parent', 'tags'].map(() => 'GET /pet property-removed'),
    );
  });

  it.each([
    ['a path', 'paths /new', { get: { responses: { 200: answer({}) } } }],
    ['an operation', 'paths /pet post', { responses: { 200: answer({}) } }],
    ['a name of an operation', 'paths /pets get operationId', 'listPets'],
    ['a deprecation', 'paths /pets get deprecated', true],
    ['a description', `${GET} description`, 'One pet.'],
    ['a parameter', `${GET} parameters 4`, NEW],
    ['a parameter that is not needed', `${GET} parameters 2 required`, false],
    ['a smaller minimum', `${ID} schema minimum`, 0],
    ['a larger maximum', `${ID} schema maximum`, 10],
    ['no minimum', `${ID} schema minimum`, undefined],
    ['a smaller minimum length', `${LIKE} minLength`, 0],
    ['a larger maximum length', `${LIKE} maxLength`, 10],
    ['a value of a parameter', `${UNIT} schema enum 2`, 'g'],
    ['any value of a parameter', `${UNIT} schema enum`, undefined],
    ['a status', `${GET} responses 429`, answer({})],
    ['a status that goes', `${GET} responses 404`, undefined],
    ['a content type', `${OK} content text/plain`, {}],
    ['a header', `${OK} headers Age`, { schema: { type: 'integer' } }],
    ['a property', `${PET} properties age`, { type: 'integer' }],
    ['a property that is always there', `${PET} required 2`, 'name'],
    ['a property that is never null', `${PET} properties name nullable`, undefined],
    ['a value of a property that goes', `${PET} properties status enum`, ['sold']],
    ['a limit of a property', `${PET} properties name maxLength`, 9],
    ['a code of an error', `${ERROR} code enum 1`, 'GONE'],
    ['a schema', 'components schemas Toy', { type: 'object' }],
    [
      'a schema in place of its name',
      `${GET} parameters 2 schema`,
      { ...DOCUMENT.components.schemas.Name },
    ],
  ])('breaks no caller: %s', (_change, place, value) => {
    expect(breakingNames(place, value)).toEqual([]);
  });

  it('breaks no caller if an operation is removed after its sunset', () => {
    const ended = plant(DOCUMENT, `${GET} x-sunset`, '2026-01-01');
    expect(findRestBreaks(ended, plant(ended, GET, undefined))).toEqual([]);
  });

  it('breaks callers if an operation that is not deprecated is removed after its sunset', () => {
    const ended = plant(DOCUMENT, `${GET} x-sunset`, '2026-01-01');
    const stable = plant(ended, `${GET} deprecated`, undefined);
    expect(findRestBreaks(stable, plant(stable, GET, undefined))).toHaveLength(1);
  });

  it.each([
    ['a document without paths', 'paths', undefined, 'undefined'],
    ['the body of a request', `${GET} requestBody`, {}, 'get of /pet'],
    ['the parameters of a path', 'paths /pet parameters', [NEW], 'parameters of /pet'],
    ['a name of nothing', `${OK} content`, { $ref: '#/components/none' }, 'no #/components/none'],
  ])('is found in %s', (_flaw, place, value, message) => {
    expect(() => breakingNames(place, value)).toThrow(message);
  });
});

const unreleased = (entry: string): string =>
  `# Changelog\n\n## Unreleased\n\n### Removed\n\n${entry}\n\n## 1.0.0 - 2026-11-21\n`;

describe('an entry of the changelog', () => {
  const change = { name: 'Pet.name', message: 'Pet.name went.', announced: true };
  const sudden = { ...change, announced: false };

  it('allows the change that it names', () => {
    const entry = '- **Breaking** `Pet.name`: ask for\n  `Pet.title`.';
    expect(complaintsAbout([change], unreleased(entry))).toEqual([]);
  });

  it('allows several', () => {
    const entry = '- **Breaking** `Pet.name`, `Pet.age`: they are gone.';
    expect(complaintsAbout([change, { ...change, name: 'Pet.age' }], unreleased(entry))).toEqual(
      [],
    );
  });

  it('allows an unannounced change only if it says so', () => {
    const quiet = unreleased('- **Breaking** `Pet.name`: ask for `Pet.title`.');
    const plain = unreleased('- **Breaking, without notice** `Pet.name`: ask for `Pet.title`.');
    expect(complaintsAbout([sudden], quiet)).toEqual([
      'Pet.name went. CHANGELOG.md does not allow it with "- **Breaking, without notice** `Pet.name`: why".',
    ]);
    expect(complaintsAbout([sudden], plain)).toEqual([]);
  });

  it.each([
    ['it is missing', ''],
    ['it is of another change', '- **Breaking** `Pet`: it is gone.'],
    ['it gives no reason', '- **Breaking** `Pet.name`:'],
    ['it does not name the change first', '- **Breaking**: `Pet.name` is gone.'],
    [
      'it is of an earlier release',
      '## 0.9.0 - 2026-01-01\n\n- **Breaking** `Pet.name`: it is gone.',
    ],
  ])('allows nothing if %s', (_flaw, entry) => {
    expect(complaintsAbout([change], unreleased(entry))).toContainEqual(
      expect.stringContaining('Pet.name went.'),
    );
  });

  it('must be removed with the change that it allowed', () => {
    expect(complaintsAbout([], unreleased('- **Breaking** `Pet.name`: it is gone.'))).toEqual([
      'CHANGELOG.md allows a change of Pet.name that there is not.',
    ]);
  });

  it('must have a form that allows something', () => {
    expect(complaintsAbout([], unreleased('- **BREAKING** Pet.name is gone.'))).toHaveLength(1);
  });
});
