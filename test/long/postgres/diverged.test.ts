import { afterAll, beforeAll, expect, it } from 'vitest';

import { makeCategory, makePet } from '../../support/make.ts';
import { createStoreOn } from '../../support/postgres.ts';
import {
  type ReplicatedGateway,
  send,
  startReplicatedGateway,
} from '../../support/replicated-gateway.ts';
import {
  type ReplicatedServer,
  type Replication,
  startReplication,
} from '../../support/replication.ts';

const WAIT = { timeout: 20_000, interval: 50 };
const READS = 40;

let replication: Replication;
let [first, second, third]: ReplicatedServer[] = [];
let gateway: ReplicatedGateway;
let petId: string;
beforeAll(async () => {
  // Asynchronous: what only one replica has received is lost if the other one is promoted.
  replication = await startReplication();
  [first, second, third] = replication.servers;
  const url = await createStoreOn(first?.url ?? '');
  gateway = await startReplicatedGateway({
    DATABASE_URL: replication.multiHostUrl(url),
    DATABASE_REPLICA_URLS: replication.multiHostUrl(url),
  });
  petId = await makePet(gateway, { categoryId: await makeCategory(gateway) });
});
afterAll(async () => {
  await gateway.close();
  await replication.stop();
});

const rename = (name: string) =>
  send(
    gateway,
    `mutation { updatePet(id: "${petId}", input: { name: "${name}" }) { ... on Pet { name } } }`,
  );

async function namesOf(position?: string | null): Promise<Set<string>> {
  const reads = Array.from({ length: READS }, () =>
    send(gateway, `{ pet(id: "${petId}") { name } }`, position),
  );
  return new Set((await Promise.all(reads)).map(({ data }) => data.pet.name));
}

it('a replica that has what was lost in a failover is not read', async () => {
  if (!first || !second || !third) throw new Error('There are three servers.');
  await rename('Kept');
  await second.waitUntilReplayed(await first.lsn());
  await second.cutOff();
  await rename('Lost');
  await third.waitUntilReplayed(await first.lsn());
  await first.kill();
  await second.promote();
  await expect
    .poll(() => gateway.messages, WAIT)
    .toContainEqual(expect.stringMatching(/^The primary is .* now/));
  expect(await namesOf()).toEqual(new Set(['Kept']));
  const { position } = await rename('New');
  expect(await namesOf(position)).toEqual(new Set(['New']));
});
