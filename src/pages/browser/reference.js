/* global SwaggerUIBundle */

const operationAt = (system, path, method) =>
  system.specSelectors.specJson().getIn(['paths', path, method]);

/** The operations alone: the page itself has a title, and there is one server. */
const plainLayout = ({ React }) => ({
  components: {
    PlainLayout: ({ getComponent, specSelectors }) => {
      const show = (name) => React.createElement(getComponent(name, true), { key: name });
      const status = specSelectors.loadingStatus();
      const isReady = status !== 'loading' && specSelectors.specJson().size > 0;
      return React.createElement(
        'div',
        { className: 'swagger-ui' },
        show('SvgAssets'),
        show('errors'),
        specSelectors.securityDefinitions() ? show('AuthorizeBtnContainer') : null,
        isReady ? show('operations') : React.createElement('p', null, 'Loading…'),
        isReady ? show('Models') : null,
      );
    },
  },
});

/** Shows the lifecycle of each operation as badges, and hides try-out panels as the document says. */
const lifecycle = ({ React }) => {
  const badge = (text, kind) =>
    React.createElement('span', { key: text, className: `badge ${kind}` }, text);

  const badges = (operation) => {
    const stability = operation.get('x-stability');
    const since = operation.get('x-deprecated-since');
    const sunset = operation.get('x-deprecated-sunset');
    return [
      stability && badge(stability, 'unstable'),
      since && badge(`deprecated since ${since}`, 'deprecated'),
      sunset && badge(`until ${sunset}`, 'deprecated'),
    ];
  };

  return {
    statePlugins: {
      spec: {
        wrapSelectors: {
          allowTryItOutFor: (original, system) => (state, path, method) =>
            !operationAt(system, path, method).get('x-hideTryItPanel'),
        },
      },
    },
    wrapComponents: {
      OperationSummaryPath: (Original, system) => (props) => {
        const { path, method } = props.operationProps.toObject();
        return React.createElement(
          React.Fragment,
          null,
          React.createElement(Original, props),
          React.createElement(
            'span',
            { className: 'badges' },
            badges(operationAt(system, path, method)),
          ),
        );
      },
    },
  };
};

const isError = (_response, status) => Number(status) >= 400;

// A table is no region (Swagger UI 5).
const removeRole = (element) =>
  element?.querySelector('.responses-table[role]')?.removeAttribute('role');

/** Shows errors and headers once: the page has one table of all errors, and 304 has the headers of 200. */
const shortResponses = ({ React }) => {
  const codesOf = (response) =>
    [...response.getIn(['content', 'application/json', 'examples']).keys()].map((code) =>
      React.createElement('li', { key: code }, React.createElement('code', null, code)),
    );

  const toRow = ([status, response]) =>
    React.createElement(
      'div',
      { key: status },
      React.createElement('dt', null, status),
      React.createElement('dd', null, React.createElement('ul', null, codesOf(response))),
    );

  return {
    wrapComponents: {
      // As text, since parsing JSON would change ids beyond 2^53.
      responseBody: (Original) => (props) =>
        React.createElement(Original, { ...props, contentType: 'text' }),
      responses: (Original) => (props) =>
        React.createElement(
          'div',
          { ref: removeRole },
          React.createElement(Original, {
            ...props,
            responses: props.responses.filterNot(isError).deleteIn(['304', 'headers']),
          }),
          React.createElement(
            'div',
            { className: 'errors-short' },
            React.createElement(
              'p',
              null,
              'Errors, as described ',
              React.createElement('a', { href: '#errors' }, 'below'),
            ),
            React.createElement(
              'dl',
              null,
              props.responses.filter(isError).entrySeq().toArray().map(toRow),
            ),
          ),
        ),
      // It is inside a button, which must not contain a link.
      DeepLink:
        () =>
        ({ text }) =>
          React.createElement('span', null, text),
    },
  };
};

/** Gives the dialog for the token and its buttons the names that they show. */
const namedDialog = ({ React }) => ({
  wrapComponents: {
    authorizationPopup: (Original) => (props) =>
      React.createElement(
        'div',
        { role: 'dialog', 'aria-modal': true, 'aria-label': 'Authorize' },
        React.createElement(Original, props),
      ),
    Button:
      (Original) =>
      ({ 'aria-label': _other, ...props }) =>
        React.createElement(Original, props),
    CloseIcon: (Original) => (props) =>
      React.createElement(
        'span',
        { role: 'img', 'aria-label': 'Close the dialog' },
        React.createElement(Original, props),
      ),
  },
});

SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  layout: 'PlainLayout',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  // Its colours have too little contrast.
  syntaxHighlight: { activated: false },
  validatorUrl: null,
  plugins: [plainLayout, lifecycle, shortResponses, namedDialog],
});
