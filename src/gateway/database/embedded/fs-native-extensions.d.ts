declare module 'fs-native-extensions' {
  /** Locks a file for this descriptor. Returns false if another descriptor holds the lock. */
  const extensions: { readonly tryLock: (fd: number) => boolean };
  export default extensions;
}
