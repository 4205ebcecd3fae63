import SchemaBuilder, {
  BasePlugin,
  type FieldRequiredness,
  type InputType,
  type PothosOutputFieldConfig,
  type SchemaTypes,
} from '@pothos/core';
import type { z } from 'zod';

type Validation = { validationError: (failure: z.ZodError) => Error };

/** Checks arguments with their option `validate`, and creates errors like @pothos/plugin-validation. */
class ValidationPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(
    field: PothosOutputFieldConfig<Types>,
  ): PothosOutputFieldConfig<Types> {
    const isChecked = Object.values(field.args).some(({ pothosOptions }) => pothosOptions.validate);
    if (!isChecked) return field;
    const check = (args: object): Record<string, unknown> => {
      for (const [name, value] of Object.entries(args)) {
        const result = field.args[name]?.pothosOptions.validate?.safeParse({ [name]: value });
        if (!result || result.success) continue;
        throw this.builder.options.validation?.validationError(result.error) ?? result.error;
      }
      return { ...args };
    };
    return { ...field, argMappers: [...(field.argMappers ?? []), check] };
  }
}

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      validation: ValidationPlugin<Types>;
    }

    export interface SchemaBuilderOptions<Types extends SchemaTypes> {
      validation?: Validation;
    }

    export interface InputFieldOptions<
      Types extends SchemaTypes = SchemaTypes,
      Type extends InputType<Types> | [InputType<Types>] = InputType<Types> | [InputType<Types>],
      Req extends FieldRequiredness<Type> = FieldRequiredness<Type>,
    > {
      /** The rule of an object with the argument. */
      validate?: z.ZodType;
    }
  }
}

SchemaBuilder.registerPlugin('validation', ValidationPlugin);
