declare module 'fs-native-extensions' {
  /** Locks a file for this descriptor alone; false if another one has it. */
  export type TryLock = (fd: number) => boolean;
  const extensions: { readonly tryLock: TryLock };
  export default extensions;
}
