import { expect, it } from 'vitest';

import { makeArguments, MUTATIONS } from '../support/crud.ts';
import { gateway, useGateway } from '../support/gateway.ts';

useGateway();

const send = (name: string, args: string) =>
  gateway.graphql(`mutation { changed: ${name}(${args}) { __typename } }`);

const AS_DATA = { data: { changed: { __typename: expect.any(String) } } };

it.each(MUTATIONS)(
  '%s returns what it refuses as data: ids that no row has, and the same arguments again',
  async (name) => {
    const { args } = await makeArguments(gateway, name);
    const unknown = args.replaceAll(/"\d+"/g, '"999999"');
    for (const one of [unknown, args, args]) expect(await send(name, one)).toMatchObject(AS_DATA);
  },
);
