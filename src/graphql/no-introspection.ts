import { NoSchemaIntrospectionCustomRule } from 'graphql';
import type { Plugin } from 'graphql-yoga';

/** Refuses documents that ask for the schema; `__typename` is no such question. */
export const useNoIntrospection = (): Plugin => ({
  onValidate: ({ addValidationRule }) => addValidationRule(NoSchemaIntrospectionCustomRule),
});
