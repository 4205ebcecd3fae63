import type { Config } from '../config/config.ts';
import { renderCode } from './code.ts';
import { linkToGraphiql } from './graphiql-link.ts';

const FOLLOW_ORDERS = `subscription FollowOrders {
  orderChanged {
    kind
    order {
      quantity
      pet {
        name
      }
    }
  }
}`;

/** Whether a page without a token can follow all changes, with documents of its own. */
const canFollow = (
  { documents, limits: { maxStreams, maxStreamsPerCaller } }: Config,
  subscriptions: readonly string[],
): boolean =>
  documents !== 'trusted' && Math.min(maxStreams, maxStreamsPerCaller) >= subscriptions.length;

const needsToken = ({ auth }: Config): boolean => auth !== undefined && !auth.readIsOpen;

const renderList = (subscriptions: readonly string[]): string => `<figure class="live">
<figcaption>The last changes <span class="live-side"><span id="live-state" role="status"></span>
<button class="copy" id="live-pause" type="button" hidden>Pause</button></span></figcaption>
<ol id="changes" data-subscriptions="${subscriptions.join(' ')}"></ol>
<p id="live-note"></p>
<noscript><p>The list needs JavaScript.</p></noscript>
</figure>`;

const NO_TOKEN =
  '<p>This gateway requires a token, so this page shows no changes. Apps send theirs.</p>';

/** The scripts of the part of the start page with the last changes. */
export const liveScripts = (config: Config, subscriptions: readonly string[]): string[] =>
  canFollow(config, subscriptions) && !needsToken(config) ? ['/assets/live.js'] : [];

/** The part of the start page with the last changes; empty if pages can't follow them. */
export function renderLiveView(config: Config, subscriptions: readonly string[]): string {
  if (!canFollow(config, subscriptions)) return '';
  return `<section aria-labelledby="live">
<h2 id="live">What happens in the store</h2>
<p>Apps follow the changes by a subscription, and miss none, whoever makes them.</p>
${needsToken(config) ? NO_TOKEN : ''}
<div class="sides">
${needsToken(config) ? '' : renderList(subscriptions)}
${renderCode('Subscription', FOLLOW_ORDERS)}
</div>
<p class="actions">${linkToGraphiql(FOLLOW_ORDERS, config)}</p>
</section>`;
}
