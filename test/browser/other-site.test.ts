import { createServer } from 'node:http';

import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';

import type { Gateway } from '../support/gateway.ts';
import { describeInChromium } from '../support/in-chromium.ts';
import { closeServer, listen } from '../support/listen.ts';

describeInChromium((chromium) => {
  let page: Page;

  /** Returns the page's errors, except those about requests to other servers, and clears all of them. */
  const takeComplaints = (): string[] =>
    chromium.takeComplaints().filter((text) => !text.startsWith('left'));

  describe('a page on another site', () => {
    let shared: Gateway;

    beforeAll(async () => {
      const site = createServer((_request, response) => {
        response.writeHead(200, { 'Content-Type': 'text/html' }).end('<title>A shop</title>');
      });
      const siteUrl = await listen(site);
      shared = await chromium.startOther({ CORS_ORIGINS: siteUrl });
      page = await chromium.openEmpty(siteUrl);
      await page.goto(siteUrl);
      return () => closeServer(site);
    });

    it('can read headers and results if its origin is allowed', async () => {
      const read = await page.evaluate(`fetch('${shared.url}/pets/1').then(({ headers }) =>
        ['deprecation', 'sunset', 'link', 'etag'].map((name) => headers.get(name)))`);
      expect(read).toEqual([
        '@1793491200',
        'Fri, 31 Dec 2027 00:00:00 GMT',
        expect.stringContaining('rel="sunset"'),
        expect.stringMatching(/^W\/"/),
      ]);
      const query = JSON.stringify({ query: '{ __typename }' });
      const results = await page.evaluate(`Promise.all([
        fetch('${shared.url}/graphql', { method: 'POST', body: '${query}',
          headers: { 'content-type': 'application/json' } }),
        fetch('${shared.url}/graphql?query={__typename}',
          { headers: { 'Apollo-Require-Preflight': '1' } }),
      ].map((sent) => sent.then((response) => response.json())))`);
      const result = { data: { __typename: 'Query' } };
      expect(results).toEqual([result, result]);
      expect(takeComplaints()).toEqual([]);
    });

    it('cannot execute queries or read results if its origin is not allowed', async () => {
      const url = `${chromium.gateway.url}/graphql?query={pets{totalCount}}`;
      chromium.gateway.statements.length = 0;
      const rejected = page.waitForResponse((response) => response.url() === url);
      await page.evaluate(`fetch('${url}', { mode: 'no-cors' })`);
      expect((await rejected).status()).toBe(403);
      const asked = `fetch('${url}', { headers: { 'Apollo-Require-Preflight': '1' } })`;
      await expect(page.evaluate(asked)).rejects.toThrow('Failed to fetch');
      expect(chromium.gateway.statements).toEqual([]);
      expect(takeComplaints()).toContain(`403 ${url}`);
    });

    it("cannot show the gateway's pages in a frame or load its scripts", async () => {
      const loaded = await page.evaluate(`Promise.all([
        ['script', 'src', '/assets/reference.js'], ['iframe', 'src', '/graphql'],
      ].map(([name, attribute, path]) => new Promise((resolve) => {
        const element = document.createElement(name);
        element.onload = () => resolve(name + ' loaded');
        element.onerror = () => resolve(name + ' failed');
        element[attribute] = '${chromium.gateway.url}' + path;
        document.body.append(element);
      })))`);
      expect(loaded).toContain('script failed');
      expect(takeComplaints().join(' ')).toContain('frame-ancestors');
    });
  });
});
