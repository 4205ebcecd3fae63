import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';

import { execute } from '../support/graphiql.ts';
import { describeInChromium, expectShown } from '../support/in-chromium.ts';
import { hasNginx, startNginx } from '../support/nginx.ts';

// Not a REST response or the metrics: they name no icon, so that browsers request /favicon.ico outside the prefix.
const isPage = (link: string): boolean => /^\/(?!pets|store|metrics)[\w/-]*$/.test(link);

describe.skipIf(!hasNginx)('behind a path prefix', () => {
  // Fails if a page requests anything outside the prefix, or anything that does not exist.
  describeInChromium((chromium) => {
    let url: string;
    let page: Page;

    beforeAll(async () => {
      const paths = ['client_body', 'proxy', 'fastcgi', 'scgi', 'uwsgi'];
      const toSettings = (folder: string, port: number): string => `
        pid ${folder}/pid; error_log stderr crit; events {} http { access_log off;
        ${paths.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
        server { listen 127.0.0.1:${port};
          location /petstore/ { proxy_pass ${chromium.gateway.url}/; proxy_set_header Host $http_host; } } }`;
      const nginx = await startNginx(toSettings, '/petstore');
      ({ url } = nginx);
      page = await chromium.openEmpty(url);
      return nginx.stop;
    });

    it('each page loads only what is below the prefix, and links to nothing else in the gateway', async () => {
      const open = ['/'];
      for (const path of open) {
        await page.goto(url + path);
        const links = await page.evaluate<string[]>(
          '[...document.links].map(({ href }) => href.replace(/[?#].*/, ""))',
        );
        const own = links.filter((link) => link.startsWith(new URL(url).origin));
        expect(own.filter((link) => !link.startsWith(`${url}/`))).toEqual([]);
        const pages = own.map((link) => link.slice(url.length));
        open.push(...pages.filter((link) => isPage(link) && !open.includes(link)));
      }
      expect(open.length).toBeGreaterThan(15);
    });

    it('the start page shows its URL and the latest changes', async () => {
      await page.goto(`${url}/`);
      await page.locator('#live-state').getByText('Live').waitFor();
      await page.getByText(`${url}/graphql`, { exact: true }).first().waitFor();
      expect(await page.locator('#changes li').count()).toBe(8);
    });

    it('GraphiQL sends its requests to the gateway', async () => {
      await page.goto(`${url}/graphql/`);
      await page.locator('.graphiql-query-editor').getByText('OnePet').waitFor();
      expect(await execute(page)).toContain('"Biscuit"');
    });

    it('the REST reference sends a request', async () => {
      await page.goto(`${url}/docs`);
      await page.locator('.opblock-summary-control').first().click();
      await page.getByRole('button', { name: 'Try it out' }).click();
      await page.getByPlaceholder('petId').fill('1');
      await page.getByRole('button', { name: 'Execute' }).click();
      await expectShown(page.locator('.live-responses-table').getByText('"Biscuit"'));
    });
  });
});
