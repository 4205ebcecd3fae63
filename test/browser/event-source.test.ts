import { expect, it } from 'vitest';

import { describeInChromium } from '../support/in-chromium.ts';
import { countStreams } from '../support/live.ts';
import { makeCategory } from '../support/make.ts';
import { startTcpProxy } from '../support/proxies.ts';
import { lastCursor } from '../support/settled.ts';

describeInChromium((chromium) => {
  it("a page's EventSource receives each change once, although its connection breaks", async () => {
    const { gateway } = chromium;
    const proxy = await startTcpProxy([gateway.url]);
    const page = await chromium.openEmpty(proxy.url);
    await page.goto(`${proxy.url}/guide`);
    const query =
      'subscription ($after: String) { categoryChanged(after: $after) { after { name } } }';
    const variables = JSON.stringify({ after: await lastCursor(gateway) });
    const search = String(new URLSearchParams({ query, variables }));
    await page.evaluate(`
      seen = [];
      const source = new EventSource('/graphql?${search}');
      source.addEventListener('next', ({ data }) =>
        seen.push(JSON.parse(data).data.categoryChanged.after.name));`);
    const names: string[] = [];
    for (const round of [1, 2, 3]) {
      await expect.poll(() => countStreams(gateway), { timeout: 20_000 }).toBe(1);
      names.push(`seen in ${round}`);
      await makeCategory(gateway, `seen in ${round}`);
      await expect.poll(() => page.evaluate('seen')).toEqual(names);
      proxy.cutAll();
      names.push(`missed in ${round}`);
      await makeCategory(gateway, `missed in ${round}`);
      await expect.poll(() => page.evaluate('seen'), { timeout: 20_000 }).toEqual(names);
    }
    chromium.takeComplaints();
    await page.close();
    await proxy.close();
  });
});
