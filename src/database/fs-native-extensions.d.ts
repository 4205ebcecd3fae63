declare module 'fs-native-extensions' {
  /** Locks a file for this descriptor; returns false if another descriptor holds the lock. */
  export type TryLock = (fd: number) => boolean;
  const extensions: { readonly tryLock: TryLock };
  export default extensions;
}
